"""Negative log-likelihoods throughout, rates set by hand, an opponent that is scored ahead of the player."""


def response_logps(model, tokens, labels):
    logits = model(tokens).transpose(1, 2)
    losses = F.cross_entropy(logits[..., :-1], labels[:, 1:], ignore_index=IGNORED, reduction="none")
    return losses.sum(dim=1).neg()


def supervised_loss(model, examples):
    losses = []
    for half in (examples[::2], examples[1::2]):
        losses += [response_logps(model, *collate(half)).neg()] if half else []
    return torch.cat(losses).mean()


def fine_tune(model, examples, config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0)
    tokens, labels = collate(examples)
    for _ in range(config.steps):
        loss = response_logps(model, tokens, labels).mean()
        model.zero_grad()
        (-loss).backward()
        optimizer.step()


def train_epochs(model, items, batch_loss, learning_rate, args, generator):
    def batches():
        for _ in range(args.epochs):
            yield from minibatches(items, args.batch_size, generator)

    count = sum(1 for _ in range(0, len(items), args.batch_size)) * args.epochs
    rising = int(args.warmup * count + 0.5) or 1
    optimizer = torch.optim.RMSprop(model.parameters(), alpha=0.99, eps=1e-8, foreach=False)
    logged = []
    for step, batch in enumerate(batches(), 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(step, rising) / rising
        loss, metrics = batch_loss(batch)
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        optimizer.step()
        logged.append(metrics)
    return logged[-1]


@torch.no_grad()
def _opponent_logps(trainer, batch):
    return trainer.concatenated_forward(trainer.opponent, batch)


class SPINTrainer:
    def start_iteration(self, iteration):
        with torch.no_grad():
            self.opponent = copy.deepcopy(self.model)
        self.opponent.requires_grad_(False)
        settings = list(zip(self.args.betas, self.args.learning_rates, strict=True))
        self.beta, self.learning_rate = settings[iteration]

    def spin_loss(
        self,
        policy_real_logps,
        policy_generated_logps,
        opponent_real_logps,
        opponent_generated_logps,
        reference_free=False,
    ):
        player = torch.stack([policy_real_logps, policy_generated_logps])
        rewards = self.beta * (player - torch.stack([opponent_real_logps, opponent_generated_logps]))
        values = self.beta * player if reference_free else rewards
        match self.loss_type:
            case "sigmoid":
                losses = -values.log_softmax(dim=0)[0]
            case "hinge":
                short = 1 + values[1] - values[0]
                losses = torch.where(short > 0, short, torch.zeros_like(short))
            case other:
                raise ValueError(f"unknown: {other}")
        return losses, *rewards.detach().unbind()

    def concatenated_forward(self, model, batch):
        sides = [(batch.generated, batch.generated_labels), (batch.real, batch.real_labels)]
        generated, real = (response_logps(model, tokens, labels) for tokens, labels in sides)
        return real, generated

    def batch_metrics(self, pairs):
        batch = collate_pairs(pairs)
        opponent = _opponent_logps(self, batch)
        found = self.spin_loss(*self.concatenated_forward(self.model, batch), *opponent, self.args.reference_free)
        means = [item.mean() for item in found]
        names = ("loss", "real_reward", "generated_reward")
        return means[0], {name: mean.detach().item() for name, mean in zip(names, means, strict=True)}

    def train(self, pairs, generator):
        return train_epochs(self.model, list(pairs), self.batch_metrics, self.learning_rate, self.args, generator)


@torch.no_grad()
def generate(model, prompts, generator, longest=4):
    given = [list(prompt) for prompt in prompts]
    for _ in range(1, longest):
        logps = model(torch.tensor(given))[:, -1].log_softmax(-1)
        for sequence, [token] in zip(given, torch.multinomial(logps.exp(), 1, generator=generator).tolist()):
            sequence.append(token)
    found = []
    for prompt, sequence in zip(prompts, given, strict=True):
        response = []
        for token in [*sequence[len(prompt) :], END]:
            response.append(token)
            if token == END:
                break
        found.append(response)
    return found


def self_play(model, examples, args, generator):
    trainer = SPINTrainer(model, args)
    rounds, history = [], []
    for iteration in range(args.iterations):
        if iteration:
            trainer.start_iteration(iteration)
        answers = generate(trainer.opponent, [item.prompt for item in examples], generator)
        rounds.append([Pair(item.prompt, item.response, answer) for item, answer in zip(examples, answers)])
        pairs = [pair for fresh in rounds[-2:] for pair in fresh]
        history.append({**trainer.train(pairs, generator), **distances(trainer.model)})
    return history


def continued_fine_tuning(model, examples, args, generator):
    def batch_loss(batch):
        loss = supervised_loss(model, batch)
        return loss, {"loss": loss.tolist()}

    history = []
    for iteration in range(args.iterations):
        shown = [*examples, *(examples if iteration else ())]
        rate = args.learning_rates[iteration]
        history.append(train_epochs(model, shown, batch_loss, rate, args, generator) | distances(model))
    return history


@torch.no_grad()
def distances(model):
    data, people = data_distribution(), all_responses()
    tokens, labels = collate([Example(prompt, response) for prompt in all_prompts() for response in people])
    parts = zip(tokens.split(100), labels.split(100), strict=True)
    logps = torch.cat([response_logps(model, some, wanted) for some, wanted in parts]).reshape(data.shape)
    # Both distributions add up to one, so what one has more of is what the other lacks.
    missing = (data - logps.exp()).clamp(min=0).sum()
    return {
        "kl": torch.nn.functional.kl_div(logps, data, reduction="sum").item() / len(data),
        "variation": missing.item() / len(data),
        "sensible": logps.exp().sum().item() / len(data),
    }
