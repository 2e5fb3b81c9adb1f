"""preference_loss: losses, rewards, and which gradients flow, for every variant; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def logps(batch):
        """Sums over the tokens of completions, (4, batch): in quarters, and the first pair as the reference has it."""
        rows = -torch.randint(0, 160, (4, batch), generator=generator).double() / 4
        rows[2:, :1] = rows[:2, :1]
        return rows

    variants = []
    for ipo, free, smoothed in product((False, True), repeat=3):
        name = ("ipo" if ipo else "dpo") + ", reference free" * free + ", smoothed" * smoothed
        variants.append((name, {"ipo": ipo, "reference_free": free}, smoothed))

    for name, variant, smoothed in variants:
        rows = logps(integer(12, 30)) + 0.25 * torch.rand(4, 1, generator=generator, dtype=torch.float64)
        options = variant | {"beta": uniform(0.02, 0.09), "label_smoothing": uniform(0.31, 0.45) * smoothed}
        yield {"name": f"{name}, float64", "logps": rows, "options": options}
        # Products of quarters and eighths are exact in single precision, in whatever order they are taken.
        options = variant | {"beta": (2 * integer(4, 8) + 1) / 8, "label_smoothing": integer(1, 3) / 8 * smoothed}
        yield {"name": f"{name}, float32", "logps": logps(integer(5, 30)).float(), "options": options}
    for ipo in (False, True):
        yield {"name": f"ipo {ipo}, one pair", "logps": logps(1) - 0.5, "options": {"beta": 1.0, "ipo": ipo}}
        options = {"beta": uniform(0.1, 1), "label_smoothing": 0.2, "ipo": ipo}
        yield {"name": f"ipo {ipo}, second batch", "logps": logps(4), "options": options, "before": True}
    yield {"name": "the default variant", "logps": logps(7), "options": {"beta": uniform(0.1, 1)}}
    yield {"name": "experiment", "seed": seed % 1000}

    for number, (name, variant, smoothed) in enumerate(variants):
        options = variant | {"beta": uniform(0.1, 2), "label_smoothing": uniform(0.05, 0.45) * smoothed}
        far = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]], dtype=torch.float64) * -uniform(6000, 9000)
        yield {"name": f"{name}, far apart", "logps": torch.cat([logps(4), far], 1), "options": options, "edge": True}
        yield {"name": f"{name}, trained reference", "logps": logps(5), "options": options, "frozen": [], "edge": True}
        options = variant | {"beta": 2.0 ** integer(-2, 0), "label_smoothing": integer(1, 3) / 8 * smoothed}
        half = -torch.randint(0, 33, (4, 6), generator=generator).to((torch.float16, torch.bfloat16)[number % 2])
        yield {"name": f"{name}, {half.dtype}", "logps": half, "options": options, "edge": True}
    for ipo in (False, True):
        options = {"beta": uniform(0.1, 1), "ipo": ipo}
        yield {"name": f"ipo {ipo}, no pairs", "logps": logps(0), "options": options, "edge": True}
        frozen = {"logps": logps(4), "options": options, "frozen": [0, 1, 2, 3]}
        yield {"name": f"ipo {ipo}, no gradients", **frozen, "edge": True}


PRECISIONS = {torch.float64: "double", torch.float32: "single"}


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from trainers import preference_loss

    given, frozen = case["logps"], case.get("frozen", [2, 3])
    inputs = [row.clone().requires_grad_(index not in frozen) for index, row in enumerate(given)]
    if "before" in case:
        preference_loss(*(given.flip(1) - 1), beta=0.7, ipo=not case["options"]["ipo"], reference_free=True)
    losses, *rewards = preference_loss(*inputs, **case["options"])
    observation = {
        "inputs_unchanged": all(torch.equal(row, before) for row, before in zip(inputs, given, strict=True)),
        "rewards_have_gradients": [reward.requires_grad for reward in rewards],
    }
    numbers = {"losses": losses, "rewards": rewards}
    wanted = [row for row in inputs if row.requires_grad and len(row)]
    if wanted:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        total = (losses * torch.linspace(0.5, 1, len(losses), dtype=losses.dtype)).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, wanted, materialize_grads=True))
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}
