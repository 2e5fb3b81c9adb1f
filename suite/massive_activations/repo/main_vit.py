"""The experiments on vision transformers: one hidden state, all layers, interventions, registers."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lib.artifacts import artifact_path, figure_title
from lib.config import FAMILIES
from lib.data import Dataset, example_picture
from lib.interventions import FixTokens, SetActivations, intervening
from lib.modes import evaluation
from lib.plotting import plot_3d_feat_vit, plot_layers_vit
from lib.probes import TOP, ClassAttention, LayerStatistics, TokenMeans, watch
from lib.training import accuracy, divergence, loss, predict

INTERVENED = 2


def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    transform: Callable[[NDArray[np.uint8]], Tensor],
    savedir: str | Path,
    model_family: str,
    model_size: str,
) -> Path:
    """Save and draw the activation magnitudes of one hidden state, of the example picture.

    layer_id: which layer's hidden state, counted from 1.
    layers: the model's blocks, in their order; each returns what `lib.vit.Block` returns.
    model: takes a batch of images, and calls each of its blocks once.
    transform: from the picture to what a model takes.
    savedir: the folder of the files.
    model_family: one of `FAMILIES`.
    model_size: a name, for files and figures.

    Returns the path of the arrays.
    """
    if not 1 <= layer_id <= len(layers):
        raise ValueError(f"layer {layer_id} of {len(layers)}")
    family = FAMILIES[model_family]
    inputs = transform(example_picture()).unsqueeze(0).to(next(model.parameters()).dtype)
    seen = []
    # Taken at once: the next block writes into the memory of what it is handed.
    handle = layers[layer_id - 1].register_forward_hook(
        lambda block, given, output: seen.append(family.images_first(output.hidden)[0].abs())
    )
    try:
        with evaluation(model):
            model(inputs)
    finally:
        handle.remove()
    features = seen[0].numpy()
    massive = (features > 100) & (features >= 1000 * np.median(features))
    positions, dimensions = (np.unique(places).tolist() for places in np.nonzero(massive))
    experiment = f"exp1_layer{layer_id}"
    path = artifact_path(savedir, experiment, model_family, model_size, ".npz")
    np.savez(path, inputs=inputs.numpy(), features=features)
    plot_3d_feat_vit(
        features,
        {position: family.token_name(position) for position in positions},
        dimensions,
        figure_title(model_family, model_size, layer_id),
        artifact_path(savedir, experiment, model_family, model_size, ".svg"),
    )
    return path


def run_exp2(
    layers: Sequence[nn.Module],
    model: nn.Module,
    images: Tensor,
    savedir: str | Path,
    model_family: str,
    model_size: str,
) -> dict[str, list[float]]:
    """The largest magnitudes and the median at every layer, averaged over images; saved and drawn as well.

    Returns a list with a value for each layer under "top 1", "top 2", "top 3" and "median".
    """
    statistics = [LayerStatistics(FAMILIES[model_family]) for _ in layers]
    watch(model, images, layers, statistics)
    names = [*(f"top {rank}" for rank in range(1, TOP + 1)), "median"]
    by_layer = zip(*(of_layer.means() for of_layer in statistics), strict=True)
    series = dict(zip(names, map(list, by_layer), strict=True))
    np.savez(artifact_path(savedir, "exp2", model_family, model_size, ".npz"), **series)
    drawing = artifact_path(savedir, "exp2", model_family, model_size, ".svg")
    plot_layers_vit(series, figure_title(model_family, model_size), drawing)
    return series


def run_exp3(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    known: Dataset,
    unseen: Dataset,
    original: Tensor,
    model_family: str,
) -> dict[str, float]:
    """What the classifier makes of unseen images while the largest activations of one layer's output are fixed.

    They are set to zero, or to means that were taken before. For comparison as many activations of median magnitude are
    set to zero.

    original: the predictions for the unseen images without interventions.

    Returns the measures of `compare` for each intervention, and the mean and the relative standard deviation of the
    largest magnitude.
    """
    family = FAMILIES[model_family]
    block = [layers[layer_id - 1]]
    zeros = torch.zeros(INTERVENED)
    largest = range(INTERVENED)
    observer = SetActivations(family, largest, zeros)
    watch(model, known.images, block, [observer])
    middle = model.config.tokens * model.config.size.width // 2
    median = range(middle, middle + INTERVENED)
    interventions = {
        "set to zero": SetActivations(family, largest, zeros),
        "set to mean": SetActivations(family, largest, observer.mean_seen()),
        "median to zero": SetActivations(family, median, zeros),
    }
    results = {}
    for name, intervention in interventions.items():
        with intervening(block, [intervention]):
            measures = compare(predict(model, unseen.images), original, unseen.labels)
        results |= {f"{name}, {measure}": value for measure, value in measures.items()}
    magnitudes = torch.cat(observer.seen)[:, 0].abs()
    results["largest, mean"] = float(magnitudes.mean())
    results["largest, deviation"] = float(magnitudes.std() / magnitudes.mean())
    return results


def run_exp4(
    layers: Sequence[nn.Module],
    model: nn.Module,
    known: Dataset,
    unseen: Dataset,
    original: Tensor,
    model_family: str,
) -> dict[str, float]:
    """What registers do: the class token's attention to them, and the classifier while their features are fixed.

    At the output of every layer the registers' features are replaced by their means over the known images.

    original: the predictions for the unseen images without interventions.

    Returns the attention to each single token and to the patches, how spread out it is, and the measures of `compare`.
    """
    family = FAMILIES[model_family]
    prefix = 1 + family.registers
    means = [TokenMeans(family, prefix) for _ in layers]
    watch(model, known.images, layers, means)
    fixed = [FixTokens(family, 1, of_layer.mean()[1:]) for of_layer in means]
    attention = ClassAttention()
    watch(model, unseen.images, layers[-1:], [attention])
    paid = attention.mean()
    results = {f"attention to {family.token_name(place)}": float(paid[place]) for place in range(prefix)}
    results["attention to patches"] = float(paid[prefix:].sum())
    results["attention, spread"] = float(torch.special.entr(paid).sum())
    with intervening(layers, fixed):
        measures = compare(predict(model, unseen.images), original, unseen.labels)
    return results | {f"fixed registers, {measure}": value for measure, value in measures.items()}


def compare(predictions: Tensor, original: Tensor, labels: Tensor) -> dict[str, float]:
    """Accuracy and loss of predictions under an intervention, and how far it has moved them."""
    return {
        "accuracy": accuracy(predictions, labels),
        "loss": loss(predictions, labels),
        "divergence": divergence(predictions, original),
    }
