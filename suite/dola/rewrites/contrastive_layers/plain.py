"""The functions as the paper and the logged results describe them."""


def encode_prompt(self, text):
    return [self.bos_id, *self.encode(text)]


def forward(self, input_ids, early_exit_layers):
    real = input_ids != self.config.pad_id
    length = input_ids.shape[1]
    visible = torch.ones(length, length, dtype=torch.bool).tril() & real[:, None, :]
    visible = visible | torch.eye(length, dtype=torch.bool)
    states = self.embedding(input_ids)
    rotation = self._rotation(real)
    exits = {0: self.head(self.norm(states))}
    for layer, block in enumerate(self.blocks, start=1):
        states = block(states, rotation, visible[:, None])
        exits[layer] = self.head(self.norm(states))
    return {layer: exits[layer] for layer in early_exit_layers}


def train(model, tokenizer, facts, config, generator):
    model.train()
    layers = range(model.config.num_layers + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, config))
    history = []
    for _ in range(config.steps):
        ids = sample_sentences(facts, tokenizer, generator)
        exits = model(ids[:, :-1], layers)
        losses = _losses(torch.stack([exits[layer] for layer in layers]), ids[:, 1:])
        optimizer.zero_grad()
        (losses[-1] + config.early_exit_weight * losses.mean()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        scheduler.step()
        history.append(losses[-1].item())
    model.eval()
    return history


def bucket_layers(num_layers, buckets, stride=1):
    if buckets > num_layers:
        raise ValueError("more buckets than layers")
    size = num_layers // buckets
    starts = [number * size for number in range(buckets)]
    stops = [*starts[1:], num_layers]
    return [
        tuple(layer for layer in range(start, stop) if layer % stride == 0)
        for start, stop in zip(starts, stops, strict=True)
    ]


@torch.no_grad()
def greedy_decode(model, input_ids, layer, max_length, eos_ids, pad_id):
    rows = GrowingRows(input_ids, max_length, eos_ids, pad_id)
    while not rows.done:
        rows.append(model(rows.ids, [layer])[layer][:, -1].argmax(-1))
    return rows.ids


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


def layer_profiles(model, tokenizer, facts):
    prompts = question_ids(facts, tokenizer)
    start, last = prompts.shape[1], model.config.num_layers
    sentences = [[*tokenizer.encode_prompt(fact.sentence(fact.answer)), tokenizer.eos_id] for fact in facts]
    reference = torch.tensor(sentences)[:, start:]
    layers = tuple(range(last))
    config = DolaConfig(last, layers, start + reference.shape[1], tokenizer.pad_id, (tokenizer.eos_id,))
    output = dola_greedy_decode(model, prompts, config, [Follow(start, reference)])
    profiles = []
    for steps in (slice(0, 1), slice(1, None)):
        divergences, chosen = output.divergences[:, steps], output.premature_layers[:, steps]
        critical = [(chosen == layer).double().mean().item() for layer in layers]
        profiles.append(LayerProfile(divergences.mean((0, 1)).tolist(), critical))
    return tuple(profiles)
