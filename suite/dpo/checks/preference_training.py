"""Both stages of training: log-probabilities, losses, one stage and then the other. In double precision throughout."""

from contextlib import contextmanager

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    for average in (False, True):
        logits = 3 * torch.randn(5, 9, 7, generator=generator, dtype=torch.float64)
        labels = torch.randint(0, 7, (5, 9), generator=generator)
        for row, (first, behind) in enumerate([(0, 9), (1, 4), (3, 9), (8, 9), (5, 7)]):
            labels[row, :first], labels[row, behind:] = -100, -100
        yield {"name": f"completions, average {average}", "logits": logits, "labels": labels, "average": average}
    for ipo in (False, True):
        for free in (False, True):
            logps = -20 * torch.rand(4, 6, generator=generator, dtype=torch.float64)
            options = {"beta": uniform(0.05, 1), "label_smoothing": uniform(0.05, 0.4)}
            options |= {"ipo": ipo, "reference_free": free}
            yield {"name": f"losses, ipo {ipo}, reference free {free}", "logps": logps, "options": options}
    logps = -20 * torch.rand(4, 6, generator=generator, dtype=torch.float64)
    yield {"name": "losses, defaults", "logps": logps, "options": {"beta": uniform(0.05, 1)}}
    for stage in ("pairs", "fine-tuning", "preferences"):
        for number in range(1 if stage == "pairs" else 3):
            config = {"steps": 2 + 2 * number, "learning_rate": uniform(1e-3, 2e-2), "beta": uniform(0.05, 1)}
            config |= {"label_smoothing": uniform(0.05, 0.4) * (number == 1), "ipo": number == 2}
            config |= {"reference_free": number == 1}
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
        if "logps" in case:
            return losses(case)
        return stage(case)


def completions(case):
    from utils import completion_logps

    logits = case["logits"].clone().requires_grad_()
    found = completion_logps(logits, case["labels"], average=case["average"])
    [gradient] = torch.autograd.grad((found * torch.arange(1.0, len(found) + 1)).sum(), [logits])
    return {"logps": found, "gradient": gradient}


def losses(case):
    from trainers import preference_loss

    inputs = [row.clone().requires_grad_() for row in case["logps"]]
    found, chosen, rejected = preference_loss(*inputs, **case["options"])
    weighted = (found * torch.linspace(0.5, 1, len(found))).sum()
    gradients = torch.autograd.grad(weighted, inputs, materialize_grads=True)
    detached = [not reward.requires_grad for reward in (chosen, rejected)]
    return {"losses": found, "rewards": [chosen, rejected], "gradients": list(gradients), "detached": detached}


def stage(case):
    from data import make_pairs
    from model import ModelConfig, build_model
    from trainers import TrainConfig, fine_tune, pair_logps, train_preferences

    pairs = make_pairs(12, torch.Generator().manual_seed(case["seed"]))
    model = build_model(ModelConfig(), case["seed"])
    before = [parameter.detach().clone() for parameter in model.parameters()]
    config, found = TrainConfig(**case["config"]), {}
    if case["stage"] == "pairs":
        found["logps"] = list(pair_logps(model, pairs))
    elif case["stage"] == "fine-tuning":
        fine_tune(model, pairs, config)
    else:
        found["metrics"] = train_preferences(model, pairs, config)
    moved = [(now.detach() - then).flatten() for now, then in zip(model.parameters(), before, strict=True)]
    return found | {"moved": torch.cat(moved)[::7]}
