"""simpo_loss: losses, rewards, and which gradients flow, for every setting of the trainer; then the experiment."""

import torch

SETTINGS = {
    "sigmoid": {},
    "smoothed": {"label_smoothing": 0.15},
    "strongly smoothed": {"label_smoothing": 0.35},
    "hinge": {"loss_type": "hinge"},
    "hinge ignores smoothing": {"loss_type": "hinge", "label_smoothing": 0.25},
    "no margin": {"gamma_beta_ratio": 0.0, "label_smoothing": 0.1},
}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def odd_eighths(low, high):
        return (2 * torch.randint(4 * low, 4 * high, (), generator=generator).item() + 1) / 8

    def logps(batch, dtype=torch.float32):
        # Averages over tokens; the first pair is a tie, and the others fall on both sides of the margin.
        pairs = -0.2 - 2.5 * torch.rand(2, batch, generator=generator, dtype=dtype)
        pairs[1, 0] = pairs[0, 0]
        return pairs

    def settings(name):
        return {"beta": uniform(1.5, 3.5), "gamma_beta_ratio": uniform(0.2, 0.6)} | SETTINGS[name]

    for name in SETTINGS:
        yield {"name": name, "logps": logps(9), "settings": settings(name)}
    for name in ("smoothed", "hinge"):
        one, many = logps(2, torch.float64)[:, 1:], logps(64, torch.float64)
        yield {"name": f"{name}, one pair in float64", "logps": one, "settings": settings(name)}
        yield {"name": f"{name}, many pairs in float64", "logps": many, "settings": settings(name)}
    small = {"beta": uniform(0.1, 0.4), "gamma_beta_ratio": uniform(2.0, 4.0), "label_smoothing": 0.2}
    yield {"name": "small beta", "logps": 6 * logps(9), "settings": small}
    # Eighths and whole numbers, so that products and differences are exact in whatever order they are taken.
    for name in ("sigmoid", "smoothed", "hinge"):
        scales = {"beta": odd_eighths(2, 6), "gamma_beta_ratio": odd_eighths(1, 3)}
        whole = (-400 * torch.rand(2, 12, generator=generator)).round()
        yield {"name": f"{name}, differences of hundreds", "logps": whole, "settings": scales | SETTINGS[name]}
    for name in ("sigmoid", "hinge"):
        yield {"name": f"{name}, no pairs", "logps": torch.zeros(2, 0), "settings": settings(name)}
        yield {"name": f"{name}, no gradients wanted", "logps": logps(4), "settings": settings(name), "frozen": True}
    for loss_type in ("ipo", "exponential"):
        unknown = settings("smoothed") | {"loss_type": loss_type}
        yield {"name": f"loss type {loss_type}", "logps": logps(3), "settings": unknown}
    yield {"name": "defaults", "logps": logps(5), "settings": {}}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from scripts.simpo_config import SimPOConfig
    from scripts.simpo_trainer import SimPOTrainer

    trainer = SimPOTrainer(None, SimPOConfig(**case["settings"]))
    leaves = [row.clone().requires_grad_("frozen" not in case) for row in case["logps"]]
    # Copies that are no leaves can be changed in place, as the log-probabilities of a model could be.
    inputs = [leaf.clone() for leaf in leaves]
    try:
        results = trainer.simpo_loss(*inputs)
    except ValueError:
        return {"raised": "ValueError"}
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
        weights = torch.linspace(0.1, 1, losses.numel(), dtype=losses.dtype)
        observation["gradients"] = list(torch.autograd.grad((losses * weights).sum(), leaves, materialize_grads=True))
    return observation
