"""Both sides of the whole batch at once, cumulative sums for n-grams, and a sparse programme."""

from scipy import sparse


class WordPieceTokenizer:
    def _split(self, word):
        pieces = []
        while word:
            prefixes = (CONTINUATION * bool(pieces) + word[:end] for end in range(len(word), 0, -1))
            pieces.append(next(filter(self._ids.__contains__, prefixes)))
            word = word[len(pieces[-1].removeprefix(CONTINUATION if pieces[1:] else "")) :]
        return pieces


class IdfWeights:
    def __init__(self, texts):
        self.size, counts = len(texts), Counter()
        for tokens in texts:
            counts.update(dict.fromkeys(tokens, 1))
        self.weights = {token: math.log1p(self.size) - math.log1p(count) for token, count in counts.items()}

    def __call__(self, token):
        return self.weights.get(token, math.log1p(self.size))


def collate(sentences, encoder, weight):
    longest = max(map(len, sentences))
    idf = [[weight(token) for token in tokens] + [0.0] * (longest - len(tokens)) for tokens in sentences]
    return Batch(encoder.encode(sentences), torch.tensor(idf), sentences)


def optimal_flow(supply, demand, cost):
    left, taken = supply.sum().item(), demand.sum().item()
    if not -1e-5 <= left - taken <= 1e-5:
        raise ValueError("totals differ")
    demand = demand / taken * left
    n, m = cost.shape
    leaving = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    arriving = sparse.kron(np.ones((1, n)), sparse.eye_array(m)).tocsr()
    equalities = sparse.vstack([leaving, arriving[1:]]).tocsr()
    totals = torch.cat([supply, demand[1:]]).numpy()
    found = linprog(cost.flatten().numpy(), A_eq=equalities, b_eq=totals, method="highs-ds")
    return torch.tensor(found.x, dtype=torch.float64).view(n, m)


def _pool(embedding):
    last = embedding.unbind(0)[-5:]
    least = mean = greatest = last[0]
    for states in last[1:]:
        states = states
        least, greatest, mean = torch.minimum(least, states), torch.maximum(greatest, states), mean + states
    return torch.stack([least, mean / len(last), greatest], dim=-2).flatten(-2)


def _sliding_sums(values, size):
    padded = torch.cat([torch.zeros_like(values[:1]), values]).cumsum(0)
    return padded[size:] - padded[:-size]


def _grams(words, idf, tokens, n_gram, left_out, remove_subwords):
    kept = [i for i in range(len(tokens)) if tokens[i] not in left_out]
    if remove_subwords:
        kept = [i for i in kept if not tokens[i].startswith(CONTINUATION)]
    if not kept:
        return None, words.new_zeros(1)
    idf = idf[kept]
    idf = idf / idf.max().where(idf.max() > 0, 1.0)
    size = len(kept) if len(kept) < n_gram else n_gram
    weights = _sliding_sums(idf, size)
    # A window of zeros leaves a rounding error in a difference of cumulative sums.
    heavy = weights > 1e-9
    vectors = _sliding_sums(idf[:, None] * words[kept], size)[heavy]
    return vectors / torch.linalg.vector_norm(vectors, dim=1, keepdim=True), weights[heavy]


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
    left_out = frozenset(MARKERS) | PUNCTUATION | frozenset(stop_words)
    ref_words, hyp_words = _pool(ref_embedding), _pool(hyp_embedding)
    scores = [0.0] * len(ref_tokens)
    for row, (ref_row, hyp_row) in enumerate(zip(ref_tokens, hyp_tokens)):
        ref, ref_weights = _grams(ref_words[row], ref_idf[row], ref_row, n_gram, left_out, remove_subwords)
        hyp, hyp_weights = _grams(hyp_words[row], hyp_idf[row], hyp_row, n_gram, left_out, remove_subwords)
        if float(ref_weights.sum()) and float(hyp_weights.sum()):
            distance = (2 - 2 * ref @ hyp.T).clamp(min=0).sqrt()
            flow = optimal_flow(ref_weights / ref_weights.sum(), hyp_weights / hyp_weights.sum(), distance)
            scores[row] = 1.0 - torch.einsum("ij,ij->", flow, distance).item()
    return scores


def score_texts(references, hypotheses, tokenizer, encoder, config, static=False):
    ref_tokens, hyp_tokens = ([tokenizer.tokenize(text) for text in texts] for texts in (references, hypotheses))
    ref, hyp = (
        collate(ref_tokens, encoder, IdfWeights(ref_tokens)),
        collate(hyp_tokens, encoder, IdfWeights(hyp_tokens)),
    )
    layers = 1 if static else None
    return word_mover_score(
        ref.embedding[:layers],
        ref.idf,
        ref.tokens,
        hyp.embedding[:layers],
        hyp.idf,
        hyp.tokens,
        n_gram=config.n_gram,
        stop_words=config.stop_words,
        remove_subwords=config.remove_subwords,
    )


def pearson(scores, judgements):
    one, other = (torch.tensor(values, dtype=torch.float64) for values in (scores, judgements))
    one, other = one - one.mean(), other - other.mean()
    return ((one @ other) / (one.norm() * other.norm())).item()
