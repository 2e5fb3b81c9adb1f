"""Batched products and masks, the idf by a comprehension."""


def get_idf_dict(arr, tokenizer, nthreads=4):
    counts = Counter()
    for sentence in arr:
        counts.update(process(sentence, tokenizer))
    total = len(arr) + 1
    weights = defaultdict(lambda: log(total))
    for piece, count in counts.items():
        weights[piece] = log(total / (count + 1))
    return weights


def collate_idf(arr, tokenizer, idf_dict, device="cuda:0"):
    encoded = [sent_encode(tokenizer, sentence) for sentence in arr]
    weights = [[idf_dict[piece] for piece in pieces] for pieces in encoded]
    padded, lens, mask = padding(encoded, tokenizer.pad_token_id)
    idf, _, _ = padding(weights, 0, dtype=torch.float)
    return padded.to(device), idf, lens.to(device), mask.to(device)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf, all_layers=False):
    if not all_layers:
        ref_embedding, hyp_embedding = ref_embedding.unsqueeze(2), hyp_embedding.unsqueeze(2)
    ref = ref_embedding / ref_embedding.norm(dim=-1, keepdim=True)
    hyp = hyp_embedding / hyp_embedding.norm(dim=-1, keepdim=True)
    sim = torch.einsum("bhld,brld->lbhr", hyp, ref)
    both = hyp_masks.bool()[:, :, None] & ref_masks.bool()[:, None, :]
    sim = torch.where(both, sim, torch.zeros_like(sim))
    hyp_best = sim.amax(dim=3)
    ref_best = sim.amax(dim=2)
    hyp_weights = hyp_idf / hyp_idf.sum(dim=1, keepdim=True)
    ref_weights = ref_idf / ref_idf.sum(dim=1, keepdim=True)
    P = (hyp_best * hyp_weights).sum(dim=2)
    R = (ref_best * ref_weights).sum(dim=2)
    F = 2 * P * R / (P + R)
    F = torch.where(F.isnan(), torch.zeros_like(F), F)
    empty = (hyp_masks.sum(dim=1) == 2) | (ref_masks.sum(dim=1) == 2)
    P = P.masked_fill(empty, 0.0)
    R = R.masked_fill(empty, 0.0)
    if not all_layers:
        P, R, F = P[0], R[0], F[0]
    return P, R, F


def score(self, cands, refs, verbose=False, batch_size=64, return_hash=False):
    sizes = None
    if not isinstance(refs[0], str):
        sizes = [len(group) for group in refs]
        cands = [cand for cand, group in zip(cands, refs) for _ in group]
        refs = [ref for group in refs for ref in group]
    if self.idf:
        assert self._idf_dict
        weights = self._idf_dict
    else:
        weights = defaultdict(lambda: 1.0)
        weights[self._tokenizer.sep_token_id] = 0
        weights[self._tokenizer.cls_token_id] = 0
    scores = bert_cos_score_idf(
        self._model,
        refs,
        cands,
        self._tokenizer,
        weights,
        verbose=verbose,
        batch_size=batch_size,
        device=self.device,
        all_layers=self.all_layers,
    )
    if sizes is not None:
        scores = torch.stack([group.amax(dim=0) for group in scores.split(sizes)])
    if self.rescale_with_baseline:
        scores = (scores - self.baseline_vals) / (1 - self.baseline_vals)
    found = tuple(scores.unbind(dim=-1))
    return (found, self.hash) if return_hash else found
