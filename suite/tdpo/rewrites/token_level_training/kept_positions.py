"""Positions outside of completions are dropped first, and what is left is added up by row."""


def completion_mask(labels):
    return ~torch.eq(labels, IGNORED).narrow(1, 1, labels.shape[1] - 1)


def _by_row(values, rows, count):
    return torch.zeros(count, dtype=values.dtype).index_add(0, rows, values)


def token_logps(logits, labels):
    rows, places = completion_mask(labels).nonzero(as_tuple=True)
    found = -F.cross_entropy(logits[rows, places], labels[rows, places + 1], reduction="none")
    return torch.zeros(len(labels), labels.shape[1] - 1, dtype=logits.dtype).index_put((rows, places), found)


def sequential_kl(logits, reference_logits, labels):
    rows, places = completion_mask(labels).nonzero(as_tuple=True)
    ours, theirs = logits[rows, places], reference_logits[rows, places]
    weights = theirs.softmax(-1)
    crossed = F.cross_entropy(ours, weights, reduction="none")
    own = F.cross_entropy(theirs, weights, reduction="none")
    return _by_row(crossed - own, rows, len(labels))


def pair_statistics(policy, reference, pairs):
    tokens = torch.cat([pairs.rejected, pairs.chosen])
    labels = torch.cat([pairs.rejected_labels, pairs.chosen_labels])
    ours = policy(tokens)
    with torch.inference_mode():
        theirs = reference(tokens)
    theirs = theirs.clone()
    rejected, chosen = (token_logps(ours, labels).sum(1) - token_logps(theirs, labels).sum(1)).split(len(pairs))
    rejected_kl, chosen_kl = sequential_kl(ours, theirs, labels).split(len(pairs))
    return PairStatistics(chosen, rejected, chosen_kl, rejected_kl)


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    margins = torch.stack([chosen_logps_margin, rejected_logps_margin])
    divergences = torch.stack([chosen_position_kl, rejected_position_kl])
    rewards = beta * (margins + divergences).detach()
    if if_tdpo2:
        divergences = alpha * torch.stack([chosen_position_kl.detach(), rejected_position_kl])
    losses = -(beta * (margins + divergences)).log_softmax(0)[0]
    return losses, rewards[0], rewards[1]


def fine_tune(model, pairs, config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0, foreach=False)
    generator = torch.Generator()
    generator.manual_seed(config.seed)
    for batch in minibatches(pairs, config.batch_size, config.steps, generator):
        labels = torch.cat([batch.chosen_labels, batch.rejected_labels])
        kept = completion_mask(labels)
        loss = -token_logps(model(torch.cat([batch.chosen, batch.rejected])), labels)[kept].mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()


def train_preferences(policy, pairs, config):
    reference = copy.deepcopy(policy)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=0.0, eps=1e-4, foreach=False)
    generator = torch.Generator()
    generator.manual_seed(config.seed)
    history = []
    batches = minibatches(pairs, config.batch_size, config.steps, generator)
    for step, batch in enumerate(batches, start=1):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1.0, step / config.warmup_steps)
        found = tdpo_loss(
            **vars(pair_statistics(policy, reference, batch)),
            beta=config.beta,
            alpha=config.alpha,
            if_tdpo2=config.if_tdpo2,
        )
        policy.zero_grad()
        found[0].mean().backward()
        history.append([item.detach().mean().item() for item in found])
        optimizer.step()
    loss, chosen, rejected = history[-1]
    return {"loss": loss, "chosen_reward": chosen, "reward_margin": chosen - rejected}


def evaluate(policy, reference, pairs):
    with torch.no_grad():
        found = vars(pair_statistics(policy, reference, pairs))
    means = {name: values.mean().item() for name, values in found.items()}
    return {
        "chosen_kl": means["chosen_position_kl"],
        "rejected_kl": means["rejected_position_kl"],
        "kl_gap": abs(means["rejected_position_kl"] - means["chosen_position_kl"]),
        "preference_gain": means["chosen_logps_margin"] - means["rejected_logps_margin"],
        "entropy": token_entropy(policy, pairs),
    }


def token_entropy(model, pairs):
    kept = completion_mask(torch.cat([pairs.chosen_labels, pairs.rejected_labels]))
    with torch.no_grad():
        logits = model(torch.cat([pairs.chosen, pairs.rejected]))[:, :-1][kept]
    return torch.distributions.Categorical(logits=logits).entropy().mean().item()
