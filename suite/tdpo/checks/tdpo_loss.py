"""tdpo_loss: losses, rewards, and which gradients flow to which statistic, in both versions; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def statistics(batch):
        """Margins of both signs, then divergences, in halves; the first pair is at the reference."""
        margins = torch.randint(-24, 25, (2, batch), generator=generator)
        rows = torch.cat([margins, torch.randint(1, 15, (2, batch), generator=generator)]).double() / 2
        rows[:, :1] = 0
        return rows

    alphas = {"alpha zero": 0.0, "small alpha": uniform(0.1, 0.4), "alpha one": 1.0, "large alpha": uniform(1.2, 2)}
    for second, (name, alpha) in product((True, False), alphas.items()):
        name, options = f"version {second + 1}, {name}", {"alpha": alpha, "if_tdpo2": second}
        for size, low, high in (("small", 0.02, 0.1), ("large", 0.5, 2)):
            rows = statistics(integer(8, 30)) + 0.4 * torch.rand(4, 1, generator=generator, dtype=torch.float64)
            yield {
                "name": f"{name}, {size} beta",
                "statistics": rows,
                "options": options | {"beta": uniform(low, high)},
            }
        # Products of halves, quarters and eighths are exact in single precision, in whatever order they are taken.
        options = options | {"beta": integer(1, 16) / 8, "alpha": round(4 * alpha) / 4}
        rows = statistics(integer(5, 30)).float()
        yield {"name": f"{name}, float32", "statistics": rows, "options": options}
    for second in (True, False):
        name, options = f"version {second + 1}", {"if_tdpo2": second}
        beta = uniform(0.5, 2)
        # At these losses exp(-loss) is small, but rounding still keeps it.
        rows = torch.zeros(4, 6, dtype=torch.float64)
        rows[0] = torch.linspace(-18, -12, 6, dtype=torch.float64) / beta + uniform(-0.1, 0.1)
        yield {"name": f"{name}, misjudged pairs", "statistics": rows, "options": options | {"beta": beta}}
        yield {
            "name": f"{name}, one pair",
            "statistics": statistics(2)[:, 1:] + 0.5,
            "options": options | {"beta": 1.0},
        }
        options = options | {"beta": uniform(0.1, 1)}
        yield {"name": f"{name}, second batch", "statistics": statistics(4), "options": options, "before": True}
    yield {"name": "the defaults", "statistics": statistics(7), "options": {"beta": uniform(0.1, 1)}}
    yield {"name": "experiment", "seed": seed % 1000}

    for number, (second, alpha) in enumerate(product((True, False), (0.25, 1.5))):
        name = f"version {second + 1}, alpha {alpha}"
        options = {"alpha": alpha, "if_tdpo2": second}
        far = torch.tensor([[1, -1], [-1, 1], [1, 0], [0, 1]], dtype=torch.float64) * uniform(6000, 9000)
        found = {"statistics": torch.cat([statistics(4), far], dim=1), "options": options | {"beta": uniform(0.1, 2)}}
        yield {"name": f"{name}, far apart", **found, "edge": True}
        rows = statistics(6)
        rows[2:] = -1e-3 * torch.rand(2, 6, generator=generator, dtype=torch.float64)
        found = {"statistics": rows, "options": options | {"beta": uniform(0.5, 2)}}
        yield {"name": f"{name}, divergences below zero", **found, "edge": True}
        half = torch.randint(0, 9, (4, 8), generator=generator)
        half[:2] *= 2 * torch.randint(0, 2, (2, 8), generator=generator) - 1
        half = half.to((torch.float16, torch.bfloat16)[number % 2])
        found = {"statistics": half, "options": options | {"beta": integer(1, 4) / 4}}
        yield {"name": f"{name}, {half.dtype}", **found, "edge": True}
    for second in (True, False):
        options = {"beta": uniform(0.1, 1), "if_tdpo2": second}
        name = f"version {second + 1}"
        yield {"name": f"{name}, no pairs", "statistics": statistics(0), "options": options, "edge": True}
        found = {"statistics": statistics(4), "options": options, "frozen": True}
        yield {"name": f"{name}, no gradients", **found, "edge": True}


PRECISIONS = {torch.float64: "double", torch.float32: "single"}


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from trainers import tdpo_loss

    given, options = case["statistics"], case["options"]
    inputs = [row.clone().requires_grad_("frozen" not in case) for row in given]
    if "before" in case:
        tdpo_loss(*(given.flip(1) - 1), beta=0.7, alpha=1.3, if_tdpo2=not options["if_tdpo2"])
    losses, *rewards = tdpo_loss(*inputs, **options)
    observation = {
        "inputs_unchanged": all(torch.equal(row, before) for row, before in zip(inputs, given, strict=True)),
        "rewards_have_gradients": [reward.requires_grad for reward in rewards],
    }
    numbers = {"losses": losses, "rewards": rewards}
    if inputs[0].requires_grad and len(losses):
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        total = (losses * torch.linspace(0.5, 1, len(losses), dtype=losses.dtype)).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, inputs, materialize_grads=True))
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}
