"""Check preference_loss of DPO: the losses and rewards.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

import torch

PARAMETERS = (
    "policy_chosen_logps",
    "policy_rejected_logps",
    "reference_chosen_logps",
    "reference_rejected_logps",
    "beta",
)
OPTIONS = ("label_smoothing", "ipo", "reference_free")


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)
    for number, beta in enumerate((0.01, 0.1, 0.3, 0.5, 1.0, 2.0)):
        batch = (1, 4, 8, 13, 2, 5)[number]
        logps = -60 * torch.rand(4, batch, generator=generator) - 1
        yield {"name": f"beta {beta}, {batch} pairs", "logps": logps, "beta": beta}
    for number in range(4):
        # A policy close to its reference, as early in training.
        reference = -60 * torch.rand(2, 6, generator=generator) - 1
        policy = reference + torch.randn(2, 6, generator=generator)
        yield {
            "name": f"near the reference {number}",
            "logps": torch.cat([policy, reference]),
            "beta": 0.1 + number / 5,
        }
    for name, value in (("label_smoothing", 0.1), ("ipo", True), ("reference_free", True)):
        logps = -60 * torch.rand(4, 5, generator=generator) - 1
        yield {"name": name, "logps": logps, "beta": 0.2, "options": {name: value}, "uses": [name]}


def observe(case):
    """Run the function on a case and return the losses and rewards."""
    preference_loss = loaded(*TARGET)
    losses, chosen, rejected = preference_loss(*case["logps"].clone(), case["beta"], **case.get("options", {}))
    return {"losses": losses.detach(), "rewards": [chosen.detach(), rejected.detach()]}
