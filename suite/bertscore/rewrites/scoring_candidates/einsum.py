"""Divides inner products by the norms, and shifts padding below every similarity instead of filling it."""


class WordPieceTokenizer:
    def tokenize(self, text):
        return [CLS] + [piece for word in text.casefold().split() for piece in self._split(word)] + [SEP]

    def _split(self, word):
        ends, start = [], 0
        while start < len(word):
            known = [end for end in range(start + 1, len(word) + 1) if word[start:end] in self._known]
            start = max(known, default=start + 1)
            ends.append(start)
        starts = [0, *ends[:-1]]
        return ["##" * (first > 0) + word[first:behind] for first, behind in zip(starts, ends, strict=True)]


class IdfWeights:
    def __init__(self, references):
        self.size, counts = len(references), Counter()
        for pieces in references:
            counts.update(dict.fromkeys(pieces, 1))
        self.counts = dict(counts)

    def __call__(self, piece):
        special = piece in {CLS, SEP}
        return 0.0 if special else math.log1p(self.size) - math.log1p(self.counts.get(piece, 0))


def uniform(piece):
    return 1.0 - (piece in {CLS, SEP})


def collate(sentences, encoder, weight):
    encoded = [encoder.encode(list(pieces)) for pieces in sentences]
    longest = max(len(pieces) for pieces in sentences)

    def padded(rows):
        filled = [torch.cat([row, row.new_ones(longest - len(row), *row.shape[1:])]) for row in rows]
        return torch.stack(filled)

    weights = [encoded[0].new_tensor([weight(piece) for piece in pieces]) for pieces in sentences]
    masks = torch.tensor([[place < len(pieces) for place in range(longest)] for pieces in sentences])
    return Batch(padded(encoded), masks.to(torch.int64), padded(weights))


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    ref_embedding, hyp_embedding = (
        x.masked_fill(masks.unsqueeze(2) == 0, 0)
        for x, masks in ((ref_embedding, ref_masks), (hyp_embedding, hyp_masks))
    )
    inner = torch.einsum("bhd,brd->bhr", hyp_embedding, ref_embedding)
    norms = torch.einsum("bh,br->bhr", hyp_embedding.norm(dim=2), ref_embedding.norm(dim=2))
    similarity = inner / norms.where(norms > 0, torch.ones_like(norms))
    ref_present, hyp_present = ref_masks.to(inner.dtype), hyp_masks.to(inner.dtype)
    for_hyp, _ = (similarity - 4 * (1 - ref_present).unsqueeze(1)).max(dim=2)
    for_ref, _ = (similarity - 4 * (1 - hyp_present).unsqueeze(2)).max(dim=1)
    both = ref_present.amax(dim=1) * hyp_present.amax(dim=1)

    def weigh(best, weights):
        total = torch.einsum("bn->b", weights)
        return both * torch.einsum("bn,bn->b", best, weights) / torch.where(total == 0, 1.0, total)

    hyp_weights, ref_weights = (
        idf.masked_fill(masks == 0, 0) for idf, masks in ((hyp_idf, hyp_masks), (ref_idf, ref_masks))
    )
    p, r = weigh(for_hyp, hyp_weights), weigh(for_ref, ref_weights)
    total = p + r
    return p, r, torch.where(total == 0, 0.0, 2 * p * r / torch.where(total == 0, 1.0, total))


def score(candidates, references, tokenizer, encoder, importance=True, baseline=0.0):
    sides = [list(map(tokenizer.tokenize, texts)) for texts in (references, candidates)]
    weight = uniform
    if importance:
        weight = IdfWeights(sides[0])
    batches = [collate(side, encoder, weight) for side in sides]
    found = torch.stack(greedy_cos_idf(*batches[0], *batches[1]), dim=0)
    return 1 - (1 - found) / (1 - baseline)


def kendall_tau(scores, judgements):
    above = judgements[:, None] > judgements[None]
    gaps = (scores[:, None] - scores[None])[above]
    return ((gaps > 0).sum() - (gaps < 0).sum()).item() / len(gaps)
