"""A short supervised fine-tuning leaves a gap to the data; what narrows it: self-play, or more of the same?

Self-play narrows it in every iteration, and further than as many updates against the first opponent. Continued
supervised fine-tuning with as many updates narrows it further still: see README.md.
"""

import copy
import json

import torch

from spin.alignment.configs import SFTConfig, SPINConfig
from spin.alignment.data import demonstrations
from spin.alignment.model import build_model
from spin.alignment.trainer import fine_tune
from spin.evaluate import distances
from spin.play import continued_fine_tuning, self_play

SECOND_STAGES = {
    "spin": (self_play, SPINConfig()),
    "hinge": (self_play, SPINConfig(loss_type="hinge")),
    # As many updates as in three iterations, all against the first opponent.
    "one_iteration": (self_play, SPINConfig(betas=(0.5,), learning_rates=(2e-3,), epochs=10)),
    "continued_sft": (continued_fine_tuning, SPINConfig()),
}


def run(seed: int = 0) -> dict[str, float]:
    """Fit a model to demonstrations, then train copies of it; metrics of the first stage, and of each second one."""
    examples = demonstrations(112, torch.Generator().manual_seed(seed))
    start = build_model(seed)
    fine_tune(start, examples, SFTConfig())
    results = {f"sft/{key}": value for key, value in distances(start).items()}
    for name, (train, args) in SECOND_STAGES.items():
        history = train(copy.deepcopy(start), examples, args, torch.Generator().manual_seed(seed))
        for iteration, metrics in enumerate(history):
            results |= {f"{name}/{iteration}/{key}": value for key, value in metrics.items()}
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
