"""tdpo_loss: losses, rewards, and which gradients flow to which statistic, in both versions; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def statistics(batch):
        """Margins of both signs, then divergences of 1 to 7 nats."""
        margins = 4 * torch.randn(2, batch, generator=generator, dtype=torch.float64)
        return torch.cat([margins, 1 + 6 * torch.rand(2, batch, generator=generator, dtype=torch.float64)])

    def wide(batch):
        """Pairs at the reference, with statistics of thousands of nats either way, and of many magnitudes."""
        # Both terms of the comparison point the same way, so that neither hides the other.
        sides = torch.tensor([[1, -1], [-1, 1], [1, 0], [0, 1]])
        extreme = sides * (1500 + 500 * torch.rand(4, 2, generator=generator, dtype=torch.float64))
        ordinary = statistics(batch - 3) * 10.0 ** torch.linspace(-6, 2, batch - 3, dtype=torch.float64)
        return torch.cat([torch.zeros(4, 1, dtype=torch.float64), extreme, ordinary], dim=1)

    def single(rows):
        """Halves, so that sums and products with quarters are exact in whatever order they are taken."""
        return ((2 * rows).round() / 2).float()

    batch = integer(12, 40)
    variants = {
        "second version": {},
        "second version, small alpha": {"alpha": 0.25},
        "second version, large alpha": {"alpha": 1.5},
        "second version, alpha one": {"alpha": 1.0},
        "second version without divergences": {"alpha": 0.0, "if_tdpo2": True},
        "first version": {"if_tdpo2": False},
        "first version ignores alpha": {"alpha": 0.75, "if_tdpo2": False},
        "first version ignores alpha zero": {"alpha": 0.0, "if_tdpo2": False},
    }
    for index, (name, options) in enumerate(variants.items()):
        # From 0.001 to 30.
        beta = 10 ** (-3 + 4.5 * (index + uniform(0, 1)) / len(variants))
        yield {"name": name, "statistics": wide(batch), "options": {"beta": beta, **options}}
        options = {"beta": integer(1, 16) / 4, **options}
        yield {"name": f"{name}, float32", "statistics": single(wide(batch + 1)), "options": options}
    for name, alpha in (("tiny", 10 ** uniform(-3, -2)), ("huge", uniform(5, 10))):
        options = {"beta": uniform(0.1, 1), "alpha": alpha}
        yield {"name": f"{name} alpha", "statistics": statistics(batch), "options": options}
    for version in (True, False):
        for dtype in (torch.float16, torch.bfloat16):
            options = {"beta": uniform(0.1, 1), "if_tdpo2": version}
            name = f"{dtype}, second version {version}"
            yield {"name": name, "statistics": statistics(6).to(dtype), "options": options, "coarse": True}
        for number in (0, 1):
            options = {"beta": uniform(0.1, 1), "if_tdpo2": version}
            name = f"pairs: {number}, second version {version}"
            yield {"name": name, "statistics": statistics(number), "options": options}
    for positional in ([0.4, 0.2], [0.15, 0.8, False]):
        name = f"{len(positional)} options by position"
        yield {"name": name, "statistics": statistics(5), "options": positional}
    yield {"name": "all by name", "statistics": statistics(5), "options": {"beta": 0.6}, "by_name": True}
    for frozen in ([2, 3], [0, 1, 2, 3]):
        name = f"{len(frozen)} statistics without gradients"
        yield {"name": name, "statistics": statistics(5), "options": {"beta": 1.0}, "frozen": frozen}
    yield {"name": "experiment", "seed": seed % 1000}


NAMES = ("chosen_logps_margin", "rejected_logps_margin", "chosen_position_kl", "rejected_position_kl")


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    given = case["statistics"]
    leaves = [row.clone().requires_grad_(index not in case.get("frozen", ())) for index, row in enumerate(given)]
    # Columns of a table, as the statistics of a model may be; they are no leaves, so that they can be changed in place.
    inputs = [torch.stack([leaf, leaf], dim=1)[:, 0] for leaf in leaves]
    wanting, random_state = [row.requires_grad for row in inputs], torch.get_rng_state()
    results = called(inputs, case["options"], case.get("by_name", False))
    losses, chosen_rewards, rejected_rewards = results
    observation = {
        "random_state_unchanged": torch.equal(torch.get_rng_state(), random_state),
        "inputs_unchanged": [torch.equal(row, before) for row, before in zip(inputs, given, strict=True)],
        "inputs_want_gradients_as_before": [row.requires_grad for row in inputs] == wanting,
        "rewards_have_gradients": [reward.requires_grad for reward in results[1:]],
    }
    if case.get("coarse"):
        kinds = [[str(result.dtype), list(result.shape), bool(result.isfinite().all())] for result in results]
        return observation | {"kinds": kinds}
    numbers = {"losses": losses, "chosen_rewards": chosen_rewards, "rejected_rewards": rejected_rewards}
    wanted = {name: leaf for name, leaf in zip(NAMES, leaves, strict=True) if leaf.requires_grad and len(leaf)}
    if wanted:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        weights = torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)
        gradients = torch.autograd.grad((losses * weights).sum(), wanted.values(), materialize_grads=True)
        numbers["gradients"] = dict(zip(wanted, gradients, strict=True))
    else:
        observation["losses_have_gradients"] = len(given[0]) > 0 and losses.requires_grad
    return observation | {"double" if given.dtype == torch.float64 else "single": numbers}


def called(inputs, options, by_name):
    from trainers import tdpo_loss

    if isinstance(options, list):
        return tdpo_loss(*inputs, *options)
    if by_name:
        return tdpo_loss(**dict(zip(NAMES, inputs, strict=True)), **options)
    return tdpo_loss(*inputs, **options)
