"""One pair and one layer after the other, without padding; idf by sets of places."""

import math


class _Weights(dict):
    def __init__(self, sentences):
        super().__init__()
        self.whole = len(sentences) + 1
        places = {}
        for place, pieces in enumerate(sentences):
            for piece in pieces:
                places.setdefault(piece, set()).add(place)
        for piece, found in places.items():
            self[piece] = math.log(self.whole) - math.log(len(found) + 1)

    def __missing__(self, piece):
        return math.log(self.whole)


def get_idf_dict(arr, tokenizer, nthreads=4):
    return _Weights([item if tokenizer is None else sent_encode(tokenizer, item) for item in arr])


def collate_idf(arr, tokenizer, idf_dict, device="cuda:0"):
    rows = [sent_encode(tokenizer, item) for item in arr]
    longest = max(len(row) for row in rows)
    ids = torch.tensor([row + [tokenizer.pad_token_id] * (longest - len(row)) for row in rows], device=device)
    weights = torch.zeros(len(rows), longest)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        mask[place, : len(row)] = 1
        for column, piece in enumerate(row):
            weights[place, column] = idf_dict[piece]
    return ids, weights, torch.tensor([len(row) for row in rows], device=device), mask


def _average(best, weights):
    return torch.dot(best, weights.to(best.dtype)) / weights.sum().to(best.dtype)


def _compared(ref, ref_idf, ref_padded, hyp, hyp_idf, hyp_padded):
    sim = torch.nn.functional.normalize(hyp, dim=-1) @ torch.nn.functional.normalize(ref, dim=-1).T
    by_hyp, by_ref = sim.max(dim=1).values, sim.max(dim=0).values
    # Padding on the other side has a similarity of 0 to each token.
    by_hyp = by_hyp.clamp(min=0) if ref_padded else by_hyp
    by_ref = by_ref.clamp(min=0) if hyp_padded else by_ref
    p, r = _average(by_hyp, hyp_idf), _average(by_ref, ref_idf)
    f = 2 * p * r / (p + r)
    if len(hyp) == 2 or len(ref) == 2:
        p = r = torch.zeros_like(p)
    return torch.stack([p, r, torch.zeros_like(f) if torch.isnan(f) else f])


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf, all_layers=False):
    layers = range(ref_embedding.shape[2]) if all_layers else [None]
    table = []
    for layer in layers:
        row = []
        for pair in range(len(ref_embedding)):
            sides = []
            for embedding, masks, idf in (ref_embedding, ref_masks, ref_idf), (hyp_embedding, hyp_masks, hyp_idf):
                size = int(masks[pair].sum())
                vectors = embedding[pair, :size] if layer is None else embedding[pair, :size, layer]
                sides += [vectors, idf[pair, :size], size < masks.shape[1]]
            row.append(_compared(*sides))
        table.append(torch.stack(row))
    table = torch.stack(table)
    table = table if all_layers else table[0]
    return table[..., 0], table[..., 1], table[..., 2]


def score(self, cands, refs, verbose=False, batch_size=64, return_hash=False):
    grouped = not isinstance(refs[0], str)
    groups = refs if grouped else [[ref] for ref in refs]
    left, right, owners = [], [], []
    for owner, (cand, group) in enumerate(zip(cands, groups)):
        for ref in group:
            left.append(cand)
            right.append(ref)
            owners.append(owner)
    if self.idf:
        if not self._idf_dict:
            raise AssertionError("no idf weights")
        weights = self._idf_dict
    else:

        class Ones(dict):
            def __missing__(self, piece):
                return 1.0

        weights = Ones({self._tokenizer.sep_token_id: 0.0, self._tokenizer.cls_token_id: 0.0})
    found = bert_cos_score_idf(
        self._model, right, left, self._tokenizer, weights, False, batch_size, self.device, self.all_layers
    )
    if grouped:
        best = torch.full((len(groups), 3), -torch.inf)
        for owner, row in zip(owners, found):
            best[owner] = torch.maximum(best[owner], row)
        found = best
    if self.rescale_with_baseline:
        lowest = self.baseline_vals
        found = 1 - (1 - found) / (1 - lowest)
    three = (found[..., 0], found[..., 1], found[..., 2])
    return (three, self.hash) if return_hash else three
