"""Three ways to learn a preference for kind reviews: where does each drift from the reference, and how far?"""

import copy
import json

import torch
from torch import Generator, Tensor

from data import PairBatch, make_pairs
from evaluation import evaluate
from model import ModelConfig, TinyLM, build_model
from tokenizer import Tokenizer
from trainers import TrainConfig, fine_tune, train_preferences
from utils import token_logps

# With alpha 0 the second version is plain DPO.
METHODS = {
    "dpo": {"alpha": 0.0},
    "tdpo1": {"if_tdpo2": False},
    "tdpo2": {"alpha": 0.5},
    "tdpo2_strong": {"alpha": 1.5},
}


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place from -1 to 1."""
    values = values.double().flatten()
    places = torch.linspace(-1, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def described(pairs: PairBatch) -> dict[str, float]:
    """What is in a batch: its tokens, and its labels."""
    return {
        f"{name}/{key}": value
        for name in ("chosen", "chosen_labels", "rejected", "rejected_labels")
        for key, value in moments(getattr(pairs, name)).items()
    }


@torch.no_grad()
def completion_logps(model: TinyLM, pairs: PairBatch) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the chosen and of the rejected completions, each (batch,)."""
    batches = (pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels)
    chosen, rejected = (token_logps(model(tokens), labels).sum(-1) for tokens, labels in batches)
    return chosen, rejected


def flat(model: TinyLM) -> Tensor:
    """All weights of a model, in one row."""
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def scores(model: TinyLM, pairs: PairBatch) -> dict[str, float]:
    """The log-probabilities that a model gives to completions, and the size of its weights."""
    chosen, rejected = completion_logps(model, pairs)
    parts = {"chosen_logp": chosen, "rejected_logp": rejected, "log_ratio": chosen - rejected}
    found = {f"{name}/{key}": value for name, part in parts.items() for key, value in moments(part).items()}
    return found | {"weights": flat(model).norm().item()}


def accuracy(model: TinyLM, pairs: PairBatch) -> float:
    """The share of pairs whose chosen completion is the likelier one."""
    chosen, rejected = completion_logps(model, pairs)
    return (chosen > rejected).double().mean().item()


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """Fit a reference, train a policy by each method; the metrics of each stage, and of pairs that were held out."""
    tokenizer = Tokenizer()
    pairs = make_pairs(40, tokenizer, Generator().manual_seed(seed))
    held_out = make_pairs(40, tokenizer, Generator().manual_seed(seed + 2**20))
    data = {
        f"{name}/{key}": value
        for name, batch in (("pairs", pairs), ("held_out", held_out))
        for key, value in described(batch).items()
    }
    # In double precision a difference in rounding stays far below what is measured.
    reference = build_model(ModelConfig(vocabulary=len(tokenizer)), seed).double()
    stages = {"data": data, "initial model": scores(reference, pairs)}
    fine_tune(reference, pairs, TrainConfig(steps=12, learning_rate=1.5e-2, seed=seed))
    stages["fine-tuning"] = scores(reference, pairs)
    stages |= {"training": {}, "evaluation": {}, "rates": {"reference/accuracy": accuracy(reference, held_out)}}
    for name, options in METHODS.items():
        policy = copy.deepcopy(reference)
        metrics = train_preferences(policy, pairs, TrainConfig(seed=seed + 2**21, **options))
        metrics["distance"] = (flat(policy) - flat(reference)).norm().item()
        stages["training"] |= {f"{name}/{key}": value for key, value in metrics.items()}
        reached = evaluate(policy, reference, held_out)
        stages["evaluation"] |= {f"{name}/{key}": value for key, value in reached.items()}
        stages["rates"][f"{name}/accuracy"] = accuracy(policy, held_out)
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
