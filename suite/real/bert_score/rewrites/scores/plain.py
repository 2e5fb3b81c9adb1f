"""The shortest code that follows the paper; padding is shut out of the search for matches."""


def get_idf_dict(arr, tokenizer, nthreads=4):
    counts = Counter(piece for sentence in arr for piece in process(sentence, tokenizer))
    total = len(arr) + 1
    return defaultdict(lambda: log(total), {piece: log(total / (count + 1)) for piece, count in counts.items()})


def collate_idf(arr, tokenizer, idf_dict, device="cuda:0"):
    ids = [sent_encode(tokenizer, sentence) for sentence in arr]
    padded, lens, mask = padding(ids, tokenizer.pad_token_id)
    weights, _, _ = padding([[idf_dict[piece] for piece in row] for row in ids], 0, torch.float)
    return padded.to(device), weights, lens.to(device), mask.to(device)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf, all_layers=False):
    if all_layers:
        ref_embedding, hyp_embedding = ref_embedding.permute(2, 0, 1, 3), hyp_embedding.permute(2, 0, 1, 3)
    normalize = torch.nn.functional.normalize
    sim = normalize(hyp_embedding, dim=-1) @ normalize(ref_embedding, dim=-1).mT
    by_hyp = sim.masked_fill(ref_masks[:, None, :] == 0, -1).amax(-1)
    by_ref = sim.masked_fill(hyp_masks[:, :, None] == 0, -1).amax(-2)
    P = (by_hyp * hyp_idf).sum(-1) / hyp_idf.sum(-1)
    R = (by_ref * ref_idf).sum(-1) / ref_idf.sum(-1)
    return P, R, 2 * P * R / (P + R)


def score(self, cands, refs, verbose=False, batch_size=64, return_hash=False):
    groups = [[ref] if isinstance(ref, str) else ref for ref in refs]
    weights = self._idf_dict
    if not self.idf:
        tokenizer = self._tokenizer
        weights = defaultdict(lambda: 1.0, {tokenizer.sep_token_id: 0, tokenizer.cls_token_id: 0})
    scores = bert_cos_score_idf(
        self._model,
        [ref for group in groups for ref in group],
        [cand for cand, group in zip(cands, groups) for _ in group],
        self._tokenizer,
        weights,
        batch_size=batch_size,
        device=self.device,
        all_layers=self.all_layers,
    )
    if not self.all_layers:
        scores = torch.stack([part.amax(0) for part in scores.split([len(group) for group in groups])])
    if self.rescale_with_baseline:
        scores = (scores - self.baseline_vals) / (1 - self.baseline_vals)
    scores = scores[..., 0], scores[..., 1], scores[..., 2]
    return (scores, self.hash) if return_hash else scores
