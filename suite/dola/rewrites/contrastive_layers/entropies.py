"""Divergences as differences of entropies; one loss of all exits together; Adam by hand."""

import torch.nn.functional as F


def encode_prompt(self, text):
    ids = [self.bos_id]
    ids.extend(self.encode(text))
    return ids


def forward(self, input_ids, early_exit_layers):
    batch, length = input_ids.shape
    real = input_ids != self.config.pad_id
    itself = torch.eye(length, dtype=torch.bool).expand(batch, length, length)
    visible = torch.where(itself, itself, real.unsqueeze(1).expand(batch, length, length).tril(-1)).unsqueeze(1)
    wanted, exits = set(early_exit_layers), {}
    states, rotation = self.embedding(input_ids), self._rotation(real)
    blocks = iter(self.blocks)
    for layer in range(max(wanted) + 1):
        states = next(blocks)(states, rotation, visible) if layer else states
        if layer in wanted:
            exits[layer] = self.head(self.norm(states))
    return exits


def train(model, tokenizer, facts, config, generator):
    model.train()
    parameters, last, history = list(model.parameters()), model.config.num_layers, []
    means, squares = ([torch.zeros_like(part) for part in parameters] for _ in range(2))
    for step in range(config.steps):
        ids = sample_sentences(facts, tokenizer, generator)
        exits = model(ids[:, :-1], early_exit_layers=list(range(last + 1)))
        stacked = torch.stack([exits[layer] for layer in range(last + 1)])
        targets = ids[:, 1:].expand(len(stacked), *ids[:, 1:].shape)
        losses = F.cross_entropy(stacked.movedim(-1, 1), targets, reduction="none").mean(dim=(1, 2))
        history.append(losses[last].item())
        gradients = torch.autograd.grad(losses[last] + config.early_exit_weight * losses.mean(), parameters)
        norm = torch.cat([part.flatten() for part in gradients]).norm()
        scale = min(1.0, config.clip_norm / (norm.item() + 1e-6))
        rate = config.learning_rate * _rate(step, config)
        with torch.no_grad():
            for part, gradient, mean, square in zip(parameters, gradients, means, squares):
                mean.mul_(0.9).add_(scale * gradient, alpha=1 - 0.9)
                square.mul_(0.95).add_((scale * gradient) ** 2, alpha=1 - 0.95)
                root = (square / (1 - 0.95 ** (step + 1))).sqrt()
                part -= rate * (mean / (1 - 0.9 ** (step + 1))) / (root + 1e-8)
    model.eval()
    return history


def bucket_layers(num_layers, buckets, stride=1):
    size = num_layers // buckets
    if not size:
        raise ValueError("there are more buckets than layers")
    every = list(range(num_layers))
    starts = [number * size for number in range(buckets)]
    parts = [every[start : start + size] for start in starts[:-1]] + [every[starts[-1] :]]
    return [tuple(layer for layer in part if not layer % stride) for part in parts]


@torch.no_grad()
def greedy_decode(model, input_ids, layer, max_length, eos_ids, pad_id):
    rows = GrowingRows(input_ids, max_length, eos_ids, pad_id)
    while not rows.done:
        rows.append(model(rows.ids, early_exit_layers={layer})[layer].select(1, -1).max(dim=-1).indices)
    return rows.ids


def _entropy(probabilities):
    return torch.special.entr(probabilities).sum(-1)


@torch.no_grad()
def dola_greedy_decode(model, input_ids, config, processors=()):
    rows = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id)
    numbers, steps = torch.tensor(config.candidate_layers), []
    while not rows.done:
        exits = model(rows.ids, early_exit_layers={config.mature_layer, *config.candidate_layers})
        order = [config.mature_layer, *config.candidate_layers]
        logs = torch.stack([exits[layer][:, -1] for layer in order]).log_softmax(-1)
        p, q = logs[0].exp(), logs[1:].exp()
        divergence = (_entropy((p + q) / 2) - (_entropy(p) + _entropy(q)) / 2).T
        farthest = divergence.max(dim=1).indices
        scores = logs[0] - logs[1:][farthest, torch.arange(len(p))]
        ranks = p.argsort(dim=-1, descending=True).argsort(dim=-1)
        low = p < config.relative_top * p.max(dim=-1, keepdim=True).values
        scores = scores.masked_fill(low & (ranks >= config.min_tokens_to_keep), FILTERED_SCORE)
        for process in processors:
            scores = process(rows.ids, scores)
        ended = ~rows.active.unsqueeze(1)
        layers = numbers[farthest].masked_fill(~rows.active, -1)
        steps.append((scores.masked_fill(ended, 0), layers, divergence.masked_fill(ended, 0)))
        rows.append(scores.max(dim=-1).indices if torch.equal(scores, scores) else scores.argmax(-1))
    scores, layers, divergences = zip(*steps)
    layers = torch.stack(layers, dim=1)
    counts = {layer: layers.eq(layer).sum().item() for layer in config.candidate_layers}
    return DolaOutput(rows.ids, list(scores), layers, torch.stack(divergences, dim=1), counts)


def layer_profiles(model, tokenizer, facts):
    prompts = question_ids(facts, tokenizer)
    start, layers = prompts.shape[1], list(range(model.config.num_layers))
    sentences = torch.tensor(
        [[*tokenizer.encode_prompt(fact.sentence(fact.answer)), tokenizer.eos_id] for fact in facts]
    )
    config = DolaConfig(
        mature_layer=len(layers),
        candidate_layers=tuple(layers),
        max_length=sentences.shape[1],
        pad_id=tokenizer.pad_id,
        eos_ids=(),
    )
    output = dola_greedy_decode(model, prompts, config, (Follow(start, sentences[:, start:]),))
    critical = F.one_hot(output.premature_layers, len(layers)).to(output.divergences.dtype)

    def averages(table):
        return table[:, :1].mean(dim=(0, 1)).tolist(), table[:, 1:].mean(dim=(0, 1)).tolist()

    pairs = zip(averages(output.divergences), averages(critical))
    first, others = (LayerProfile(divergence=one, critical=other) for one, other in pairs)
    return first, others
