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
        """Pairs at the reference, with statistics up to 10,000 nats either way, and of many magnitudes."""
        # Both terms of the comparison point the same way, so that neither hides the other.
        sides = torch.tensor([[1, -1], [-1, 1], [1, 0], [0, 1]])
        extreme = sides * (9000 + 1000 * torch.rand(4, 2, generator=generator, dtype=torch.float64))
        ordinary = statistics(batch - 3) * 10.0 ** torch.linspace(-6, 2, batch - 3, dtype=torch.float64)
        # Rounding leaves divergences of almost nothing on either side of zero.
        ordinary[2:, 0] *= -1
        return torch.cat([torch.zeros(4, 1, dtype=torch.float64), extreme, ordinary], dim=1)

    def single(rows):
        """Halves, so that sums and products with quarters are exact in whatever order they are taken."""
        return ((2 * rows).round() / 2).float()

    def integers(batch):
        """Sums of these, and products with quarters, are exact in half precision too."""
        rows = torch.randint(0, 9, (4, batch), generator=generator).double()
        rows[:2] *= 2 * torch.randint(0, 2, (2, batch), generator=generator) - 1
        return rows

    def far(batch):
        """Divergences next to which the margins are small, none of them exact in single precision."""
        small, large = 0.5 * statistics(batch)[:2], 9000 + 1000 * statistics(batch)[2:] / 7
        return torch.cat([small, large]).float()

    batch = integer(12, 40)
    variants = {
        "second version": {},
        "second version, small alpha": {"alpha": 0.25},
        "second version, large alpha": {"alpha": 1.5},
        "second version, largest alpha": {"alpha": 10.0},
        "second version, alpha one": {"alpha": 1.0},
        "second version without divergences": {"alpha": 0.0, "if_tdpo2": True},
        "first version": {"if_tdpo2": False},
        "first version ignores alpha": {"alpha": 0.75, "if_tdpo2": False},
        "first version ignores alpha zero": {"alpha": 0.0, "if_tdpo2": False},
    }
    for name, options in variants.items():
        for size, low, high in (("small", -3, -1), ("large", 0, 1.5)):
            double_options = {"beta": 10 ** uniform(low, high), **options}
            yield {"name": f"{name}, {size} beta", "statistics": wide(batch), "options": double_options}
        single_options = {"beta": integer(1, 16) / 4 * 2.0 ** integer(-8, 2), **options}
        yield {"name": f"{name}, float32", "statistics": single(wide(batch + 1)), "options": single_options}
        for dtype in (torch.float16, torch.bfloat16) if options.get("alpha", 0.5) <= 1.5 else ():
            half_options = {"beta": integer(1, 4) / 4, **options}
            yield {"name": f"{name}, {dtype}", "statistics": integers(8).to(dtype), "options": half_options}
        before = {"beta": uniform(0.1, 1), "if_tdpo2": not options.get("if_tdpo2", True)}
        again = {"beta": uniform(0.1, 1), **options}
        given = {"statistics": statistics(5), "options": again, "before": before}
        for frozen in ([], [2, 3]):
            yield {"name": f"{name}, again, without gradients: {frozen}", **given, "frozen": frozen}
    for alpha in (0.0, 0.001):
        options = {"beta": uniform(1, 3), "alpha": alpha}
        yield {"name": f"alpha {alpha}, large divergences", "statistics": far(8), "options": options}
    for name, alpha in (("tiny", 10 ** uniform(-3, -2)), ("huge", uniform(5, 10))):
        options = {"beta": uniform(0.1, 1), "alpha": alpha}
        yield {"name": f"{name} alpha", "statistics": statistics(batch), "options": options}
    for version in (True, False):
        for number in (0, 1):
            options = {"beta": uniform(0.1, 1), "if_tdpo2": version}
            name = f"pairs: {number}, second version {version}"
            yield {"name": name, "statistics": statistics(number), "options": options}
    for positional in ([0.4, 0.2], [0.15, 0.8, False]):
        name = f"{len(positional)} options by position"
        yield {"name": name, "statistics": statistics(5), "options": positional}
    yield {"name": "all by name", "statistics": statistics(5), "options": {"beta": 0.6}, "by_name": True}
    for frozen in ([2, 3], [0, 1], [0, 1, 2, 3]):
        name = f"statistics without gradients: {frozen}"
        yield {"name": name, "statistics": statistics(5), "options": {"beta": 1.0}, "frozen": frozen}
    yield {"name": "experiment", "seed": seed % 1000}


PRECISIONS = {torch.float64: "double", torch.float32: "single"}
NAMES = ("chosen_logps_margin", "rejected_logps_margin", "chosen_position_kl", "rejected_position_kl")


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    given = case["statistics"]
    leaves = [row.clone().requires_grad_(index not in case.get("frozen", ())) for index, row in enumerate(given)]
    # Columns of a table, as the statistics of a model may be; they are no leaves, so that they can be changed in place.
    inputs = leaves if "before" in case else [torch.stack([leaf, leaf], dim=1)[:, 0] for leaf in leaves]
    if "before" in case:
        # The same tensors, before with other values and options; then their values change in place.
        earlier = given.flip(1) - 1
        calls = [(earlier, "before"), (earlier - 1, "options")] * 2
        for number, (rows, key) in enumerate(calls):
            # No counter of versions sees what changes through `data`.
            _ = [leaf.data.copy_(row) for leaf, row in zip(leaves, rows, strict=True)]
            losses, *_ = called(inputs, case[key])
            # The last two stay without a way back.
            if number < 2:
                losses.sum().backward()
        _ = [leaf.data.copy_(row) for leaf, row in zip(leaves, given, strict=True)]
    wanting, random_state = [row.requires_grad for row in inputs], torch.get_rng_state()
    results = called(inputs, case["options"], case.get("by_name", False))
    losses, chosen_rewards, rejected_rewards = results
    observation = {
        "random_state_unchanged": torch.equal(torch.get_rng_state(), random_state),
        "inputs_unchanged": [torch.equal(row, before) for row, before in zip(inputs, given, strict=True)],
        "inputs_want_gradients_as_before": [row.requires_grad for row in inputs] == wanting,
        "inputs_have_hooks": [bool(row._backward_hooks) for row in inputs],
        "inputs_retain_gradients": [row.retains_grad for row in inputs],
        "rewards_have_gradients": [reward.requires_grad for reward in results[1:]],
    }
    with torch.no_grad():
        called(inputs, case["options"])
        observation["gradients_off_as_before"] = not torch.is_grad_enabled()
    # The losses of two calls may flow back together.
    called([(row.flip(0) - 1).requires_grad_() for row in given], case["options"])
    numbers = {"losses": losses, "chosen_rewards": chosen_rewards, "rejected_rewards": rejected_rewards}
    wanted = {name: leaf for name, leaf in zip(NAMES, leaves, strict=True) if leaf.requires_grad}
    if wanted:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        weights = torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)
        gradients = torch.autograd.grad((losses * weights).sum(), wanted.values(), materialize_grads=True)
        numbers["gradients"] = dict(zip(wanted, gradients, strict=True))
    else:
        observation["losses_have_gradients"] = losses.requires_grad
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}


def called(inputs, options, by_name=False):
    from trainers import tdpo_loss

    if isinstance(options, list):
        return tdpo_loss(*inputs, *options)
    if by_name:
        return tdpo_loss(**dict(zip(NAMES, inputs, strict=True)), **options)
    return tdpo_loss(*inputs, **options)
