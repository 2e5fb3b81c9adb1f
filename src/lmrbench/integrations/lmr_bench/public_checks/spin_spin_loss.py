"""Check SPINTrainer.spin_loss: the losses and rewards.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

from types import SimpleNamespace

import torch

PARAMETERS = ("policy_real_logps", "policy_generated_logps", "opponent_real_logps", "opponent_generated_logps")
ATTRIBUTES = ("beta", "loss_type", "accelerator.device", "args.device")
OPTIONS = ("loss_type", "reference_free")


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)
    for number, beta in enumerate((0.1, 0.5, 1.0, 0.05, 5.0)):
        batch = (4, 8, 1, 6, 13)[number]
        for kind in ("sigmoid", "hinge"):
            for free in (False, True):
                yield {
                    "name": f"{kind}, beta {beta}, {batch} pairs" + ", reference free" * free,
                    "logps": -60 * torch.rand(4, batch, generator=generator) - 1,
                    "settings": {"beta": beta, "loss_type": kind},
                    "options": {"reference_free": True} if free else {},
                    "uses": ["loss_type"] * (kind == "hinge") + ["reference_free"] * free,
                }


def observe(case):
    """Run the function on a case and return the losses and rewards."""
    processor = SimpleNamespace(device=torch.device("cpu"))
    trainer = instance(loaded(*TARGET), **case["settings"], accelerator=processor, args=processor)
    losses, real, generated = trainer.spin_loss(*case["logps"].clone(), **case["options"])
    return {"losses": losses.detach(), "rewards": [real.detach(), generated.detach()]}
