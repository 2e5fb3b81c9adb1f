"""Each kind of completion in a batch of its own, expectations as differences, and both optimizers written out."""


def completion_mask(labels):
    return labels[:, 1:].ne(IGNORED)


def token_logps(logits, labels):
    scores, following = logits[:, :-1], labels[:, 1:]
    kept = following != IGNORED
    chosen = torch.take_along_dim(scores, torch.where(kept, following, 0)[..., None], 2)[..., 0]
    return torch.where(kept, chosen - scores.logsumexp(2), 0.0)


def sequential_kl(logits, reference_logits, labels):
    weights, gaps = reference_logits.softmax(-1), reference_logits - logits
    each = (weights * gaps).sum(-1) - reference_logits.logsumexp(-1) + logits.logsumexp(-1)
    return each[:, :-1].masked_fill(~completion_mask(labels), 0.0).sum(1)


def pair_statistics(policy, reference, pairs):
    margins, divergences = [], []
    for tokens, labels in ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels)):
        logits, reference_logits = policy(tokens), reference(tokens).detach()
        margins.append(token_logps(logits, labels).sum(1) - token_logps(reference_logits, labels).sum(1))
        divergences.append(sequential_kl(logits, reference_logits, labels))
    return PairStatistics(*margins, *divergences)


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    baseline = chosen_position_kl.detach() if if_tdpo2 else chosen_position_kl
    strength = alpha if if_tdpo2 else 1.0
    logits = beta * (chosen_logps_margin + strength * baseline)
    logits = logits - beta * (rejected_logps_margin + strength * rejected_position_kl)
    with torch.no_grad():
        chosen = beta * chosen_logps_margin + beta * chosen_position_kl
        rejected = beta * rejected_logps_margin + beta * rejected_position_kl
    return F.softplus(-logits), chosen, rejected


def fine_tune(model, pairs, config):
    parameters = list(model.parameters())
    first, second = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    batches = minibatches(pairs, config.batch_size, config.steps, Generator().manual_seed(config.seed))
    for step, batch in enumerate(batches, start=1):
        sides = ((batch.chosen, batch.chosen_labels), (batch.rejected, batch.rejected_labels))
        total = sum(token_logps(model(tokens), labels).sum() for tokens, labels in sides)
        count = sum(completion_mask(labels).sum() for _, labels in sides)
        gradients = torch.autograd.grad(-total / count, parameters)
        with torch.no_grad():
            for item, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean += (gradient - mean) * (1 - 0.9)
                square += (gradient**2 - square) * (1 - 0.999)
                scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
                item -= config.learning_rate / (1 - 0.9**step) * mean / scale


def train_preferences(policy, pairs, config):
    reference, parameters = copy.deepcopy(policy), list(policy.parameters())
    squares = [torch.zeros_like(item) for item in parameters]
    batches = minibatches(pairs, config.batch_size, config.steps, Generator().manual_seed(config.seed))
    for step, batch in enumerate(batches, start=1):
        found = pair_statistics(policy, reference, batch)
        losses, chosen, rejected = tdpo_loss(
            found.chosen_logps_margin,
            found.rejected_logps_margin,
            found.chosen_position_kl,
            found.rejected_position_kl,
            config.beta,
            config.alpha,
            config.if_tdpo2,
        )
        gradients = torch.autograd.grad(losses.sum() / len(losses), parameters)
        rate = config.learning_rate * min(step, config.warmup_steps) / config.warmup_steps
        with torch.no_grad():
            for item, gradient, square in zip(parameters, gradients, squares, strict=True):
                square += 0.01 * (gradient.square() - square)
                item -= rate * gradient / (square.sqrt() + 1e-4)
    means = [item.detach().sum().item() / len(item) for item in (losses, chosen, rejected)]
    return {"loss": means[0], "chosen_reward": means[1], "reward_margin": means[1] - means[2]}


def evaluate(policy, reference, pairs):
    found = pair_statistics(policy, reference, pairs)
    count = len(pairs)
    chosen, rejected = found.chosen_position_kl.sum().item(), found.rejected_position_kl.sum().item()
    won, lost = found.chosen_logps_margin.sum().item(), found.rejected_logps_margin.sum().item()
    return {
        "chosen_kl": chosen / count,
        "rejected_kl": rejected / count,
        "kl_gap": abs(rejected - chosen) / count,
        "preference_gain": (won - lost) / count,
        "entropy": token_entropy(policy, pairs),
    }


def token_entropy(model, pairs):
    total, count = 0.0, 0
    for tokens, labels in ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels)):
        kept = completion_mask(labels)
        probabilities = model(tokens)[:, :-1][kept].detach().softmax(-1)
        total -= torch.xlogy(probabilities, probabilities).sum().item()
        count += int(kept.sum())
    return total / count
