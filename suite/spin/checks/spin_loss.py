"""spin_loss: losses, rewards, and which gradients flow, for each loss function and setting; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def logps(batch, most=80):
        """Sums over tokens, (4, batch): in quarters, and the first pair as the opponent has it."""
        rows = -torch.randint(0, most, (4, batch), generator=generator).double() / 4
        rows[2:, :1] = rows[:2, :1]
        return rows

    def case(name, rows, beta, loss_type, free=False, **more):
        """One of three iterations, whose betas differ."""
        found = {"beta": beta, "iteration": integer(0, 2), "loss_type": loss_type, "reference_free": free}
        return {"name": name, "logps": rows, **found, **more}

    every = [
        (f"{loss_type}{', reference free' * free}", loss_type, free)
        for loss_type, free in product(("sigmoid", "hinge"), (False, True))
    ]
    for name, loss_type, free in every:
        # Margins on both sides of the corner of the hinge, and most of them well away from it.
        for kind, low, high in (("small beta", 0.02, 0.1), ("beta", 0.2, 2)):
            rows = logps(integer(12, 30), 40) + 0.2 * torch.rand(4, 1, generator=generator, dtype=torch.float64)
            yield case(f"{name}, {kind}", rows, uniform(low, high), loss_type, free)
        # Products of quarters and eighths are exact in single precision; odd numerators keep off the corner.
        beta = (2 * integer(1, 8) + 1) / 8
        yield case(f"{name}, float32", logps(integer(5, 30)).float(), beta, loss_type, free)
    for loss_type in ("sigmoid", "hinge"):
        yield case(f"{loss_type}, one pair", logps(1, 40) - 0.5, 1.0, loss_type)
        yield case(f"{loss_type}, second batch", logps(4), uniform(0.1, 1), loss_type, before=True)
    yield case("unknown loss function", logps(3), 0.3, "ipo")
    yield {"name": "experiment", "seed": seed % 1000}

    for number, (name, loss_type, free) in enumerate(every):
        far = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]], dtype=torch.float64) * -uniform(6000, 9000)
        rows = torch.cat([logps(4) - 0.1, far], dim=1)
        yield case(f"{name}, far apart", rows, uniform(0.1, 2), loss_type, free, edge=True)
        half = -torch.randint(0, 9, (4, 8), generator=generator).to((torch.float16, torch.bfloat16)[number % 2])
        yield case(f"{name}, {half.dtype}", half, (2 * integer(1, 3) + 1) / 8, loss_type, free, edge=True)
        beta = uniform(0.1, 1)
        yield case(f"{name}, changed later", logps(5) - 0.1, beta, loss_type, free, changed=True, edge=True)
        yield case(f"{name}, no gradients", logps(4) - 0.1, beta, loss_type, free, frozen=True, edge=True)
    for loss_type in ("sigmoid", "hinge"):
        yield case(f"{loss_type}, no pairs", logps(0), uniform(0.1, 1), loss_type, edge=True)
    for loss_type in ("Sigmoid", " hinge", "logistic"):
        free, changed = loss_type == "logistic", loss_type != "Sigmoid"
        name = f"loss type {loss_type!r}"
        yield case(name, logps(integer(1, 3)), 0.3, loss_type, free, changed=changed, edge=True)
    yield case("unknown loss function, no pairs", logps(0), 0.3, "ipo", edge=True)


PRECISIONS = {torch.float64: "double", torch.float32: "single"}


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    given, trainer = case["logps"], trainer_of(case)
    inputs = [row.clone().requires_grad_(index < 2 and "frozen" not in case) for index, row in enumerate(given)]
    if "before" in case:
        trainer.spin_loss(*(given.flip(1) - 1), reference_free=True)
    try:
        losses, *rewards = trainer.spin_loss(*inputs, reference_free=case["reference_free"])
    except ValueError:
        return {"raised": True}
    observation = {
        "inputs_unchanged": all(torch.equal(row, before) for row, before in zip(inputs, given, strict=True)),
        "rewards_have_gradients": [reward.requires_grad for reward in rewards],
    }
    numbers = {"losses": losses, "rewards": rewards}
    if inputs[0].requires_grad and len(losses):
        # Weights tell a loss a pair from a mean.
        total = (losses * torch.linspace(0.5, 1, len(losses), dtype=losses.dtype)).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, inputs[:2], materialize_grads=True))
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}


def trainer_of(case):
    """A trainer in the case's iteration; with `changed`, one that was called with other settings before."""
    from spin.alignment.configs import SPINConfig
    from spin.alignment.trainer import SPINTrainer

    betas = [1.6 * case["beta"] + 0.2, 0.4 * case["beta"], 2.5 * case["beta"] + 0.1]
    if not case.get("changed"):
        betas[case["iteration"]] = case["beta"]
    other = {"hinge": "sigmoid"}.get(case["loss_type"], "hinge")
    loss_type = other if case.get("changed") else case["loss_type"]
    # The argument decides, not the setting of the same name.
    free = not case["reference_free"]
    config = SPINConfig(betas=tuple(betas), learning_rates=(1e-3,) * 3, loss_type=loss_type, reference_free=free)
    # The loss needs no model, and one without weights is copied fast when an iteration starts.
    trainer = SPINTrainer(torch.nn.Identity(), config)
    if case.get("changed"):
        trainer.spin_loss(*(case["logps"].flip(1) - 1))
    trainer.start_iteration(case["iteration"])
    if case.get("changed"):
        trainer.beta, trainer.loss_type = case["beta"], case["loss_type"]
    return trainer
