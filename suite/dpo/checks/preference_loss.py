"""preference_loss: losses, rewards, and which gradients flow, for every variant and dtype; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def logps(batch, scale=40.0):
        return -scale * torch.rand(4, batch, generator=generator, dtype=torch.float64)

    def wide(batch):
        """Pairs at the reference, with log-probabilities down to -10,000 on either side, and of many magnitudes."""
        extreme = 9000 + 1000 * torch.rand(4, 2, generator=generator, dtype=torch.float64)
        sides = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]])
        pairs = torch.cat([logps(1).expand(4, 1), -sides * extreme, logps(batch - 3)], dim=1)
        pairs[:, 3:] *= 10.0 ** torch.linspace(-6, 1, batch - 3, dtype=torch.float64)
        return pairs

    def single(pairs):
        """Multiples of a quarter: sums, and products with eighths, are exact in whatever order they are taken."""
        return ((4 * pairs).round() / 4).float()

    def integers(batch):
        """Sums of these, and products with quarters, are exact in half precision too."""
        return -torch.randint(0, 33, (4, batch), generator=generator).double()

    def near_target(batch, free):
        """In 64ths, with log-ratios within four nats of 256, whose squares have more digits than float32."""
        rows = (64 * logps(batch)).round() / 64
        distance = torch.randint(-256, 257, (batch,), generator=generator) / 64
        rows[1] = rows[0] - 256 - distance - (0 if free else rows[2] - rows[3])
        return rows.float()

    batch = integer(12, 40)
    for ipo, reference_free, smoothed in product((False, True), repeat=3):
        name = "ipo" if ipo else "dpo"
        name += ", reference free" * reference_free + ", smoothed" * smoothed
        variant = {"ipo": ipo, "reference_free": reference_free}
        for size, low, high in (("small", -3, -1), ("large", 0, 1.5)):
            options = variant | {"beta": 10 ** uniform(low, high), "label_smoothing": uniform(0.01, 0.49) * smoothed}
            yield {"name": f"{name}, {size} beta", "logps": wide(batch), "options": options}
        beta = (1 if ipo else integer(1, 3)) * 2.0 ** integer(-9, 3)
        options = variant | {"beta": beta, "label_smoothing": (0.01, 0.49)[integer(0, 1)] * smoothed}
        yield {"name": f"{name}, float32", "logps": single(wide(batch + 1)), "options": options}
        for dtype in (torch.float16, torch.bfloat16):
            options = variant | {"beta": integer(1, 4) / 4, "label_smoothing": integer(1, 3) / 8 * smoothed}
            if ipo:
                options["beta"] = 2.0 ** integer(-2, 0)
            yield {"name": f"{name}, {dtype}", "logps": integers(6).to(dtype), "options": options}
        options = variant | {"beta": uniform(0.1, 1), "label_smoothing": 0.1 * smoothed}
        before = {"beta": uniform(0.1, 1), "ipo": not ipo, "reference_free": not reference_free}
        again = {"logps": logps(4), "options": options, "before": before}
        yield {"name": f"{name}, again", **again, "frozen": [2, 3] if ipo == smoothed else []}
    for ipo in (False, True):
        far = torch.cat([logps(8, 3.0)[:2], -9000 - 1000 * logps(8, 1.0)[2:].abs()]).float()
        options = {"beta": uniform(1, 3), "ipo": ipo, "reference_free": True}
        yield {"name": f"ipo {ipo}, free of a far reference", "logps": far, "options": options}
        options = {"beta": 1 / 512, "ipo": True, "reference_free": ipo}
        yield {"name": f"ipo near its target, reference free {ipo}", "logps": near_target(24, ipo), "options": options}
    for ipo, number in product((False, True), (0, 1)):
        options = {"beta": uniform(0.1, 1), "label_smoothing": 0.2, "ipo": ipo}
        yield {"name": f"ipo {ipo}, pairs: {number}", "logps": logps(number), "options": options}
    yield {"name": "defaults", "logps": logps(5), "options": {"beta": uniform(0.1, 1)}}
    for positional in ([0.4, 0.2], [0.7, 0.0, True], [0.3, 0.1, False, True]):
        name = f"{len(positional)} options by position"
        yield {"name": name, "logps": logps(5), "options": positional}
    yield {"name": "all by name", "logps": logps(5), "options": {"beta": 0.6}, "by_name": True}
    for frozen in ([2, 3], [0, 1], [0, 1, 2, 3]):
        name = f"inputs without gradients: {frozen}"
        yield {"name": name, "logps": logps(5), "options": {"beta": 1.0}, "frozen": frozen}
    yield {"name": "experiment", "seed": seed % 1000}


PRECISIONS = {torch.float64: "double", torch.float32: "single"}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    given = case["logps"]
    # Columns of a table, as the statistics of a model may be; they are no leaves, so that they can be changed in place.
    leaves = [row.clone().requires_grad_(index not in case.get("frozen", ())) for index, row in enumerate(given)]
    inputs = leaves if "before" in case else [torch.stack([leaf, leaf], dim=1)[:, 0] for leaf in leaves]
    if "before" in case:
        # The same tensors, before with other values and options; then their values change in place, without a trace.
        earlier = given.flip(1) - 1
        for rows, key in ((earlier, "before"), (earlier - 1, "options"), (given, "options")):
            _ = [leaf.data.copy_(row) for leaf, row in zip(leaves, rows, strict=True)]
            called(inputs, case[key])[0].sum().backward()
    wanting, random_state = [row.requires_grad for row in inputs], torch.get_rng_state()
    results = called(inputs, case["options"], case.get("by_name", False))
    losses, chosen_rewards, rejected_rewards = results
    observation = {
        "random_state_unchanged": torch.equal(torch.get_rng_state(), random_state),
        "inputs_unchanged": [torch.equal(row, before) for row, before in zip(inputs, given, strict=True)],
        "inputs_want_gradients_as_before": [row.requires_grad for row in inputs] == wanting,
        "rewards_have_gradients": [reward.requires_grad for reward in results[1:]],
    }
    numbers = {"losses": losses, "chosen_rewards": chosen_rewards, "rejected_rewards": rejected_rewards}
    if wanted := [leaf for leaf in leaves if leaf.requires_grad and len(leaf)]:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        weights = torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)
        total = (losses * weights).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, wanted, materialize_grads=True))
    else:
        observation["losses_have_gradients"] = len(given[0]) > 0 and losses.requires_grad
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}


def called(inputs, options, by_name=False):
    from trainers import preference_loss

    if isinstance(options, list):
        return preference_loss(*inputs, *options)
    if by_name:
        names = ("policy_chosen_logps", "policy_rejected_logps", "reference_chosen_logps", "reference_rejected_logps")
        return preference_loss(**dict(zip(names, inputs, strict=True)), **options)
    return preference_loss(*inputs, **options)
