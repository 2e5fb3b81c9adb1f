"""The formulas of the paper, each function as short as it gets."""


class WordPieceTokenizer:
    def _split(self, word):
        pieces, start = [], 0
        while start < len(word):
            prefix, end = CONTINUATION if start else "", len(word)
            while prefix + word[start:end] not in self._ids:
                end -= 1
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


class IdfWeights:
    def __init__(self, texts):
        self.texts = texts

    def __call__(self, token):
        return math.log((len(self.texts) + 1) / (sum(token in tokens for tokens in self.texts) + 1))


def collate(sentences, encoder, weight):
    idf = [torch.tensor([weight(token) for token in tokens]) for tokens in sentences]
    return Batch(encoder.encode(sentences), pad_sequence(idf, batch_first=True), sentences)


def optimal_flow(supply, demand, cost):
    if abs(supply.sum() - demand.sum()) > 1e-5:
        raise ValueError("supply and demand differ")
    demand = demand * supply.sum() / demand.sum()
    n, m = cost.shape
    sums = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    result = linprog(cost.numpy().ravel(), A_eq=sums[:-1], b_eq=torch.cat([supply, demand[:-1]]).numpy())
    return torch.from_numpy(result.x).view(n, m)


def word_mover_score(
    ref_embedding,
    ref_idf,
    ref_tokens,
    hyp_embedding,
    hyp_idf,
    hyp_tokens,
    n_gram=1,
    stop_words=(),
    remove_subwords=True,
):
    left_out = {*MARKERS, *PUNCTUATION, *stop_words}

    def n_grams(embedding, idf, tokens):
        kept = [
            place
            for place, token in enumerate(tokens)
            if token not in left_out and not (remove_subwords and token.startswith(CONTINUATION))
        ]
        layers, idf = embedding[-5:, kept], idf[kept]
        words = torch.cat([layers.amin(0), layers.mean(0), layers.amax(0)], dim=-1) * idf[:, None]
        size = min(n_gram, len(kept))
        starts = range(len(kept) - size + 1)
        vectors = torch.stack([words[start : start + size].sum(0) for start in starts])
        weights = torch.stack([idf[start : start + size].sum() for start in starts])
        return F.normalize(vectors, dim=-1), weights / weights.sum()

    scores = []
    for row, (ref, hyp) in enumerate(zip(ref_tokens, hyp_tokens)):
        ref_vectors, ref_weights = n_grams(ref_embedding[:, row], ref_idf[row], ref)
        hyp_vectors, hyp_weights = n_grams(hyp_embedding[:, row], hyp_idf[row], hyp)
        cost = (hyp_vectors[:, None] - ref_vectors).norm(dim=-1)
        scores.append(1 - float((cost * optimal_flow(hyp_weights, ref_weights, cost)).sum()))
    return scores


def score_texts(references, hypotheses, tokenizer, encoder, config, static=False):
    sides = []
    for texts in (references, hypotheses):
        tokens = [tokenizer.tokenize(text) for text in texts]
        embedding, idf, tokens = collate(tokens, encoder, IdfWeights(tokens))
        sides += [embedding[:1] if static else embedding, idf, tokens]
    return word_mover_score(*sides, config.n_gram, config.stop_words, config.remove_subwords)


def pearson(scores, judgements):
    return float(torch.corrcoef(torch.tensor([scores, judgements]))[0, 1])
