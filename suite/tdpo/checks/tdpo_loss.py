"""tdpo_loss: losses, rewards, and which gradients flow to which statistic, for both versions; then the experiment."""

import torch

VARIANTS = {
    "second version": {},
    "second version, small alpha": {"alpha": 0.2},
    "second version, large alpha": {"alpha": 1.7},
    "second version without divergences": {"alpha": 0.0},
    "second version, named": {"alpha": 0.35, "if_tdpo2": True},
    "first version": {"if_tdpo2": False},
    "first version ignores alpha": {"alpha": 0.3, "if_tdpo2": False},
}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def statistics(batch, dtype=torch.float32):
        """Margins of both signs, then divergences of 1 to 7 nats."""
        margins = 4 * torch.randn(2, batch, generator=generator, dtype=dtype)
        divergences = 1 + 6 * torch.rand(2, batch, generator=generator, dtype=dtype)
        return torch.cat([margins, divergences])

    betas = 0.1 + 0.4 * torch.rand(len(VARIANTS), generator=generator)
    for (name, options), beta in zip(VARIANTS.items(), betas.tolist(), strict=True):
        yield {"name": name, "statistics": statistics(7), "options": {"beta": beta, **options}}
    for name in ("second version", "second version, small alpha", "first version"):
        options = {"beta": 0.3, **VARIANTS[name]}
        yield {"name": f"{name}, one pair in float64", "statistics": statistics(1, torch.float64), "options": options}
    # Both terms of the comparison point the same way, so that no sum of large numbers comes near zero.
    signs = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]]) * torch.tensor([1.0, -1.0, 1.0, -1.0, -1.0])
    sizes = torch.tensor([[300.0], [300.0], [60.0], [60.0]]) + 50 * torch.rand(4, 5, generator=generator)
    hundreds = signs * sizes + torch.tensor([[0.0], [0.0], [200.0], [200.0]])
    for name, version in (("second", True), ("first", False)):
        options = {"beta": 0.7, "if_tdpo2": version}
        yield {"name": f"{name} version, hundreds of nats", "statistics": hundreds, "options": options}
        options = {"beta": 0.25, "if_tdpo2": version}
        yield {"name": f"{name} version, no pairs", "statistics": statistics(0), "options": options}
        options = {"beta": 0.2, "alpha": 0.6, "if_tdpo2": version}
        yield {"name": f"{name} version, at the reference", "statistics": torch.zeros(4, 3), "options": options}
    yield {"name": "defaults", "statistics": statistics(3), "options": {"beta": 0.45}}
    yield {"name": "options by position", "statistics": statistics(3), "options": [0.15, 0.8, False]}
    yield {"name": "no gradients wanted", "statistics": statistics(4), "options": {"beta": 0.4}, "frozen": True}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from trainers import tdpo_loss

    leaves = [row.clone().requires_grad_("frozen" not in case) for row in case["statistics"]]
    # Copies that are no leaves can be changed in place, as the statistics of a model could be.
    inputs = [leaf.clone() for leaf in leaves]
    if isinstance(case["options"], list):
        results = tdpo_loss(*inputs, *case["options"])
    else:
        results = tdpo_loss(*inputs, **case["options"])
    losses, chosen_rewards, rejected_rewards = results
    observation = {
        "losses": losses,
        "chosen_rewards": chosen_rewards,
        "rejected_rewards": rejected_rewards,
        "have_gradients": [result.requires_grad for result in results],
        "inputs_afterwards": inputs,
    }
    if losses.requires_grad:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        weights = torch.arange(1, losses.numel() + 1, dtype=losses.dtype)
        gradients = torch.autograd.grad((losses * weights).sum(), leaves, materialize_grads=True)
        names = ("chosen_logps_margin", "rejected_logps_margin", "chosen_position_kl", "rejected_position_kl")
        observation["gradients"] = dict(zip(names, gradients, strict=True))
    return observation
