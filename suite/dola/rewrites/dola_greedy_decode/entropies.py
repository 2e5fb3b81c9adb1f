"""Takes divergences as differences of entropies of probabilities in double precision, and picks by gathering."""


@torch.no_grad()
def dola_greedy_decode(model, input_ids, config, processors=()):
    rows = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id)
    candidates = torch.tensor(config.candidate_layers)
    scores, layers, divergences = [], [], []
    while not rows.done:
        active = rows.active
        exits = model(rows.ids, early_exit_layers=(config.mature_layer, *config.candidate_layers))
        last = {layer: logits[:, -1] for layer, logits in exits.items()}
        dtype = last[config.mature_layer].dtype
        mature = last[config.mature_layer].double().log_softmax(-1)
        early = torch.stack([last[layer].double() for layer in config.candidate_layers], 1).log_softmax(-1)
        p, q = mature.exp().unsqueeze(1), early.exp()
        mixed = torch.special.entr((p + q) / 2).sum(-1)
        jsd = mixed - (torch.special.entr(p).sum(-1) + torch.special.entr(q).sum(-1)) / 2
        best = jsd.argmax(1, keepdim=True)
        premature = early.gather(1, best.unsqueeze(-1).expand(-1, -1, early.shape[-1])).squeeze(1)
        contrast = mature - premature
        if config.relative_top:
            ruled_out = (mature - mature.max(1, keepdim=True).values).exp() < config.relative_top
            kept = mature.topk(config.min_tokens_to_keep, dim=1).indices
            ruled_out.scatter_(1, kept, False)
            contrast[ruled_out] = FILTERED_SCORE
        contrast = contrast.to(dtype)
        for processor in processors:
            contrast = processor(rows.ids, contrast)
        rows.append(contrast.argmax(1))
        scores.append(contrast.masked_fill(~active.unsqueeze(1), 0))
        layers.append(candidates[best[:, 0]].masked_fill(~active, -1))
        divergences.append(jsd.to(dtype).masked_fill(~active.unsqueeze(1), 0))
    shape = len(input_ids), 0
    layers = torch.stack(layers, 1) if layers else candidates.new_zeros(shape)
    divergences = torch.stack(divergences, 1) if divergences else torch.zeros(*shape, len(candidates))
    counts = {layer: layers.eq(layer).sum().item() for layer in config.candidate_layers}
    return DolaOutput(rows.ids, scores, layers, divergences, counts)
