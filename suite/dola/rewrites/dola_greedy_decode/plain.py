"""The paper's formulas in the order in which it gives them."""


@torch.no_grad()
def dola_greedy_decode(model, input_ids, config, processors=()):
    rows = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id)
    candidates = torch.tensor(config.candidate_layers)
    all_scores, all_layers, all_divergences = [], [], []
    while not rows.done:
        exits = model(rows.ids, [*config.candidate_layers, config.mature_layer])
        q_mature = exits[config.mature_layer][:, -1].softmax(-1)
        q_early = torch.stack([exits[layer][:, -1].softmax(-1) for layer in config.candidate_layers], 1)
        mean = (q_mature[:, None] + q_early) / 2
        kl_mature = (q_mature[:, None] * (q_mature[:, None] / mean).log()).sum(-1)
        divergences = (kl_mature + (q_early * (q_early / mean).log()).sum(-1)) / 2
        best = divergences.argmax(1)
        q_premature = q_early[torch.arange(len(best)), best]
        least = q_mature.topk(config.min_tokens_to_keep).values[:, -1:]
        threshold = config.relative_top * q_mature.max(-1, keepdim=True).values
        scores = (q_mature / q_premature).log()
        scores[(q_mature < threshold) & (q_mature < least)] = FILTERED_SCORE
        for processor in processors:
            scores = processor(rows.ids, scores)
        ended = ~rows.active
        all_scores.append(scores.masked_fill(ended[:, None], 0))
        all_layers.append(candidates[best].masked_fill(ended, -1))
        all_divergences.append(divergences.masked_fill(ended[:, None], 0))
        rows.append(scores.argmax(-1))
    layers = torch.stack(all_layers, 1)
    counts = {layer: (layers == layer).sum().item() for layer in config.candidate_layers}
    return DolaOutput(rows.ids, all_scores, layers, torch.stack(all_divergences, 1), counts)
