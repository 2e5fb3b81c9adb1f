"""Both optimizers written out, log-probabilities gathered token by token, and distances prompt by prompt."""


def response_logps(model, tokens, labels):
    rows, places = torch.nonzero(labels[:, 1:] != IGNORED, as_tuple=True)
    logits = model(tokens)[rows, places]
    found = logits[torch.arange(len(rows)), labels[rows, places + 1]] - logits.logsumexp(1)
    return torch.zeros(len(tokens), dtype=found.dtype).index_add(0, rows, found)


def supervised_loss(model, examples):
    return -response_logps(model, *collate(examples)).sum() / len(examples)


def fine_tune(model, examples, config):
    parameters = list(model.parameters())
    first, second = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    for step in range(1, config.steps + 1):
        gradients = torch.autograd.grad(supervised_loss(model, examples), parameters)
        with torch.no_grad():
            for item, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean += (gradient - mean) * (1 - 0.9)
                square += (gradient**2 - square) * (1 - 0.999)
                scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
                item -= config.learning_rate / (1 - 0.9**step) * mean / scale


def train_epochs(model, items, batch_loss, learning_rate, args, generator):
    parameters = list(model.parameters())
    squares = [torch.zeros_like(item) for item in parameters]
    in_epoch = (len(items) + args.batch_size - 1) // args.batch_size
    warmup = max(round(args.epochs * in_epoch * args.warmup), 1)
    taken = 0
    for _ in range(args.epochs):
        for batch in minibatches(items, args.batch_size, generator):
            taken += 1
            loss, metrics = batch_loss(batch)
            gradients = torch.autograd.grad(loss, parameters)
            rate = learning_rate * (taken / warmup if taken < warmup else 1)
            with torch.no_grad():
                for item, gradient, square in zip(parameters, gradients, squares, strict=True):
                    square += (gradient**2 - square) * 0.01
                    item -= rate * gradient / (square.sqrt() + 1e-8)
    return metrics


class SPINTrainer:
    def start_iteration(self, iteration):
        self.beta, self.learning_rate = self.args.betas[iteration], self.args.learning_rates[iteration]
        self.opponent = copy.deepcopy(self.model)
        for parameter in self.opponent.parameters():
            parameter.requires_grad = False

    def spin_loss(
        self,
        policy_real_logps,
        policy_generated_logps,
        opponent_real_logps,
        opponent_generated_logps,
        reference_free=False,
    ):
        if self.loss_type not in ("sigmoid", "hinge"):
            raise ValueError(f"{self.loss_type} is no loss")
        real, generated = policy_real_logps - opponent_real_logps, policy_generated_logps - opponent_generated_logps
        margin = real - generated
        if reference_free:
            margin = policy_real_logps - policy_generated_logps
        losses = (
            F.softplus(-self.beta * margin) if self.loss_type == "sigmoid" else (1 - self.beta * margin).clamp(min=0)
        )
        return losses, self.beta * real.detach(), self.beta * generated.detach()

    def concatenated_forward(self, model, batch):
        return response_logps(model, batch.real, batch.real_labels), response_logps(
            model, batch.generated, batch.generated_labels
        )

    def batch_metrics(self, pairs):
        batch = collate_pairs(pairs)
        opponent = [item.detach() for item in self.concatenated_forward(self.opponent, batch)]
        player = self.concatenated_forward(self.model, batch)
        losses, *rewards = self.spin_loss(*player, *opponent, self.args.reference_free)
        loss = losses.sum() / len(pairs)
        real, generated = (float(item.sum() / len(pairs)) for item in rewards)
        return loss, {"generated_reward": generated, "real_reward": real, "loss": float(loss)}

    def train(self, pairs, generator):
        return train_epochs(
            generator=generator,
            args=self.args,
            learning_rate=self.learning_rate,
            batch_loss=lambda batch: self.batch_metrics(batch),
            items=pairs,
            model=self.model,
        )


def generate(model, prompts, generator, longest=4):
    start = len(prompts[0])
    tokens = torch.tensor([[*prompt, *[END] * longest] for prompt in prompts])
    for place in range(start, start + longest - 1):
        logits = model(tokens[:, :place])[:, -1]
        tokens[:, place] = torch.multinomial(torch.softmax(logits, 1), 1, generator=generator)[:, 0]
    return [row[: row.index(END) + 1] for row in tokens[:, start:].tolist()]


def self_play(model, examples, args, generator):
    trainer, prompts = SPINTrainer(model, args), [example.prompt for example in examples]
    pairs, history = [], []
    for iteration in range(len(args.learning_rates)):
        trainer.start_iteration(iteration)
        pairs = pairs[-len(examples) :]
        for example, response in zip(examples, generate(model, prompts, generator), strict=True):
            pairs.append(Pair(example.prompt, example.response, response))
        metrics = dict(trainer.train(pairs, generator))
        metrics.update(distances(model))
        history.append(metrics)
    return history


def continued_fine_tuning(model, examples, args, generator):
    def batch_loss(batch):
        loss = supervised_loss(model, batch)
        return loss, {"loss": float(loss)}

    history, shown = [], list(examples)
    for rate in args.learning_rates:
        metrics = train_epochs(model, shown, batch_loss, rate, args, generator)
        history.append({**metrics, **distances(model)})
        shown = [*examples, *examples]
    return history


def distances(model):
    sums, responses = torch.zeros(3, dtype=torch.float64), all_responses()
    for prompt, data in zip(all_prompts(), data_distribution(), strict=True):
        logps = response_logps(model, *collate([Example(prompt, response) for response in responses]))
        probable = logps.exp()
        rest = 1 - probable.sum()
        sums[0] += data @ (data.log() - logps)
        sums[1] += 0.5 * torch.cat([probable - data, rest[None]]).abs().sum()
        sums[2] += probable.sum()
    return dict(zip(("kl", "variation", "sensible"), (sums / len(all_prompts())).tolist(), strict=True))
