"""Self-play and its baseline as one would write them first: the paper's losses, and PyTorch's optimizers."""

import math


def response_logps(model, tokens, labels):
    logps = model(tokens)[:, :-1].log_softmax(-1)
    labels = labels[:, 1:]
    mask = labels != IGNORED
    return (logps.gather(2, labels.clamp(min=0)[..., None])[..., 0] * mask).sum(1)


def supervised_loss(model, examples):
    tokens, labels = collate(examples)
    return -response_logps(model, tokens, labels).mean()


def fine_tune(model, examples, config):
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for _ in range(config.steps):
        loss = supervised_loss(model, examples)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_epochs(model, items, batch_loss, learning_rate, args, generator):
    steps = args.epochs * math.ceil(len(items) / args.batch_size)
    warmup = max(1, round(args.warmup * steps))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=learning_rate)
    step = 0
    for _ in range(args.epochs):
        for batch in minibatches(items, args.batch_size, generator):
            step += 1
            optimizer.param_groups[0]["lr"] = learning_rate * min(1, step / warmup)
            loss, metrics = batch_loss(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return metrics


class SPINTrainer:
    def start_iteration(self, iteration):
        self.opponent = copy.deepcopy(self.model)
        self.opponent.requires_grad_(False)
        self.beta = self.args.betas[iteration]
        self.learning_rate = self.args.learning_rates[iteration]

    def spin_loss(
        self,
        policy_real_logps,
        policy_generated_logps,
        opponent_real_logps,
        opponent_generated_logps,
        reference_free=False,
    ):
        real_rewards = self.beta * (policy_real_logps - opponent_real_logps)
        generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps)
        if reference_free:
            margin = self.beta * (policy_real_logps - policy_generated_logps)
        else:
            margin = real_rewards - generated_rewards
        if self.loss_type == "sigmoid":
            losses = -F.logsigmoid(margin)
        elif self.loss_type == "hinge":
            losses = torch.relu(1 - margin)
        else:
            raise ValueError(f"Unknown loss type: {self.loss_type}")
        return losses, real_rewards.detach(), generated_rewards.detach()

    def concatenated_forward(self, model, batch):
        tokens = torch.cat([batch.real, batch.generated])
        labels = torch.cat([batch.real_labels, batch.generated_labels])
        logps = response_logps(model, tokens, labels)
        count = len(batch.real)
        return logps[:count], logps[count:]

    def batch_metrics(self, pairs):
        batch = collate_pairs(pairs)
        policy_real, policy_generated = self.concatenated_forward(self.model, batch)
        with torch.no_grad():
            opponent_real, opponent_generated = self.concatenated_forward(self.opponent, batch)
        losses, real_rewards, generated_rewards = self.spin_loss(
            policy_real, policy_generated, opponent_real, opponent_generated, self.args.reference_free
        )
        metrics = {
            "loss": losses.mean().item(),
            "real_reward": real_rewards.mean().item(),
            "generated_reward": generated_rewards.mean().item(),
        }
        return losses.mean(), metrics

    def train(self, pairs, generator):
        return train_epochs(self.model, pairs, self.batch_metrics, self.learning_rate, self.args, generator)


@torch.no_grad()
def generate(model, prompts, generator, longest=4):
    tokens = torch.tensor(prompts)
    for _ in range(longest - 1):
        probabilities = model(tokens)[:, -1].softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    responses = []
    for row in tokens[:, len(prompts[0]) :].tolist():
        row = [*row, END]
        responses.append(row[: row.index(END) + 1])
    return responses


def self_play(model, examples, args, generator):
    trainer = SPINTrainer(model, args)
    prompts = [example.prompt for example in examples]
    history, previous = [], []
    for iteration in range(args.iterations):
        trainer.start_iteration(iteration)
        responses = generate(model, prompts, generator)
        pairs = [Pair(example.prompt, example.response, response) for example, response in zip(examples, responses)]
        metrics = trainer.train(previous + pairs, generator)
        history.append({**metrics, **distances(model)})
        previous = pairs
    return history


def continued_fine_tuning(model, examples, args, generator):
    def batch_loss(batch):
        loss = supervised_loss(model, batch)
        return loss, {"loss": loss.item()}

    history = []
    for iteration, learning_rate in enumerate(args.learning_rates):
        items = examples if iteration == 0 else examples + examples
        metrics = train_epochs(model, items, batch_loss, learning_rate, args, generator)
        history.append({**metrics, **distances(model)})
    return history


@torch.no_grad()
def distances(model):
    data = data_distribution()
    examples = [Example(prompt, response) for prompt in all_prompts() for response in all_responses()]
    logps = response_logps(model, *collate(examples)).reshape(data.shape)
    probabilities = logps.exp()
    sensible = probabilities.sum(1)
    variation = ((probabilities - data).abs().sum(1) + 1 - sensible) / 2
    return {
        "kl": (data * (data.log() - logps)).sum(1).mean().item(),
        "variation": variation.mean().item(),
        "sensible": sensible.mean().item(),
    }
