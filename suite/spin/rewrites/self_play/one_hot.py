"""Log-probabilities by one-hot rows, one network for both players in turn, a multiplied learning rate, and totals."""


def response_logps(model, tokens, labels):
    logps = torch.log_softmax(model(tokens), dim=2)[:, :-1]
    counted = (labels[:, 1:] != IGNORED).to(logps.dtype)
    one_hot = F.one_hot(labels[:, 1:].clamp(min=0), logps.shape[2]).to(logps.dtype)
    return torch.einsum("blv,blv,bl->b", logps, one_hot, counted)


def supervised_loss(model, examples):
    tokens, labels = collate(examples)
    total = sum(response_logps(model, *part).sum() for part in zip(tokens.split(50), labels.split(50), strict=True))
    return total / -len(examples)


def fine_tune(model, examples, config):
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, foreach=False)

    def closure():
        optimizer.zero_grad()
        loss = supervised_loss(model, examples)
        loss.backward()
        return loss

    for _ in range(config.steps):
        optimizer.step(closure)


def train_epochs(model, items, batch_loss, learning_rate, args, generator):
    per_epoch = len(list(range(0, len(items), args.batch_size)))
    warmup = max(1.0, float(round(args.warmup * args.epochs * per_epoch)))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1.0, centered=False, momentum=0)
    factors = [learning_rate * min(1.0, (step + 1) / warmup) for step in range(args.epochs * per_epoch)]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: factors[min(step, len(factors) - 1)])
    epoch = 0
    while epoch < args.epochs:
        for batch in minibatches(items, args.batch_size, generator):
            loss, metrics = batch_loss(batch)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
            schedule.step()
        epoch += 1
    return metrics


class SPINTrainer:
    def start_iteration(self, iteration):
        weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        self.opponent = copy.deepcopy(self.model)
        self.opponent.load_state_dict(weights)
        for parameter in self.opponent.parameters():
            parameter.requires_grad_(False)
        self.learning_rate = self.args.learning_rates[iteration]
        self.beta = self.args.betas[iteration]

    def spin_loss(
        self,
        policy_real_logps,
        policy_generated_logps,
        opponent_real_logps,
        opponent_generated_logps,
        reference_free=False,
    ):
        beta = self.beta
        gap = beta * policy_generated_logps - beta * policy_real_logps
        if not reference_free:
            gap = gap + beta * opponent_real_logps - beta * opponent_generated_logps
        if self.loss_type == "sigmoid":
            losses = torch.logaddexp(gap, torch.zeros_like(gap))
        elif self.loss_type == "hinge":
            losses = torch.maximum(gap + 1, torch.zeros_like(gap))
        else:
            raise ValueError(repr(self.loss_type))
        with torch.no_grad():
            real = beta * policy_real_logps - beta * opponent_real_logps
            generated = beta * policy_generated_logps - beta * opponent_generated_logps
        return losses, real, generated

    def concatenated_forward(self, model, batch):
        tokens, labels = (
            torch.cat([batch.generated, batch.real]),
            torch.cat([batch.generated_labels, batch.real_labels]),
        )
        generated, real = response_logps(model, tokens, labels).view(2, -1)
        return real, generated

    def batch_metrics(self, pairs):
        batch = collate_pairs(pairs)
        with torch.no_grad():
            opponent_real, opponent_generated = self.concatenated_forward(self.opponent, batch)
        real, generated = self.concatenated_forward(self.model, batch)
        losses, real_rewards, generated_rewards = self.spin_loss(
            real, generated, opponent_real, opponent_generated, reference_free=self.args.reference_free
        )
        totals = {"loss": losses, "real_reward": real_rewards, "generated_reward": generated_rewards}
        return losses.sum() / len(losses), {name: sum(total.tolist()) / len(pairs) for name, total in totals.items()}

    def train(self, pairs, generator):
        found = train_epochs(self.model, pairs, self.batch_metrics, self.learning_rate, self.args, generator)
        return dict(found)


def generate(model, prompts, generator, longest=4):
    sequences = torch.tensor(prompts)
    count, start = sequences.shape
    drawn = 0
    while drawn < longest - 1:
        scores = model(sequences)[:, -1, :]
        scores = (scores - scores.amax(1, keepdim=True)).exp()
        token = torch.multinomial(scores / scores.sum(1, keepdim=True), 1, generator=generator)
        sequences = torch.hstack([sequences, token])
        drawn += 1
    closed = torch.hstack([sequences, torch.full((count, 1), END)])[:, start:]
    lengths = (closed == END).int().argmax(1) + 1
    return [row[:length] for row, length in zip(closed.tolist(), lengths.tolist(), strict=True)]


def self_play(model, examples, args, generator):
    trainer = SPINTrainer(model, args)
    history, kept = [], ()
    for iteration in range(args.iterations):
        trainer.start_iteration(iteration)
        made = generate(trainer.opponent, [item.prompt for item in examples], generator)
        fresh = tuple(Pair(item.prompt, item.response, words) for item, words in zip(examples, made, strict=True))
        metrics = trainer.train(list(kept + fresh), generator)
        history.append({**metrics, **distances(model)})
        kept = fresh
    return history


def continued_fine_tuning(model, examples, args, generator):
    def batch_loss(batch):
        loss = supervised_loss(model, batch)
        return loss, {"loss": loss.item()}

    history = []
    for times, rate in zip([1] + [2] * len(args.learning_rates), args.learning_rates):
        items = [item for _ in range(times) for item in examples]
        metrics = train_epochs(model, items, batch_loss, rate, args, generator)
        history.append(metrics | distances(model))
    return history


def distances(model):
    people, questions, data = all_responses(), all_prompts(), data_distribution()
    found = []
    for response in people:
        tokens, labels = collate([Example(prompt, response) for prompt in questions])
        found.append(response_logps(model, tokens, labels))
    logps = torch.stack(found, dim=1)
    probable = logps.exp()
    total = probable.sum() / len(questions)
    apart = (probable - data).abs().sum() / len(questions)
    means = {"sensible": total, "variation": (1 - total + apart) / 2}
    means["kl"] = ((data * data.log()).sum() - (data * logps).sum()) / len(questions)
    return {name: mean.item() for name, mean in means.items()}
