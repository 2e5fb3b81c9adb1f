"""Cross-entropy, its weighted form and the adaptive focal loss on documents in which few event pairs are causal."""

import copy
import json

import torch
from torch import Generator, Tensor, nn

from data import IGNORED, NO_RELATION, Batch, collate, make_documents
from evaluation import expected_scores, predict, share_of_negatives
from model import ERGO, ErgoConfig, build_model, focal_loss
from training import TrainConfig, train

VARIANTS = {
    "cross_entropy": {"alpha": (1.0, 1.0, 1.0), "gamma": 0.0},
    "weighted": {"alpha": 0.75, "gamma": 0.0},
    "focal": {"alpha": 0.75, "gamma": 2.0},
}
GRAPHS = {"criss-cross": ErgoConfig(), "complete": ErgoConfig(criss_cross=False)}
# The losses that a model is trained with.
TRAINED = ("cross_entropy", "focal")


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.detach().double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def described(batch: Batch) -> dict[str, float]:
    """What is in a batch: its tokens, where its events are, and the classes of its pairs."""
    found = {"tokens": batch.tokens, "markers": batch.markers, "labels": batch.labels[batch.real]}
    return {f"{name}/{key}": value for name, values in found.items() for key, value in moments(values).items()}


@torch.no_grad()
def scored(config: ErgoConfig, batch: Batch, seed: int) -> dict[str, float]:
    """How a new model scores the pairs of a batch: moments of all scores, and how far apart those of a class are."""
    scores = build_model(config, seed)(batch)[batch.real]
    return moments(scores) | {"spread": scores.std(0).mean().item()}


def reliance(model: ERGO, batch: Batch) -> dict[str, float]:
    """How much the scores depend on each kind of projection of the layers: the gradient of their mean square."""
    size = model(batch)[batch.real].square().mean()
    kinds = ("query", "key", "value", "output")
    weights = [getattr(layer, kind).weight for kind in kinds for layer in model.layers]
    gradients = torch.autograd.grad(size, weights)
    parts = torch.stack([gradient.norm() for gradient in gradients]).view(len(kinds), -1).norm(dim=-1)
    return {f"reliance/{kind}": part.item() for kind, part in zip(kinds, parts, strict=True)}


def loss_and_gradient(criterion: nn.Module, scores: Tensor, labels: Tensor) -> dict[str, float]:
    """A loss, what of it negatives make up, and how its gradient acts on the scores of negatives and positives."""
    scores = scores.detach().clone().requires_grad_()
    loss = criterion(scores, labels)
    [gradient] = torch.autograd.grad(loss, [scores])
    negatives = labels.masked_fill(labels != NO_RELATION, IGNORED)
    return {
        "loss": loss.item(),
        "loss of negatives": criterion(scores, negatives).item(),
        "gradient of negatives": gradient[labels == NO_RELATION].norm().item(),
        "gradient of positives": gradient[labels > NO_RELATION].norm().item(),
    }


def moved(model: ERGO, start: ERGO) -> dict[str, float]:
    """How large the weights of each part are, and how far they are from where they started."""
    metrics = {}
    for (name, part), before in zip(model.named_children(), start.children(), strict=True):
        now, then = (nn.utils.parameters_to_vector(found.parameters()).detach() for found in (part, before))
        metrics |= {f"{name}/norm": now.norm().item(), f"{name}/moved": (now - then).norm().item()}
    return metrics


def likelihoods(scores: Tensor, labels: Tensor) -> dict[str, float]:
    """Mean log-probabilities of the true classes of negatives and of positives, and how sure the model is."""
    logps = scores.log_softmax(-1)
    logp = logps.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return {
        "negatives/logp": logp[labels == NO_RELATION].mean().item(),
        "positives/logp": logp[labels > NO_RELATION].mean().item(),
        "entropy": -(logps.exp() * logps).sum(-1)[labels != IGNORED].mean().item(),
    }


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of documents, of a new model and its losses, of training, and of held-out documents.

    The negatives' share of each loss is taken on the model that was trained with cross-entropy. The rates are the parts
    of held-out pairs whose most likely class is the right one.
    """
    training = collate(make_documents(12, Generator().manual_seed(seed)))
    held_out = collate(make_documents(16, Generator().manual_seed(seed + 2**20)))
    stages = {
        "data": {
            f"{name}/{key}": value
            for name, batch in (("training", training), ("held_out", held_out))
            for key, value in described(batch).items()
        }
    }
    start = build_model(ErgoConfig(), seed)
    stages |= {"encoder": {}, "graph": {}}
    for name, states in zip(("documents", "events"), start.encoder(training.tokens, training.markers), strict=True):
        stages["encoder"] |= {f"{name}/{key}": value for key, value in moments(states).items()}
    for name, config in GRAPHS.items():
        stages["graph"] |= {f"{name}/{key}": value for key, value in scored(config, training, seed).items()}
    stages["graph"] |= reliance(start, training)
    stages |= {"losses": {}, "training": {}, "evaluation": {}, "rates": {}}
    for name, settings in VARIANTS.items():
        metrics = loss_and_gradient(focal_loss(**settings), predict(start, training), training.labels)
        stages["losses"] |= {f"{name}/{key}": value for key, value in metrics.items()}
    models = {name: copy.deepcopy(start) for name in TRAINED}
    for name, model in models.items():
        loss = train(model, training, focal_loss(**VARIANTS[name]), TrainConfig())
        metrics = {"loss": loss} | moved(model, start) | likelihoods(predict(model, training), training.labels)
        stages["training"] |= {f"{name}/{key}": value for key, value in metrics.items()}
        scores = predict(model, held_out)
        metrics = expected_scores(scores, held_out.labels) | likelihoods(scores, held_out.labels)
        stages["evaluation"] |= {f"{name}/{key}": value for key, value in metrics.items()}
        right = (scores.argmax(-1) == held_out.labels)[held_out.real]
        stages["rates"][f"{name}/accuracy"] = right.double().mean().item()
    scores = predict(models["cross_entropy"], held_out)
    for name, settings in VARIANTS.items():
        criterion = focal_loss(**settings, size_average=False)
        stages["evaluation"][f"{name}/negatives"] = share_of_negatives(criterion, scores, held_out.labels)
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
