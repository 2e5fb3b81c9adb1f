"""The shortest functions that do it, with padding below every similarity."""


class WordPieceTokenizer:
    def tokenize(self, text):
        pieces = [piece for word in text.lower().split() for piece in self._split(word)]
        return [CLS, *pieces, SEP]

    def _split(self, word):
        pieces, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start + 1 and word[start:end] not in self._known:
                end -= 1
            pieces.append(("##" if start else "") + word[start:end])
            start = end
        return pieces


class IdfWeights:
    def __init__(self, references):
        self._documents = len(references)
        self._counts = Counter(piece for pieces in references for piece in set(pieces))

    def __call__(self, piece):
        if piece in (CLS, SEP):
            return 0.0
        return math.log((self._documents + 1) / (self._counts[piece] + 1))


def uniform(piece):
    return 0.0 if piece in (CLS, SEP) else 1.0


def collate(sentences, encoder, weight):
    lengths = torch.tensor([len(pieces) for pieces in sentences])
    embedding = pad_sequence([encoder.encode(list(pieces)) for pieces in sentences], batch_first=True)
    idf = pad_sequence([torch.tensor([weight(piece) for piece in pieces]) for pieces in sentences], batch_first=True)
    masks = torch.arange(embedding.shape[1]) < lengths.unsqueeze(1)
    return Batch(embedding, masks.long(), idf)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    similarity = F.normalize(hyp_embedding, dim=-1) @ F.normalize(ref_embedding, dim=-1).transpose(1, 2)
    hyp_best = similarity.masked_fill(ref_masks[:, None] == 0, -2).amax(dim=2)
    ref_best = similarity.masked_fill(hyp_masks[:, :, None] == 0, -2).amax(dim=1)
    hyp_weights, ref_weights = hyp_idf * hyp_masks, ref_idf * ref_masks
    precision = (hyp_best * hyp_weights).sum(dim=1) / hyp_weights.sum(dim=1)
    recall = (ref_best * ref_weights).sum(dim=1) / ref_weights.sum(dim=1)
    return precision, recall, 2 * precision * recall / (precision + recall)


def score(candidates, references, tokenizer, encoder, importance=True, baseline=0.0):
    tokenized = [tokenizer.tokenize(text) for text in references]
    weight = IdfWeights(tokenized) if importance else uniform
    reference = collate(tokenized, encoder, weight)
    candidate = collate([tokenizer.tokenize(text) for text in candidates], encoder, weight)
    scores = torch.stack(greedy_cos_idf(*reference, *candidate))
    return (scores - baseline) / (1 - baseline)


def kendall_tau(scores, judgements):
    above = (judgements.unsqueeze(0) > judgements.unsqueeze(1)).to(scores.dtype)
    order = (scores.unsqueeze(0) - scores.unsqueeze(1)).sign()
    return float((order * above).sum() / above.sum())
