"""preference_loss: losses, rewards, and which gradients flow, for every variant; then the experiment."""

import torch

VARIANTS = {
    "plain": {},
    "smoothed": {"label_smoothing": 0.15},
    "reference free": {"reference_free": True},
    "reference free and smoothed": {"reference_free": True, "label_smoothing": 0.3},
    "ipo": {"ipo": True},
    "ipo and reference free": {"ipo": True, "reference_free": True},
    "ipo ignores smoothing": {"ipo": True, "label_smoothing": 0.25},
}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def logps(batch, spread, dtype=torch.float32):
        return -20 + spread * torch.randn(4, batch, generator=generator, dtype=dtype)

    betas = 0.1 + 0.8 * torch.rand(len(VARIANTS), generator=generator)
    for (name, options), beta in zip(VARIANTS.items(), betas.tolist(), strict=True):
        yield {"name": name, "logps": logps(7, 3.0), "options": {"beta": beta, **options}}
    for name in ("plain", "smoothed", "ipo"):
        options = {"beta": 0.3, **VARIANTS[name]}
        yield {"name": f"{name}, one pair in float64", "logps": logps(1, 3.0, torch.float64), "options": options}
    # Whole numbers, so that their differences are exact in whatever order they are taken.
    yield {
        "name": "log-ratios of hundreds",
        "logps": logps(9, 400.0).round(),
        "options": {"beta": 0.7, "label_smoothing": 0.1},
    }
    yield {"name": "no pairs", "logps": logps(0, 1.0), "options": {"beta": 0.2}}
    yield {"name": "defaults by position", "logps": logps(3, 2.0), "options": None}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from trainers import preference_loss

    logps = [row.clone().requires_grad_() for row in case["logps"]]
    if case["options"] is None:
        results = preference_loss(*logps, 0.4, 0.2)
    else:
        results = preference_loss(*logps, **case["options"])
    weights = torch.arange(1, results[0].numel() + 1, dtype=results[0].dtype)
    gradients = torch.autograd.grad((results[0] * weights).sum(), logps, allow_unused=True)
    return {
        "losses": results[0],
        "chosen_rewards": results[1],
        "rejected_rewards": results[2],
        "count": len(results),
        "policy_gradients": list(gradients[:2]),
        "rewards_have_gradients": [results[1].requires_grad, results[2].requires_grad],
        "inputs_unchanged": [bool(torch.equal(row, given)) for row, given in zip(logps, case["logps"], strict=True)],
    }
