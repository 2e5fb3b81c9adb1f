"""One start, several objectives: what length normalisation and the target margin do to likelihoods of new pairs."""

import copy
import json

import torch
from torch import Generator, Tensor, nn

from data import PairBatch, make_pairs
from evaluation import compare, evaluate, response_lengths
from model import ModelConfig, TinyLM, build_model
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from sft import fine_tune
from tokenizer import Tokenizer

VARIANTS = {
    "simpo": SimPOConfig(),
    "gamma_0": SimPOConfig(gamma_beta_ratio=0.0),
    "gamma_large": SimPOConfig(gamma_beta_ratio=1.5),
    "without_ln": SimPOConfig(length_normalized=False),
    "with_sft": SimPOConfig(sft_weight=1.0),
}
# Objectives that the start is only measured with.
MEASURED = {
    "hinge": SimPOConfig(beta=20.0, gamma_beta_ratio=0.0, loss_type="hinge"),
    "smoothed": SimPOConfig(label_smoothing=0.1),
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


def described(tokens: Tensor, labels: Tensor) -> dict[str, float]:
    """What is in a batch of sequences: its tokens, and the mean length of its responses."""
    return moments(tokens) | {"length": response_lengths(labels).double().mean().item()}


def size(module: nn.Module) -> float:
    """The norm of all weights."""
    return torch.cat([weight.detach().flatten() for weight in module.parameters()]).norm().item()


@torch.no_grad()
def scores(model: TinyLM, pairs: PairBatch) -> dict[str, float]:
    """Mean average log-likelihoods of both sides, the logits of winners, and the size of the weights."""
    logits = model(pairs.chosen)
    chosen = SimPOTrainer.get_batch_logps(logits, pairs.chosen_labels)
    rejected = SimPOTrainer.get_batch_logps(model(pairs.rejected), pairs.rejected_labels)
    found = {"chosen_logp": chosen.mean().item(), "rejected_logp": rejected.mean().item(), "weights": size(model)}
    return found | {f"logits/{key}": value for key, value in moments(logits).items()}


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: fine-tune on answers of either kind, train with each objective, and evaluate."""
    tokenizer = Tokenizer()
    demonstrations = make_pairs(24, tokenizer, Generator().manual_seed(seed), purity=0.5)
    pairs = make_pairs(16, tokenizer, Generator().manual_seed(seed + 2**20))
    held_out = make_pairs(24, tokenizer, Generator().manual_seed(seed + 2**21))
    batches = {
        "demonstrations": (demonstrations.chosen, demonstrations.chosen_labels),
        "chosen": (pairs.chosen, pairs.chosen_labels),
        "rejected": (pairs.rejected, pairs.rejected_labels),
        "held_out": (held_out.chosen, held_out.chosen_labels),
    }
    data = {f"{name}/{key}": value for name, batch in batches.items() for key, value in described(*batch).items()}
    start = build_model(ModelConfig(vocabulary=len(tokenizer)), seed)
    sizes = {"tokens/weights": size(start.tokens), "head/weights": size(start.head)}
    stages = {"data": data, "initial model": scores(start, pairs) | sizes}
    fine_tune(start, demonstrations.chosen, demonstrations.chosen_labels, steps=8)
    stages["fine-tuning"] = scores(start, pairs)
    evaluation = {f"sft/{key}": value for key, value in evaluate(start, held_out).items()}
    stages |= {"training": {}, "evaluation": evaluation}
    for name, args in MEASURED.items():
        loss, _ = SimPOTrainer(start, args, tokenizer.pad).get_batch_loss_metrics(pairs)
        stages["training"][f"{name}/first loss"] = loss.item()
    for name, args in VARIANTS.items():
        policy = copy.deepcopy(start)
        metrics = SimPOTrainer(policy, args, tokenizer.pad).train(pairs) | {"weights": size(policy)}
        stages["training"] |= {f"{name}/{key}": value for key, value in metrics.items()}
        found = evaluate(policy, held_out) | compare(policy, start, held_out, args)
        evaluation |= {f"{name}/{key}": value for key, value in found.items()}
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
