"""Both stages on the toy language, for two values of beta and for IPO: a smaller beta lets the policy move further."""

import copy
import json

import torch
from torch import Generator, Tensor

from data import PairBatch, make_pairs
from evaluation import evaluate
from model import ModelConfig, TinyLM, build_model
from trainers import TrainConfig, fine_tune, pair_logps, train_preferences

STEPS = 6
VARIANTS = {
    "beta_0.1": TrainConfig(steps=STEPS, beta=0.1, label_smoothing=0.1),
    "beta_0.5": TrainConfig(steps=STEPS, beta=0.5, label_smoothing=0.1),
    "ipo": TrainConfig(steps=STEPS, beta=0.2, label_smoothing=0.1, ipo=True),
}


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
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


def size(model: torch.nn.Module) -> float:
    """The norm of all weights."""
    return torch.cat([weight.detach().flatten() for weight in model.parameters()]).norm().item()


@torch.no_grad()
def scores(model: TinyLM, pairs: PairBatch) -> dict[str, float]:
    """Mean log-probabilities of completions, and the size of the weights."""
    chosen, rejected = pair_logps(model, pairs)
    return {
        "chosen_logp": chosen.mean().item(),
        "rejected_logp": rejected.mean().item(),
        "weights": size(model),
    }


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of the data, of models, and of the frontier on pairs that were held out."""
    pairs = make_pairs(24, Generator().manual_seed(seed))
    held_out = make_pairs(24, Generator().manual_seed(seed + 2**20), wrong_labels=0.0)
    data = {
        f"{name}/{key}": value
        for name, batch in (("pairs", pairs), ("held_out", held_out))
        for key, value in described(batch).items()
    }
    start = build_model(ModelConfig(), seed)
    sizes = {f"{name}/weights": size(part) for name, part in start.named_children()}
    stages = {"data": data, "initial model": scores(start, pairs) | sizes}
    fine_tune(start, pairs, TrainConfig(steps=8))
    stages["fine-tuning"] = scores(start, pairs)
    stages |= {"training": {}, "evaluation": {}, "rates": {}}
    for name, config in VARIANTS.items():
        policy = copy.deepcopy(start)
        metrics = train_preferences(policy, pairs, config) | scores(policy, pairs)
        stages["training"] |= {f"{name}/{key}": value for key, value in metrics.items()}
        found = evaluate(policy, start, held_out)
        stages["evaluation"] |= {f"{name}/{key}": value for key, value in found.items()}
        with torch.no_grad():
            chosen, rejected = pair_logps(policy, held_out)
        stages["rates"][f"{name}/accuracy"] = (chosen > rejected).double().mean().item()
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
