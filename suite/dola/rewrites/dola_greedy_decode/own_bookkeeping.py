"""Keeps the rows in a tensor made beforehand, and takes divergences by PyTorch's own divergence of logarithms."""

from torch.nn import functional as F


@torch.no_grad()
def dola_greedy_decode(model, input_ids, config, processors=()):
    batch, start = input_ids.shape
    steps = max(config.max_length - start, 0)
    order = sorted(config.candidate_layers)
    ids = torch.full((batch, start + steps), config.pad_id)
    ids[:, :start] = input_ids
    layers = torch.full((batch, steps), -1)
    running = torch.full((batch,), True)
    scores, distances = [], []
    step = 0
    while step < steps and running.any():
        sofar = ids[:, : start + step]
        exits = model(sofar, early_exit_layers=[*order, config.mature_layer])
        mature = torch.log_softmax(exits[config.mature_layer][:, -1], dim=1)
        table = {}
        for layer in order:
            early = torch.log_softmax(exits[layer][:, -1], dim=1)
            half = torch.stack([mature, early]).logsumexp(0) - torch.tensor(2.0, dtype=torch.float64).log().item()
            sides = [F.kl_div(half, side, log_target=True, reduction="none").sum(1) for side in (mature, early)]
            table[layer] = early, (sides[0] + sides[1]) / 2
        distance = torch.stack([table[layer][1] for layer in config.candidate_layers], 1)
        distances.append(torch.where(running[:, None], distance, torch.zeros_like(distance)))
        contrast = torch.full_like(mature, FILTERED_SCORE)
        for row in range(batch):
            winner = config.candidate_layers[int(distance[row].argmax())]
            if running[row]:
                layers[row, step] = winner
            ranked = mature[row].sort(descending=True).values
            bar = -float("inf")
            if config.relative_top > 0:
                bar = min(float(ranked[0]) + log(config.relative_top), float(ranked[config.min_tokens_to_keep - 1]))
            passed = mature[row] >= bar
            contrast[row, passed] = (mature[row] - table[winner][0][row])[passed]
        for processor in processors:
            contrast = processor(sofar, contrast)
        scores.append(contrast * running[:, None] if contrast.isfinite().all() else contrast.clone())
        scores[-1][~running] = 0
        best = contrast.max(dim=1, keepdim=True).values
        tokens = (contrast == best).int().argmax(1)
        ids[running, start + step] = tokens[running]
        for end in config.eos_ids:
            running = running & (tokens != end)
        step += 1
    divergences = torch.stack(distances, 1) if distances else torch.zeros(batch, 0, len(order))
    layers = layers[:, :step]
    counts = dict.fromkeys(order, 0)
    for layer in layers[layers >= 0].tolist():
        counts[layer] += 1
    return DolaOutput(ids[:, : start + step], scores, layers, divergences, counts)
