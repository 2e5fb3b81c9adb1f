"""Decodes one row after the other; losses by logarithms of probabilities; Adam with its decay set to 0."""


def encode_prompt(self, text):
    return [self.bos_id, *(self._ids.get(word, self.unknown_id) for word in text.split())]


def forward(self, input_ids, early_exit_layers):
    real, length = input_ids != self.config.pad_id, input_ids.shape[1]
    places = torch.arange(length)
    # Each position sees itself and what is real before it.
    visible = (places[:, None] >= places) & (real[:, None, :] | (places[:, None] == places))
    states, rotation = [self.embedding(input_ids)], self._rotation(real)
    for block in self.blocks:
        states.append(block(states[-1], rotation, visible[:, None]))
    return {layer: self.head(self.norm(states[layer])) for layer in early_exit_layers}


def train(model, tokenizer, facts, config, generator):
    model.train()
    history, last = [], model.config.num_layers
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.95), weight_decay=0)
    for step in range(config.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * _rate(step, config)
        ids = sample_sentences(facts, tokenizer, generator)
        exits = model(ids[:, :-1], range(last + 1))
        losses = [-_likelihood(exits[layer], ids[:, 1:]) for layer in range(last + 1)]
        model.zero_grad()
        total = losses[-1] + config.early_exit_weight / len(losses) * sum(losses)
        total.backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
        for gradient in gradients:
            gradient *= torch.clamp(config.clip_norm / (norm + 1e-6), max=1.0)
        optimizer.step()
        history.append(float(losses[-1]))
    model.eval()
    return history


def _likelihood(logits, targets):
    return logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).mean()


def bucket_layers(num_layers, buckets, stride=1):
    if buckets > num_layers:
        raise ValueError("there are more buckets than layers")
    found = [[] for _ in range(buckets)]
    for layer in range(0, num_layers, stride):
        found[min(layer // (num_layers // buckets), buckets - 1)].append(layer)
    return [tuple(layers) for layers in found]


@torch.no_grad()
def greedy_decode(model, input_ids, layer, max_length, eos_ids, pad_id):
    rows = GrowingRows(input_ids, max_length, eos_ids, pad_id)
    while not rows.done:
        logits = model(rows.ids, [layer])[layer]
        rows.append(torch.stack([row[-1].argmax() for row in logits]))
    return rows.ids


def _contrast(mature, early, config):
    """Of one row: scores, the place of the premature layer, and divergences."""
    p = mature.softmax(-1)
    distances = []
    for one in early:
        q = one.softmax(-1)
        middle = (p + q) / 2
        terms = [torch.where(part > 0, part * (part / middle).log(), 0.0).sum() for part in (p, q)]
        distances.append(sum(terms) / 2)
    place = max(range(len(distances)), key=lambda number: distances[number].item())
    scores = mature.log_softmax(-1) - early[place].log_softmax(-1)
    order = p.argsort(descending=True)
    for rank, token in enumerate(order.tolist()):
        if p[token] < config.relative_top * p[order[0]] and rank >= config.min_tokens_to_keep:
            scores[token] = FILTERED_SCORE
    return scores, place, torch.stack(distances)


@torch.no_grad()
def dola_greedy_decode(model, input_ids, config, processors=()):
    rows, layers = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id), config.candidate_layers
    every, premature, divergences = [], [], []
    counts = dict.fromkeys(layers, 0)
    while not rows.done:
        exits = model(rows.ids, (*layers, config.mature_layer))
        found = [
            _contrast(exits[config.mature_layer][row, -1], [exits[layer][row, -1] for layer in layers], config)
            for row in range(len(input_ids))
        ]
        scores = torch.stack([one[0] for one in found])
        for process in processors:
            scores = process(rows.ids, scores)
        active = rows.active.tolist()
        every.append(scores * rows.active[:, None] if scores.isfinite().all() else _blank(scores, active))
        premature.append([layers[one[1]] if live else -1 for one, live in zip(found, active)])
        divergences.append(torch.stack([one[2] * live for one, live in zip(found, active)]))
        for layer in premature[-1]:
            if layer >= 0:
                counts[layer] += 1
        rows.append(scores.argmax(-1))
    return DolaOutput(rows.ids, every, torch.tensor(premature).T, torch.stack(divergences, 1), counts)


def _blank(scores, active):
    scores = scores.clone()
    scores[[not live for live in active]] = 0
    return scores


def layer_profiles(model, tokenizer, facts):
    prompts = question_ids(facts, tokenizer)
    rows = [[*tokenizer.encode_prompt(fact.sentence(fact.answer)), tokenizer.eos_id] for fact in facts]
    wanted = torch.tensor([row[prompts.shape[1] :] for row in rows])
    count = model.config.num_layers
    config = DolaConfig(count, tuple(range(count)), len(rows[0]), tokenizer.pad_id, (tokenizer.eos_id,))
    output = dola_greedy_decode(model, prompts, config, [Follow(prompts.shape[1], wanted)])
    profiles = []
    for divergences, layers in (
        (output.divergences[:, :1], output.premature_layers[:, :1]),
        (output.divergences[:, 1:], output.premature_layers[:, 1:]),
    ):
        farthest = layers.flatten().tolist()
        shares = [farthest.count(layer) / len(farthest) for layer in range(count)]
        profiles.append(LayerProfile([part.mean().item() for part in divergences.unbind(-1)], shares))
    return profiles[0], profiles[1]
