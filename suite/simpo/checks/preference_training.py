"""Both stages of training and the evaluation, one function after the other. In double precision throughout."""

from contextlib import contextmanager

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def settings(number):
        """Those of a trainer: plain, smoothed and summed, hinge with the likelihood."""
        found = {"beta": uniform(0.5, 3), "gamma_beta_ratio": uniform(0.2, 1)}
        found |= {"loss_type": "hinge" if number == 2 else "sigmoid", "length_normalized": number != 1}
        found |= {"label_smoothing": uniform(0.05, 0.4) * (number > 0), "sft_weight": uniform(0.2, 2) * (number > 0)}
        return found | {"steps": 3 + number, "warmup": (0.1, 0.45, 0.0)[number], "learning_rate": uniform(1e-3, 1e-2)}

    for options in ({}, {"average_log_prob": True}, {"average_log_prob": False}):
        logits = 3 * torch.randn(5, 9, 7, generator=generator, dtype=torch.float64)
        labels = torch.randint(0, 7, (5, 9), generator=generator)
        for row, (first, behind) in enumerate([(0, 9), (1, 4), (3, 9), (8, 9), (5, 7)]):
            labels[row, :first], labels[row, behind:] = -100, -100
        yield {"name": f"log-probabilities, {options}", "logits": logits, "labels": labels, "options": options}
    for kind in ("sigmoid", "hinge", "logistic"):
        for smoothed in (False, True):
            logps = -5 * torch.rand(2, 8, generator=generator, dtype=torch.float64)
            found = {"beta": uniform(0.3, 3), "gamma_beta_ratio": uniform(0.1, 1.5), "loss_type": kind}
            found |= {"label_smoothing": uniform(0.05, 0.4) * smoothed}
            yield {"name": f"losses, {kind}, smoothed {smoothed}", "logps": logps, "settings": found}
    for steps, warmup in ((12, 0.1), (7, 0.0), (10, 0.3), (9, uniform(0.4, 0.7))):
        found = {"steps": steps, "warmup": warmup}
        yield {"name": f"factors, {steps} steps, warm-up {warmup:.3f}", "factors": steps, "settings": found}
    for stage in ("pass", "batch", "training"):
        for number in range(3):
            name = f"{stage} {number}"
            yield {"name": name, "stage": stage, "seed": seed % 1000 + number, "settings": settings(number)}
    for options in ({"steps": 1}, {"steps": 3, "learning_rate": uniform(1e-3, 2e-2)}):
        yield {"name": f"fine-tuning, {len(options)}", "stage": "fine-tuning", "seed": seed % 1000, "options": options}
    yield {"name": "evaluation", "stage": "evaluation", "seed": seed % 1000}


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
            return log_probabilities(case)
        if "logps" in case:
            return losses(case)
        if "factors" in case:
            found = trainer(None, case)
            return {"factors": [found._learning_rate_factor(step) for step in range(case["factors"] + 1)]}
        return stage(case)


def trainer(model, case):
    from scripts.simpo_config import SimPOConfig
    from scripts.simpo_trainer import SimPOTrainer

    return SimPOTrainer(model, SimPOConfig(**case["settings"]))


def log_probabilities(case):
    from scripts.simpo_trainer import SimPOTrainer

    logits = case["logits"].clone().requires_grad_()
    found = SimPOTrainer.get_batch_logps(logits, case["labels"], **case["options"])
    [gradient] = torch.autograd.grad((found * torch.arange(1.0, len(found) + 1)).sum(), [logits])
    return {"logps": found, "gradient": gradient}


def losses(case):
    inputs = [row.clone().requires_grad_() for row in case["logps"]]
    try:
        found, chosen, rejected = trainer(None, case).simpo_loss(*inputs)
    except ValueError as error:
        return {"names the type": case["settings"]["loss_type"] in str(error)}
    gradients = torch.autograd.grad((found * torch.linspace(0.5, 1, len(found))).sum(), inputs)
    detached = [not reward.requires_grad for reward in (chosen, rejected)]
    return {"losses": found, "rewards": [chosen, rejected], "gradients": list(gradients), "detached": detached}


def stage(case):
    from data import make_pairs
    from evaluation import evaluate
    from model import ModelConfig, build_model
    from sft import fine_tune
    from tokenizer import Tokenizer

    tokenizer = Tokenizer()
    pairs = make_pairs(24, tokenizer, torch.Generator().manual_seed(case["seed"]))
    model = build_model(ModelConfig(vocabulary=len(tokenizer)), case["seed"])
    if case["stage"] == "evaluation":
        return {"metrics": evaluate(model, pairs)}
    before, found = [parameter.detach().clone() for parameter in model.parameters()], {}
    if case["stage"] == "fine-tuning":
        fine_tune(model, pairs.chosen, pairs.chosen_labels, **case["options"])
    elif case["stage"] == "training":
        found["metrics"] = trainer(model, case).train(pairs)
    elif case["stage"] == "batch":
        loss, found["metrics"] = trainer(model, case).get_batch_loss_metrics(pairs)
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        found |= {"loss": loss, "gradients": torch.cat([item.flatten() for item in gradients])[::7]}
    else:
        found["logps"] = list(trainer(model, case).concatenated_forward(pairs))
    moved = [(now.detach() - then).flatten() for now, then in zip(model.parameters(), before, strict=True)]
    return found | {"moved": torch.cat(moved)[::7]}
