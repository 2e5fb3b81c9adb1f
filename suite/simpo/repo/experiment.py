"""One start, several objectives: what length normalisation and the target margin do to likelihoods of new pairs."""

import copy
import json

import torch

from data import make_pairs
from evaluation import evaluate
from model import ModelConfig, build_model
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from sft import fine_tune
from tokenizer import Tokenizer

VARIANTS = {
    "simpo": SimPOConfig(),
    "gamma_0": SimPOConfig(gamma_beta_ratio=0.0),
    "gamma_large": SimPOConfig(gamma_beta_ratio=1.5),
    "without_ln": SimPOConfig(length_normalized=False),
    "smoothed": SimPOConfig(label_smoothing=0.2),
    "hinge": SimPOConfig(loss_type="hinge"),
}


def run(seed: int = 0) -> dict[str, float]:
    """Fine-tune on answers of either kind, train with each objective, and evaluate."""
    tokenizer = Tokenizer()
    generator = torch.Generator().manual_seed(seed)
    demonstrations = make_pairs(48, tokenizer, generator, purity=0.5)
    pairs, held_out = make_pairs(24, tokenizer, generator), make_pairs(48, tokenizer, generator)
    start = build_model(ModelConfig(vocabulary=len(tokenizer)), seed)
    fine_tune(start, demonstrations.chosen, demonstrations.chosen_labels, steps=12)
    results = {f"sft/{key}": value for key, value in evaluate(start, held_out).items()}
    for name, args in VARIANTS.items():
        policy = copy.deepcopy(start)
        metrics = SimPOTrainer(policy, args, tokenizer.pad).train(pairs)
        results |= {f"{name}/{key}": value for key, value in (metrics | evaluate(policy, held_out)).items()}
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
