"""Scores pair by pair without padding, by distances on the unit sphere; counts pairs of items one by one."""


class WordPieceTokenizer:
    def tokenize(self, text):
        found = [CLS]
        for word in text.lower().split():
            found.extend(self._split(word))
        found.append(SEP)
        return found

    def _split(self, word):
        def pieces(rest, mark):
            if not rest:
                return []
            lengths = range(len(rest), 0, -1)
            length = next(length for length in lengths if length == 1 or rest[:length] in self._known)
            return [mark + rest[:length], *pieces(rest[length:], "##")]

        return pieces(word, "")


class IdfWeights:
    def __init__(self, references):
        self.sets = [frozenset(pieces) for pieces in references]
        self.found = {}

    def __call__(self, piece):
        if piece in (CLS, SEP):
            return 0.0
        if piece not in self.found:
            holding = sum(piece in pieces for pieces in self.sets)
            self.found[piece] = -math.log((holding + 1) / (len(self.sets) + 1))
        return self.found[piece]


def uniform(piece):
    return float(piece != CLS and piece != SEP)


def collate(sentences, encoder, weight):
    embeddings = [encoder.encode(list(pieces)) for pieces in sentences]
    longest = max(map(len, embeddings))
    embedding = embeddings[0].new_zeros(len(embeddings), longest, embeddings[0].shape[1])
    masks, idf = (embedding.new_zeros(len(embeddings), longest) for _ in range(2))
    for row, (vectors, pieces) in enumerate(zip(embeddings, sentences, strict=True)):
        embedding[row, : len(vectors)] = vectors
        masks[row, : len(vectors)] = 1
        idf[row, : len(vectors)] = torch.tensor([weight(piece) for piece in pieces])
    return Batch(embedding, masks, idf)


def _unit(vectors):
    return vectors / vectors.pow(2).sum(dim=-1, keepdim=True).sqrt()


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    rows = []
    for pair in range(len(ref_embedding)):
        reference, candidate = ref_masks[pair].bool(), hyp_masks[pair].bool()
        precision, recall = ref_idf.new_zeros(()), ref_idf.new_zeros(())
        if reference.any() and candidate.any():
            refs, hyps = _unit(ref_embedding[pair][reference]), _unit(hyp_embedding[pair][candidate])
            squares = hyps.pow(2).sum(dim=1)[:, None] + refs.pow(2).sum(dim=1)[None]
            cosine = (squares - (squares - 2 * hyps @ refs.T)) / 2
            hyp_weights, ref_weights = hyp_idf[pair][candidate], ref_idf[pair][reference]
            if hyp_weights.sum() > 0:
                precision = cosine.max(dim=1).values @ (hyp_weights / hyp_weights.sum())
            if ref_weights.sum() > 0:
                recall = cosine.max(dim=0).values @ (ref_weights / ref_weights.sum())
        total = precision + recall
        rows.append(torch.stack([precision, recall, 2 * precision * recall / total if total else total]))
    return tuple(torch.stack(rows, dim=1))


def score(candidates, references, tokenizer, encoder, importance=True, baseline=0.0):
    sides = [[tokenizer.tokenize(text) for text in texts] for texts in (references, candidates)]
    weight = IdfWeights(sides[0]) if importance else uniform
    columns = []
    for pair in zip(*sides, strict=True):
        reference, candidate = (collate([pieces], encoder, weight) for pieces in pair)
        columns.append(torch.cat(greedy_cos_idf(*reference, *candidate)))
    return (torch.stack(columns, dim=1) - baseline) / (1 - baseline)


def kendall_tau(scores, judgements):
    agreeing = differing = 0
    items = list(zip(judgements.tolist(), scores.tolist(), strict=True))
    for judged, found in items:
        for other_judged, other_found in items:
            if judged > other_judged:
                differing += 1
                agreeing += (found > other_found) - (found < other_found)
    return agreeing / differing
