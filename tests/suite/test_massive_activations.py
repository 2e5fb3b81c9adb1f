"""massive_activations: what experiment 1 saves against a stream worked out by hand, and the paper's effects."""

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, tempfile
from pathlib import Path
import numpy as np, torch
import lib.plotting as plotting
from experiment import run, run_family
from lib.artifacts import artifact_path
from lib.config import FAMILIES, Size, ViTConfig
from lib.data import SIDE, example_picture, make_dataset
from lib.transforms import Transform
from lib.vit import VisionTransformer
from main_vit import run_exp1

figures, facts = [], {"states": {}, "inputs": {}, "drawn": {}}
draw = plotting._draw_surface
plotting._draw_surface = lambda surface, path: figures.append(surface)
folder = Path(tempfile.mkdtemp())
linear = lambda layer, x: x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
softmax = lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def normed(norm, x):
    middle, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - middle) / np.sqrt(spread + norm.eps) * norm.weight.detach().numpy() + norm.bias.detach().numpy()


def by_hand(model, image, last):
    '''One token and one head at a time, in numpy: what block number `last` puts out.'''
    side, stream = model.config.patch_side, []
    kernel = model.patch_embed.weight.detach().numpy()
    for row in range(model.config.image_side // side):
        for column in range(model.config.image_side // side):
            patch = image[:, row * side : (row + 1) * side, column * side : (column + 1) * side]
            stream.append((kernel * patch).sum((1, 2, 3)) + model.patch_embed.bias.detach().numpy())
    stream = np.array(stream) + model.positions.detach().numpy()[0]
    stream = np.concatenate([model.cls_token.detach().numpy()[0], model.registers.detach().numpy()[0], stream])
    if model.config.family.pre_norm:
        stream = normed(model.pre_norm, stream)
    for block in list(model.blocks)[:last]:
        width = stream.shape[1]
        size = width // block.attention.heads
        states = linear(block.attention.qkv, normed(block.norm1, stream))
        mixed = np.zeros_like(stream)
        for start in range(0, width, size):
            queries, keys, values = (states[:, at + start : at + start + size] for at in (0, width, 2 * width))
            for token in range(len(stream)):
                mixed[token, start : start + size] = softmax(keys @ queries[token] / np.sqrt(size)) @ values
        scales = block.scales.detach().numpy()
        stream = stream + scales[0] * linear(block.attention.out, mixed)
        inner = linear(block.mlp.fc1, normed(block.norm2, stream))
        inner = torch.nn.functional.gelu(torch.tensor(inner)).numpy()
        stream = stream + scales[1] * linear(block.mlp.fc2, inner)
    return stream


for family in FAMILIES:
    torch.manual_seed(3)
    model = VisionTransformer(ViTConfig(FAMILIES[family], Size(3, 8, 2), image_side=8)).double()
    transform = Transform(8)
    image = transform(example_picture()).double().numpy()
    with torch.no_grad():
        model.blocks[1].mlp.fc2.bias[5] -= 3000
    errors = []
    for layer in (1, 2, 3):
        with np.load(run_exp1(layer, model.blocks, model, transform, folder, family, "s")) as arrays:
            errors.append(float(np.abs(arrays["features"] - np.abs(by_hand(model, image, layer))).max()))
            facts["inputs"][family] = bool(np.array_equal(arrays["inputs"], image[np.newaxis]))
    facts["states"][family] = errors
    drawn = [[list(figure.token_ticks.values()), list(figure.feature_ticks)] for figure in figures[-3:]]
    facts["drawn"][family] = drawn
plotting._draw_surface = draw
run_exp1(1, model.blocks, model, transform, folder, family, "s.4")
facts["picture"] = artifact_path(folder, "exp1_layer1", family, "s.4", ".svg").read_text()[:4]
facts["experiments"] = [run(seed) for seed in (0, 1)]
known, unseen = (make_dataset(count, Transform(SIDE), part) for part, count in enumerate((24, 12)))
facts["mae"] = run_family("mae", "vit_s.4", 0, known, unseen, folder)
print(json.dumps(facts))
"""
PATCHES = [f"patch {number}" for number in range(1, 5)]


@pytest.fixture(scope="module")
def facts():
    return facts_of("massive_activations", FACTS)


def test_what_is_saved_is_the_residual_stream_in_magnitudes(facts):
    assert facts["inputs"] == dict.fromkeys(facts["inputs"], True)
    for errors in facts["states"].values():
        assert max(errors) < 1e-9


def test_tokens_of_massive_activations_are_pointed_out_from_the_layer_that_writes_them(facts):
    for family, registers in (("clip", 0), ("mae", 0), ("dinov2_reg", 4)):
        tokens = ["CLS", *(f"reg {number}" for number in range(1, registers + 1)), *PATCHES]
        assert facts["drawn"][family] == [[[], []], [tokens, [5]], [tokens, [5]]]


def test_a_size_with_a_dot_keeps_its_name(facts):
    assert facts["picture"] == "<svg"


def test_massive_activations_are_few_start_at_one_layer_and_stay(facts):
    for stages in facts["experiments"]:
        states, rates = stages["hidden states"], stages["rates"]
        for family in ("clip", "dinov2_reg"):
            assert rates[f"{family}: example, above 100"] == 2
            assert rates[f"{family}: example, times the median"] > 1000
            assert states[f"{family}: top 1, layer 1"] < 20
            for layer in (2, 4):
                assert states[f"{family}: top 1, layer {layer}"] > 1000
                assert states[f"{family}: top 3, layer {layer}"] < 100
        assert rates["dinov2_reg: example, token"] == 3


def test_a_model_in_which_nothing_is_planted_has_none(facts):
    assert facts["mae"]["rates"]["example, above 100"] == 0
    assert max(facts["mae"]["hidden states"][f"top 1, layer {layer}"] for layer in (1, 2, 4)) < 20


def test_means_do_as_well_as_the_values_and_zeros_do_not(facts):
    for stages in facts["experiments"]:
        changed, rates = stages["interventions"], stages["rates"]
        for family in ("clip", "dinov2_reg"):
            loss = stages["classifier"][f"{family}: unseen, loss"]
            accuracy = rates[f"{family}: unseen, accuracy"]
            assert changed[f"{family}: set to mean, loss"] == pytest.approx(loss, rel=0.01)
            assert changed[f"{family}: set to zero, loss"] > loss + 1
            assert rates[f"{family}: set to mean, accuracy"] == accuracy
            assert rates[f"{family}: median to zero, accuracy"] == pytest.approx(accuracy, abs=0.1)
            assert rates[f"{family}: set to zero, accuracy"] < accuracy - 0.2
            far = changed[f"{family}: set to zero, divergence"]
            assert changed[f"{family}: median to zero, divergence"] < 0.1 * far
            assert changed[f"{family}: largest, deviation"] < 0.05


def test_the_register_that_holds_them_draws_attention_and_may_be_fixed(facts):
    for stages in facts["experiments"]:
        metrics = stages["registers"]
        paid = {name: metrics[f"dinov2_reg: attention to {name}"] for name in ("CLS", "reg 1", "reg 3")}
        assert paid["reg 3"] > 2 * max(paid["CLS"], paid["reg 1"])
        assert metrics["dinov2_reg: fixed registers, divergence"] < 0.01
        fixed = stages["rates"]["dinov2_reg: fixed registers, accuracy"]
        assert fixed == pytest.approx(stages["rates"]["dinov2_reg: unseen, accuracy"], abs=0.1)
