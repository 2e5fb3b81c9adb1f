"""Statistics of completions, losses, both stages of training, and what is measured. In double precision throughout."""

from contextlib import contextmanager

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    logits = 3 * torch.randn(2, 5, 9, 7, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 7, (5, 9), generator=generator)
    for row, (first, behind) in enumerate([(0, 9), (1, 4), (3, 9), (8, 9), (5, 7)]):
        labels[row, :first], labels[row, behind:] = -100, -100
    labels[0, 4] = -100
    yield {"name": "completions", "logits": logits, "labels": labels}
    versions = [{}, {"alpha": uniform(0.1, 2)}, {"alpha": uniform(0.1, 2), "if_tdpo2": False}]
    for number, options in enumerate(versions):
        statistics = 20 * torch.randn(4, 6, generator=generator, dtype=torch.float64)
        statistics[2:].abs_()
        options = options | {"beta": uniform(0.05, 1)}
        yield {"name": f"losses {number}", "statistics": statistics, "options": options}
    for number in range(2):
        yield {"name": f"statistics {number}", "stage": "statistics", "seed": seed % 1000 + number, "config": {}}
    for number in range(4):
        config = {"steps": 2 + 2 * number, "learning_rate": uniform(1e-3, 2e-2), "beta": uniform(0.05, 1)}
        config |= {"batch_size": 4 + number, "warmup_steps": [5, 1, 4, 3][number], "seed": seed % 100 + number}
        config |= {"alpha": uniform(0.1, 2), "if_tdpo2": number != 1}
        for stage in ("fine-tuning", "preferences"):
            yield {"name": f"{stage} {number}", "stage": stage, "seed": seed % 1000 + number, "config": config}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    with double_precision():
        if "logits" in case:
            return completions(case)
        if "statistics" in case:
            return losses(case)
        return stage(case)


def completions(case):
    from utils import completion_mask, sequential_kl, token_logps

    logits, reference, labels = case["logits"][0].clone().requires_grad_(), case["logits"][1], case["labels"]
    logps, divergences = token_logps(logits, labels), sequential_kl(logits, reference, labels)
    found = {"mask": completion_mask(labels), "logps": logps, "divergences": divergences}
    for name in ("logps", "divergences"):
        weights = torch.arange(1.0, found[name].numel() + 1).view_as(found[name])
        found[f"gradient of {name}"] = torch.autograd.grad((found[name] * weights).sum(), logits)[0]
    return found


def losses(case):
    from trainers import tdpo_loss

    inputs = [row.clone().requires_grad_() for row in case["statistics"]]
    found, chosen, rejected = tdpo_loss(*inputs, **case["options"])
    weighted = (found * torch.linspace(0.5, 1, len(found))).sum()
    gradients = torch.autograd.grad(weighted, inputs, materialize_grads=True)
    detached = [not reward.requires_grad for reward in (chosen, rejected)]
    return {"losses": found, "rewards": [chosen, rejected], "gradients": list(gradients), "detached": detached}


def stage(case):
    from data import PairBatch, make_pairs
    from model import ModelConfig, build_model
    from tokenizer import Tokenizer
    from trainers import TrainConfig, fine_tune, train_preferences

    tokenizer = Tokenizer()
    pairs = make_pairs(10, tokenizer, torch.Generator().manual_seed(case["seed"]))
    size = ModelConfig(len(tokenizer), width=8)
    model, other = build_model(size, case["seed"]), build_model(size, case["seed"] + 1)
    if case["stage"] == "statistics":
        turned = PairBatch(pairs.rejected, pairs.rejected_labels, pairs.chosen, pairs.chosen_labels)
        return statistics(model, other, pairs) | measured(model, other, [pairs, turned])
    before = [parameter.detach().clone() for parameter in model.parameters()]
    config, found = TrainConfig(**case["config"]), {}
    if case["stage"] == "fine-tuning":
        fine_tune(model, pairs, config)
    else:
        found["metrics"] = train_preferences(model, pairs, config)
    moved = [(now.detach() - then).flatten() for now, then in zip(model.parameters(), before, strict=True)]
    return found | {"moved": torch.cat(moved)[::3]}


def statistics(policy, reference, pairs):
    from utils import pair_statistics

    parameters, frozen = list(policy.parameters()), list(reference.parameters())
    found = pair_statistics(policy, reference, pairs)
    names = ("chosen_logps_margin", "rejected_logps_margin", "chosen_position_kl", "rejected_position_kl")
    values, gradients = [getattr(found, name) for name in names], []
    for value in values:
        weighted = (value * torch.linspace(0.5, 1, len(value))).sum()
        options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
        every = torch.autograd.grad(weighted, parameters + frozen, **options)
        gradients.append(torch.cat([gradient.flatten() for gradient in every])[::3])
    return {"values": values, "gradients": gradients}


def measured(policy, reference, batches):
    from evaluation import evaluate, token_entropy

    return {
        "metrics": [evaluate(policy, reference, pairs) for pairs in batches],
        "entropies": [token_entropy(model, batches[0]) for model in (policy, reference)],
    }
