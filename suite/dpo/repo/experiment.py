"""Both stages on the toy language, for two values of beta and for IPO: a smaller beta lets the policy move further."""

import copy
import json

import torch

from data import make_pairs
from model import ModelConfig, build_model
from trainers import TrainConfig, fine_tune, pair_logps, train_preferences


def run(seed: int = 0) -> dict[str, float]:
    """Train, and report for each variant the loss, the implicit rewards, and the gain on pairs that were held out."""
    generator = torch.Generator().manual_seed(seed)
    pairs, held_out = make_pairs(32, generator), make_pairs(32, generator, wrong_labels=0.0)
    start = build_model(ModelConfig(), seed)
    fine_tune(start, pairs, TrainConfig(steps=10))
    with torch.no_grad():
        before = pair_logps(start, held_out)
    variants = {
        "beta_0.1": TrainConfig(steps=8, beta=0.1, label_smoothing=0.1),
        "beta_0.5": TrainConfig(steps=8, beta=0.5, label_smoothing=0.1),
        "ipo": TrainConfig(steps=8, beta=0.2, ipo=True),
    }
    results = {}
    for name, config in variants.items():
        policy = copy.deepcopy(start)
        results |= {f"{name}/{key}": value for key, value in train_preferences(policy, pairs, config).items()}
        with torch.no_grad():
            after = pair_logps(policy, held_out)
        gain = (after[0] - after[1]) - (before[0] - before[1])
        results[f"{name}/held_out_gain"] = gain.mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
