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
        """Pairs at the reference, with log-ratios of thousands of nats either way, and of many magnitudes."""
        extreme = 3000 + 1000 * torch.rand(4, 2, generator=generator, dtype=torch.float64)
        sides = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]])
        pairs = torch.cat([logps(1).expand(4, 1), -sides * extreme, logps(batch - 3)], dim=1)
        pairs[:, 3:] *= 10.0 ** torch.linspace(-6, 1, batch - 3, dtype=torch.float64)
        return pairs

    def single(pairs):
        """Multiples of a quarter: sums, and products with eighths, are exact in whatever order they are taken."""
        return ((4 * pairs).round() / 4).float()

    batch = integer(12, 40)
    for index, (ipo, reference_free, smoothed) in enumerate(product((False, True), repeat=3)):
        name = "ipo" if ipo else "dpo"
        name += ", reference free" * reference_free + ", smoothed" * smoothed
        variant = {"ipo": ipo, "reference_free": reference_free}
        # From 0.001 to 30.
        beta = 10 ** (-3 + 4.5 * (index + uniform(0, 1)) / 8)
        options = variant | {"beta": beta, "label_smoothing": uniform(0.01, 0.49) * smoothed}
        yield {"name": name, "logps": wide(batch), "options": options}
        options = variant | {"beta": integer(1, 48) / 8, "label_smoothing": 0.49 * smoothed}
        yield {"name": f"{name}, float32", "logps": single(wide(batch + 1)), "options": options}
    for ipo, dtype in product((False, True), (torch.float16, torch.bfloat16)):
        options = {"beta": uniform(0.1, 1), "label_smoothing": 0.1, "ipo": ipo}
        yield {"name": f"{dtype}, ipo {ipo}", "logps": logps(6).to(dtype), "options": options, "coarse": True}
    for ipo, number in product((False, True), (0, 1)):
        options = {"beta": uniform(0.1, 1), "label_smoothing": 0.2, "ipo": ipo}
        yield {"name": f"ipo {ipo}, pairs: {number}", "logps": logps(number), "options": options}
    yield {"name": "defaults", "logps": logps(5), "options": {"beta": uniform(0.1, 1)}}
    for positional in ([0.4, 0.2], [0.7, 0.0, True], [0.3, 0.1, False, True]):
        name = f"{len(positional)} options by position"
        yield {"name": name, "logps": logps(5), "options": positional}
    yield {"name": "all by name", "logps": logps(5), "options": {"beta": 0.6}, "by_name": True}
    for frozen in ([2, 3], [0, 1, 2, 3]):
        name = f"{len(frozen)} inputs without gradients"
        yield {"name": name, "logps": logps(5), "options": {"beta": 1.0}, "frozen": frozen}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    given = case["logps"]
    # Columns of a table, as the statistics of a model may be; they are no leaves, so that they can be changed in place.
    leaves = [row.clone().requires_grad_(index not in case.get("frozen", ())) for index, row in enumerate(given)]
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
    if wanted := [leaf for leaf in leaves if leaf.requires_grad and len(leaf)]:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        weights = torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)
        total = (losses * weights).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, wanted, materialize_grads=True))
    else:
        observation["losses_have_gradients"] = len(given[0]) > 0 and losses.requires_grad
    return observation | {"double" if given.dtype == torch.float64 else "single": numbers}


def called(inputs, options, by_name):
    from trainers import preference_loss

    if isinstance(options, list):
        return preference_loss(*inputs, *options)
    if by_name:
        names = ("policy_chosen_logps", "policy_rejected_logps", "reference_chosen_logps", "reference_rejected_logps")
        return preference_loss(**dict(zip(names, inputs, strict=True)), **options)
    return preference_loss(*inputs, **options)
