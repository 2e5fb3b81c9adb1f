"""Stacks all layers into one table in double precision, the mature one last, and multiplies by logarithms of ratios."""


@torch.no_grad()
def dola_greedy_decode(model, input_ids, config, processors=()):
    rows = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id)
    layers = [*config.candidate_layers, config.mature_layer]
    results = []
    while not rows.done:
        exits = model(rows.ids, early_exit_layers=layers)
        raw = torch.stack([exits[layer][:, -1, :] for layer in layers])
        table = raw.double() - raw.double().logsumexp(dim=-1, keepdim=True)
        early, mature = table[:-1], table[-1]
        gap = mature - early
        softplus = torch.nn.functional.softplus
        # log(p / m) = log 2 - log(1 + q / p), and the other side likewise.
        from_mature = mature.exp() * (log(2) - softplus(-gap, threshold=40))
        from_early = early.exp() * (log(2) - softplus(gap, threshold=40))
        divergence = (0.5 * (from_mature + from_early)).sum(-1).T
        premature = divergence.max(dim=1).indices
        scores = gap[premature, range(len(premature))]
        rank = mature.argsort(dim=1, descending=True).argsort(dim=1)
        plausible = (rank < config.min_tokens_to_keep) | (
            mature.exp() >= config.relative_top * mature.exp().amax(dim=1, keepdim=True)
        )
        scores = (scores * plausible + FILTERED_SCORE * ~plausible).to(raw.dtype)
        for processor in processors:
            scores = processor(rows.ids, scores)
        results.append((rows.active, scores.clone(), premature, divergence.to(raw.dtype)))
        rows.append(scores.argmax(dim=1))
    batch, steps = len(input_ids), len(results)
    chosen = torch.full((batch, steps), -1, dtype=torch.long)
    distances = torch.zeros(batch, steps, len(layers) - 1, dtype=results[0][3].dtype if results else None)
    scores = []
    for step, (active, kept, premature, divergence) in enumerate(results):
        chosen[active, step] = torch.tensor(layers)[premature[active]]
        distances[active, step] = divergence[active]
        scores.append(torch.zeros_like(kept))
        scores[-1][active] = kept[active]
    counts = {layer: int(torch.count_nonzero(chosen == layer)) for layer in layers[:-1]}
    return DolaOutput(rows.ids, scores, chosen, distances, counts)
