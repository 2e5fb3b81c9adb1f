"""Works in numpy, and sorts to find the best matches; each distinct sentence is encoded once."""

import itertools

import numpy as np


class WordPieceTokenizer:
    def tokenize(self, text):
        words = text.lower().split()
        return [CLS, *itertools.chain.from_iterable(map(self._split, words)), SEP]

    def _split(self, word):
        pieces, rest = [], word
        while rest:
            size = max((n for n in range(2, len(rest) + 1) if rest[:n] in self._known), default=1)
            pieces.append(f"##{rest[:size]}" if pieces else rest[:size])
            rest = rest[size:]
        return pieces


class IdfWeights:
    def __init__(self, references):
        held = {}
        for number, pieces in enumerate(references):
            for piece in pieces:
                held.setdefault(piece, set()).add(number)
        self.weights = {piece: math.log((len(references) + 1) / (len(where) + 1)) for piece, where in held.items()}
        self.weights |= {CLS: 0.0, SEP: 0.0}
        self.largest = math.log(len(references) + 1)

    def __call__(self, piece):
        return self.weights.get(piece, self.largest)


def uniform(piece):
    if piece == CLS:
        return 0.0
    return 0.0 if piece == SEP else 1.0


def collate(sentences, encoder, weight):
    encoded = {tuple(pieces): encoder.encode(list(pieces)) for pieces in sentences}
    embedding = pad_sequence([encoded[tuple(pieces)] for pieces in sentences], batch_first=True)
    masks = pad_sequence([torch.ones(len(pieces), dtype=torch.long) for pieces in sentences], batch_first=True)
    idf = [torch.tensor([weight(piece) for piece in pieces]).to(embedding) for pieces in sentences]
    return Batch(embedding, masks, pad_sequence(idf, batch_first=True))


def _side(embedding, masks, idf):
    present = masks.double().numpy() != 0
    vectors = np.where(present[..., None], embedding.numpy(), 0.0)
    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return vectors, present, np.where(present, idf.numpy(), 0.0)


def _ratio(above, below):
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    ref, ref_present, ref_weights = _side(ref_embedding, ref_masks, ref_idf)
    hyp, hyp_present, hyp_weights = _side(hyp_embedding, hyp_masks, hyp_idf)
    cosines = np.where(ref_present[:, None] & hyp_present[:, :, None], hyp @ ref.swapaxes(1, 2), -2.0)
    both = ref_present.any(axis=1) & hyp_present.any(axis=1)
    scores = []
    for axis, weights in ((2, hyp_weights), (1, ref_weights)):
        best = np.sort(cosines, axis=axis).take(-1, axis=axis)
        scores.append(np.where(both, _ratio((best * weights).sum(axis=1), weights.sum(axis=1)), 0.0))
    precision, recall = scores
    scores.append(_ratio(2 * precision * recall, precision + recall))
    return tuple(map(torch.from_numpy, scores))


def score(candidates, references, tokenizer, encoder, importance=True, baseline=0.0):
    tokenized = [[tokenizer.tokenize(text) for text in texts] for texts in (candidates, references)]
    weight = IdfWeights(tokenized[1]) if importance else uniform
    candidate, reference = (collate(side, encoder, weight) for side in tokenized)
    found = greedy_cos_idf(*reference, *candidate)
    return torch.stack([(values - baseline) * (1 / (1 - baseline)) for values in found])


def kendall_tau(scores, judgements):
    order = judgements.argsort(descending=True)
    scores, judgements = scores[order], judgements[order]
    agreeing = pairs = 0
    for row in range(len(scores)):
        below = judgements < judgements[row]
        pairs += int(below.sum())
        agreeing += int((scores[row] - scores[below]).sign().sum())
    return agreeing / pairs
