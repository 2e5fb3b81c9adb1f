"""Works on lists of Python's floats, row by row and token by token."""

from collections import Counter
from math import exp, fsum


def _log_softmax(logits):
    top = max(logits)
    total = fsum(exp(logit - top) for logit in logits)
    return [logit - top - log(total) for logit in logits]


def _divergence(first, second):
    terms = []
    for one, other in zip(first, second):
        p, q = exp(one), exp(other)
        if p > 0:
            terms.append(p * log(2 / (1 + exp(min(other - one, 700.0)))))
        if q > 0:
            terms.append(q * log(2 / (1 + exp(min(one - other, 700.0)))))
    return fsum(terms) / 2


@torch.no_grad()
def dola_greedy_decode(model, input_ids, config, processors=()):
    rows = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id)
    steps = []
    used = Counter(dict.fromkeys(config.candidate_layers, 0))
    while not rows.done:
        exits = model(rows.ids, early_exit_layers={config.mature_layer, *config.candidate_layers})
        dtype = exits[config.mature_layer].dtype
        contrasts, layers, distances = [], [], []
        for row, active in enumerate(rows.active.tolist()):
            mature = _log_softmax(exits[config.mature_layer][row, -1].tolist())
            early = {layer: _log_softmax(exits[layer][row, -1].tolist()) for layer in config.candidate_layers}
            distance = {layer: _divergence(mature, early[layer]) for layer in early}
            premature = max(distance, key=distance.get)
            bar = sorted(mature)[-config.min_tokens_to_keep]
            passing = [
                config.relative_top == 0 or value >= bar or exp(value - max(mature)) >= config.relative_top
                for value in mature
            ]
            triples = zip(passing, mature, early[premature])
            contrasts.append([late - soon if keep else FILTERED_SCORE for keep, late, soon in triples])
            layers.append(premature if active else -1)
            distances.append(list(distance.values()) if active else [0.0] * len(distance))
            used.update([premature] * active)
        scores = torch.tensor(contrasts, dtype=dtype)
        for processor in processors:
            scores = processor(rows.ids, scores)
        kept = scores.clone()
        kept[~rows.active] = 0
        steps.append((kept, torch.tensor(layers), torch.tensor(distances, dtype=dtype)))
        rows.append(torch.tensor([line.index(max(line)) for line in scores.tolist()]))
    batch = len(input_ids)
    premature_layers = torch.zeros(batch, len(steps), dtype=torch.long)
    divergences = torch.zeros(batch, len(steps), len(used), dtype=steps[0][2].dtype if steps else torch.float64)
    for number, (_, layers, distances) in enumerate(steps):
        premature_layers[:, number] = layers
        divergences[:, number] = distances
    return DolaOutput(rows.ids, [step[0] for step in steps], premature_layers, divergences, dict(used))
