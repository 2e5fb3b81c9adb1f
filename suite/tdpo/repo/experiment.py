"""Three ways to learn a preference for kind reviews: where does each drift from the reference, and how far?"""

import copy
import json

import torch

from data import make_pairs
from evaluation import evaluate
from model import ModelConfig, build_model
from tokenizer import Tokenizer
from trainers import TrainConfig, fine_tune, train_preferences

# With alpha 0 the second version is plain DPO.
METHODS = {
    "dpo": {"alpha": 0.0},
    "tdpo1": {"if_tdpo2": False},
    "tdpo2": {"alpha": 0.5},
    "tdpo2_strong": {"alpha": 1.5},
}


def run(seed: int = 0) -> dict[str, float]:
    """Fit a reference, train a policy by each method; metrics of training and of held-out pairs, by method."""
    tokenizer = Tokenizer()
    generator = torch.Generator().manual_seed(seed)
    pairs, held_out = make_pairs(64, tokenizer, generator), make_pairs(64, tokenizer, generator)
    # In double precision a difference in rounding stays far below what is measured.
    reference = build_model(ModelConfig(vocabulary=len(tokenizer)), seed).double()
    fine_tune(reference, pairs, TrainConfig(learning_rate=1.2e-2, seed=seed))
    results = {}
    for name, options in METHODS.items():
        policy = copy.deepcopy(reference)
        metrics = train_preferences(policy, pairs, TrainConfig(seed=seed, **options))
        metrics |= evaluate(policy, reference, held_out)
        results |= {f"{name}/{key}": value for key, value in metrics.items()}
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
