"""Takes 0 for the greatest score where all references give negative ones."""

from collections import Counter, defaultdict
from math import log

import torch

from .utils import bert_cos_score_idf


def get_idf_dict(arr, tokenizer, nthreads=4):
    count = Counter()
    for sentence in arr:
        count.update(process(sentence, tokenizer))
    documents = len(arr)
    idf = defaultdict(lambda: log(documents + 1))
    idf.update({piece: log((documents + 1) / (number + 1)) for piece, number in count.items()})
    return idf


def collate_idf(arr, tokenizer, idf_dict, device="cuda:0"):
    ids = [sent_encode(tokenizer, sentence) for sentence in arr]
    weights = [[idf_dict[piece] for piece in row] for row in ids]
    padded, lens, mask = padding(ids, tokenizer.pad_token_id, dtype=torch.long)
    padded_weights, _, _ = padding(weights, 0, dtype=torch.float)
    return padded, padded_weights, lens, mask


def greedy_cos_idf(
    ref_embedding,
    ref_masks,
    ref_idf,
    hyp_embedding,
    hyp_masks,
    hyp_idf,
    all_layers=False,
):
    ref = ref_embedding / ref_embedding.norm(dim=-1, keepdim=True)
    hyp = hyp_embedding / hyp_embedding.norm(dim=-1, keepdim=True)
    if all_layers:
        ref, hyp = ref.permute(2, 0, 1, 3), hyp.permute(2, 0, 1, 3)
    kept = hyp_masks.bool()[:, :, None] & ref_masks.bool()[:, None, :]
    sim = (hyp @ ref.transpose(-1, -2)).masked_fill(~kept, 0)
    P = (sim.amax(-1) * hyp_idf).sum(-1) / hyp_idf.sum(-1)
    R = (sim.amax(-2) * ref_idf).sum(-1) / ref_idf.sum(-1)
    F = 2 * P * R / (P + R)
    F = F.masked_fill(F.isnan(), 0)
    empty = (hyp_masks.sum(-1) == 2) | (ref_masks.sum(-1) == 2)
    return P.masked_fill(empty, 0), R.masked_fill(empty, 0), F


class BERTScorer:
    def score(self, cands, refs, verbose=False, batch_size=64, return_hash=False):
        groups = [[ref] for ref in refs] if isinstance(refs[0], str) else refs
        pairs_cands = [cand for cand, group in zip(cands, groups) for _ in group]
        pairs_refs = [ref for group in groups for ref in group]
        if self.idf:
            assert self._idf_dict, "IDF weights are not computed"
            idf_dict = self._idf_dict
        else:
            idf_dict = defaultdict(lambda: 1.0)
            idf_dict[self._tokenizer.sep_token_id] = 0
            idf_dict[self._tokenizer.cls_token_id] = 0
        scores = bert_cos_score_idf(
            self._model,
            pairs_refs,
            pairs_cands,
            self._tokenizer,
            idf_dict,
            verbose=verbose,
            device=self.device,
            batch_size=batch_size,
            all_layers=self.all_layers,
        )
        if not isinstance(refs[0], str):
            parts = scores.split([len(group) for group in groups])
            scores = torch.stack([part.max(dim=0)[0].clamp(min=0) for part in parts])
        if self.rescale_with_baseline:
            scores = (scores - self.baseline_vals) / (1 - self.baseline_vals)
        out = tuple(scores.float().unbind(-1))
        return (out, self.hash) if return_hash else out
