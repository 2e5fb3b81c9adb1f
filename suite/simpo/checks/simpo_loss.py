"""simpo_loss: losses, rewards, and which gradients flow, for every setting of the trainer; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def logps(batch, scale=2.5):
        """Averages over tokens, (2, batch): on both sides of the margin, and the first pair a tie."""
        pairs = -0.2 - scale * torch.rand(2, batch, generator=generator, dtype=torch.float64)
        pairs[1, :1] = pairs[0, :1]
        return pairs

    def settings(loss_type, smoothed, margin):
        return {
            "beta": uniform(0.3, 4),
            "gamma_beta_ratio": uniform(0.1, 1.6) * margin,
            "loss_type": loss_type,
            "label_smoothing": uniform(0.05, 0.45) * smoothed,
        }

    every = list(product(("sigmoid", "hinge"), (False, True), (False, True)))
    for loss_type, smoothed, margin in every:
        name = f"{loss_type}{', smoothed' * smoothed}{', with a margin' * margin}"
        for dtype, scale in ((torch.float64, 2.5), (torch.float32, 2.5), (torch.float64, 60.0)):
            kind = "sums" if scale > 50 else str(dtype).removeprefix("torch.")
            given = logps(integer(5, 40), scale).to(dtype)
            yield {"name": f"{name}, {kind}", "logps": given, "settings": settings(loss_type, smoothed, margin)}
    for loss_type in ("sigmoid", "hinge"):
        ones = settings(loss_type, False, True) | {"beta": 1.0, "gamma_beta_ratio": 1.0}
        yield {"name": f"{loss_type}, one pair", "logps": logps(1) - 0.1, "settings": ones}
        unused = settings(loss_type, True, True) | {"sft_weight": 0.3, "length_normalized": False}
        yield {"name": f"{loss_type}, other settings", "logps": logps(6), "settings": unused}
    yield {"name": "the default settings", "logps": logps(7), "settings": {}}
    yield {"name": "unknown loss type", "logps": logps(3), "settings": settings("ipo", False, True)}
    yield {"name": "experiment", "seed": seed % 1000}

    for number, (loss_type, smoothed, margin) in enumerate(every):
        name = f"{loss_type}{', smoothed' * smoothed}{', with a margin' * margin}"
        found = settings(loss_type, smoothed, margin)
        far = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64) * -uniform(3000, 4000)
        yield {"name": f"{name}, far apart", "logps": torch.cat([logps(4), far], 1), "settings": found, "edge": True}
        # Sums of these and products with eighths are exact; odd numerators keep off the corner of the hinge.
        exact = {"beta": (2 * integer(1, 3) + 1) / 8, "gamma_beta_ratio": integer(1, 8) / 4 * margin}
        exact |= {"loss_type": loss_type, "label_smoothing": integer(1, 3) / 8 * smoothed}
        half = -torch.randint(0, 9, (2, 8), generator=generator).to((torch.float16, torch.bfloat16)[number % 2])
        yield {"name": f"{name}, {half.dtype}", "logps": half, "settings": exact, "edge": True}
        yield {"name": f"{name}, changed later", "logps": logps(5), "settings": found, "changed": True, "edge": True}
    for loss_type in ("sigmoid", "hinge"):
        found = settings(loss_type, True, True)
        yield {"name": f"{loss_type}, no pairs", "logps": logps(0), "settings": found, "edge": True}
        yield {"name": f"{loss_type}, frozen", "logps": logps(4), "settings": found, "frozen": [0, 1], "edge": True}
    for loss_type in ("Sigmoid", " hinge", ""):
        found = settings(loss_type, loss_type == "", True)
        yield {"name": f"loss type {loss_type!r}", "logps": logps(integer(0, 3)), "settings": found, "edge": True}


PRECISIONS = {torch.float64: "double", torch.float32: "single"}


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    given, frozen = case["logps"], case.get("frozen", ())
    trainer = trainer_of(case)
    inputs = [row.clone().requires_grad_(index not in frozen) for index, row in enumerate(given)]
    try:
        results = trainer.simpo_loss(*inputs)
    except ValueError as error:
        return {"names_the_loss_type": trainer.loss_type in str(error)}
    losses, *rewards = results
    observation = {
        "inputs_unchanged": all(torch.equal(row, before) for row, before in zip(inputs, given, strict=True)),
        "rewards_have_gradients": [reward.requires_grad for reward in rewards],
    }
    numbers = {"losses": losses, "rewards": rewards}
    if not frozen and len(given[0]):
        # Weights tell a loss a pair from a mean.
        total = (losses * torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, inputs, materialize_grads=True))
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}


def trainer_of(case):
    """A trainer of the case's settings; with `changed`, one that was made and called with others before."""
    from scripts.simpo_config import SimPOConfig
    from scripts.simpo_trainer import SimPOTrainer

    settings = case["settings"]
    if not case.get("changed"):
        return SimPOTrainer(None, SimPOConfig(**settings))
    other = {"sigmoid": "hinge", "hinge": "sigmoid"}[settings["loss_type"]]
    trainer = SimPOTrainer(None, SimPOConfig(beta=1.5, gamma_beta_ratio=0.9, loss_type=other, label_smoothing=0.3))
    trainer.simpo_loss(*(case["logps"].flip(1) - 1))
    for name, value in settings.items():
        setattr(trainer, name, value)
    return trainer
