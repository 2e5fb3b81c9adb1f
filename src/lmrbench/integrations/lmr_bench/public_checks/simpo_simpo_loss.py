"""Check SimPOTrainer.simpo_loss: the losses and rewards.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

from types import SimpleNamespace

import torch

PARAMETERS = ("policy_chosen_logps", "policy_rejected_logps")
ATTRIBUTES = ("beta", "gamma_beta_ratio", "label_smoothing", "loss_type", "accelerator.device", "args.device")
OPTIONS = ("label_smoothing", "loss_type")


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)
    for number, (beta, ratio) in enumerate(((2.0, 0.5), (2.5, 0.55), (10.0, 0.3), (1.0, 1.6), (2.0, 0.25))):
        batch = (4, 8, 1, 6, 13)[number]
        plain = {"beta": beta, "gamma_beta_ratio": ratio, "loss_type": "sigmoid", "label_smoothing": 0.0}
        for option in ({}, {"label_smoothing": 0.1}, {"loss_type": "hinge"}):
            yield {
                "name": f"beta {beta}, {batch} pairs, {option}",
                "logps": -3 * torch.rand(2, batch, generator=generator) - 0.1,
                "settings": plain | option,
                "uses": [*option],
            }


def observe(case):
    """Run the function on a case and return the losses and rewards."""
    processor = SimpleNamespace(device=torch.device("cpu"))
    trainer = instance(loaded(*TARGET), **case["settings"], accelerator=processor, args=processor)
    losses, chosen, rejected = trainer.simpo_loss(*case["logps"].clone())
    return {"losses": losses.detach(), "rewards": [chosen.detach(), rejected.detach()]}
