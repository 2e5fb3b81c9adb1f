"""Everything in double precision, with cosines from sums of products, rounded at last."""

import itertools

import numpy as np


def get_idf_dict(arr, tokenizer, nthreads=4):
    pieces = [sorted(process(item, tokenizer)) for item in arr]
    flat = np.array([piece for row in pieces for piece in row], dtype=np.int64)
    ids, counts = np.unique(flat, return_counts=True)
    weights = np.log((len(arr) + 1) / (counts + 1))
    unknown = float(np.log(len(arr) + 1))
    return defaultdict(lambda: unknown, zip(ids.tolist(), weights.tolist()))


def collate_idf(arr, tokenizer, idf_dict, device="cuda:0"):
    rows = [torch.tensor(sent_encode(tokenizer, item)) for item in arr]
    lens = torch.tensor([len(row) for row in rows])
    ids = pad_sequence(rows, batch_first=True, padding_value=tokenizer.pad_token_id)
    mask = (torch.arange(ids.shape[1]) < lens[:, None]).long()
    weights = [torch.tensor([float(idf_dict[piece]) for piece in row.tolist()]) for row in rows]
    return ids.to(device), pad_sequence(weights, batch_first=True), lens.to(device), mask.to(device)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf, all_layers=False):
    dtype = ref_embedding.dtype
    ref, hyp = ref_embedding.double(), hyp_embedding.double()
    if all_layers:
        ref, hyp = ref.permute(2, 0, 1, 3), hyp.permute(2, 0, 1, 3)
    products = hyp @ ref.mT
    lengths = hyp.square().sum(dim=-1).sqrt()[..., :, None] * ref.square().sum(dim=-1).sqrt()[..., None, :]
    sim = products / lengths
    sim = sim.masked_fill(~hyp_masks.bool()[:, :, None] | ~ref_masks.bool()[:, None, :], 0)
    sums = []
    for best, idf in ((sim.max(dim=-1)[0], hyp_idf.double()), (sim.max(dim=-2)[0], ref_idf.double())):
        sums.append(torch.einsum("...bk,bk->...b", best, idf) / idf.sum(dim=-1))
    precision, recall = sums
    both = precision + recall
    f = torch.where(both == 0, 0.0, 2 * precision * recall / torch.where(both == 0, 1.0, both))
    f = f.nan_to_num(nan=0.0)
    here = (hyp_masks.long().sum(dim=1) != 2) & (ref_masks.long().sum(dim=1) != 2)
    precision, recall = (torch.where(here, side, 0.0) for side in (precision, recall))
    return precision.to(dtype), recall.to(dtype), f.to(dtype)


def score(self, cands, refs, verbose=False, batch_size=64, return_hash=False):
    if self.idf:
        assert self._idf_dict, "idf weights are missing"
    plain = defaultdict(lambda: 1.0, {self._tokenizer.cls_token_id: 0.0, self._tokenizer.sep_token_id: 0.0})
    groups = [[ref] if isinstance(ref, str) else list(ref) for ref in refs]
    bounds = np.cumsum([0] + [len(group) for group in groups])
    every = bert_cos_score_idf(
        self._model,
        [ref for group in groups for ref in group],
        [cand for cand, group in zip(cands, groups) for _ in group],
        self._tokenizer,
        self._idf_dict if self.idf else plain,
        batch_size=batch_size,
        device=self.device,
        all_layers=self.all_layers,
    )
    if not self.all_layers:
        every = torch.stack([every[a:b].max(dim=0)[0] for a, b in itertools.pairwise(bounds)])
    if self.rescale_with_baseline:
        base = self.baseline_vals.double()
        every = ((every.double() - base) / (1 - base)).float()
    three = tuple(every[..., place] for place in range(3))
    return (three, self.hash) if return_hash else three
