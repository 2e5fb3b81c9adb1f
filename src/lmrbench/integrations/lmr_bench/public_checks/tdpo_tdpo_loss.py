"""Check tdpo_loss of TDPO: the losses, the rewards, and the gradients of the losses.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

import torch

PARAMETERS = (
    "chosen_logps_margin",
    "rejected_logps_margin",
    "chosen_position_kl",
    "rejected_position_kl",
    "beta",
    "alpha",
)
OPTIONS = ("if_tdpo2",)


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)
    settings = ((0.1, 0.5), (0.1, 0.7), (0.3, 0.5), (0.5, 0.25), (1.0, 1.0), (0.05, 1.5), (0.2, 2.0), (0.8, 0.1))
    for number, (beta, alpha) in enumerate(settings):
        batch = (4, 1, 8, 2, 5, 3, 6, 12)[number]
        margins = 5 * torch.randn(2, batch, generator=generator)
        divergences = 1 + 6 * torch.rand(2, batch, generator=generator)
        statistics = torch.cat([margins, divergences])
        name = f"beta {beta}, alpha {alpha}, {batch} pairs"
        yield {"name": name, "statistics": statistics, "settings": [beta, alpha]}
        if number < 3:
            given = {"statistics": statistics, "settings": [beta, alpha, False], "uses": ["if_tdpo2"]}
            yield {"name": f"{name}, first version", **given}


def observe(case):
    """Run the function on a case and return the losses, the rewards and the gradients."""
    tdpo_loss = loaded(*TARGET)
    inputs = [row.clone().requires_grad_() for row in case["statistics"]]
    losses, chosen, rejected = tdpo_loss(*inputs, *case["settings"])
    gradients = torch.autograd.grad(losses.sum(), inputs, materialize_grads=True)
    rewards = [chosen.detach(), rejected.detach()]
    return {"losses": losses.detach(), "rewards": rewards, "gradients": list(gradients)}
