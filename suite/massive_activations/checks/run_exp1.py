"""run_exp1: what is saved and drawn, for vision transformers and for models with given states; then the experiment."""

import os
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import nn

FAMILIES = ("clip", "mae", "dinov2_reg")
DTYPES = ("float32", "float64")
NAMES = ("vit_s.4", "vit_b.4", "B-16", "l.14.v2")


def cases(seed):
    generator = np.random.default_rng(seed)

    def integer(low, high):
        return int(generator.integers(low, high + 1))

    def uniform(low, high):
        """A number of either sign."""
        return float(generator.uniform(low, high) * generator.choice([-1, 1]))

    def one_of(options):
        return options[integer(0, len(options) - 1)]

    def call(name, family, dtype, **extra):
        places = {"size": one_of(NAMES), "folder": one_of(("text", "path", "deep"))}
        containers = {"layers": one_of(("module list", "list", "tuple"))}
        return {"name": name, "family": family, "dtype": dtype, **places, **containers, **extra}

    def vit(name, family, dtype="float32", changed=False, **extra):
        """A vision transformer with random weights, of which an intervention may change activations."""
        depth = integer(2, 4)
        layer = integer(1, depth)
        sizes = {"depth": depth, "layer": layer, "side": 4 * integer(2, 3), "weights": integer(0, 10**6)}
        if changed:
            places = [[integer(0, 4), integer(0, 5), uniform(*span)] for span in ((2e4, 9e4), (5e4, 9e4), (150, 400))]
            sizes |= {"changed": places, "changed_layer": one_of((layer, integer(1, layer)))}
        return call(name, family, dtype, **sizes | extra)

    def given(name, family, dtype, states, layer=1, **extra):
        """A model whose blocks hand out these hidden states, each (tokens, width)."""
        states = [np.asarray(state, dtype=dtype) for state in states]
        return call(name, family, dtype, states=states, layer=layer, **extra)

    def peaked(spread, factors):
        """A state of magnitudes around a spread, and peaks at multiples of what a massive activation takes."""
        # An odd number of magnitudes has one median.
        state = spread * generator.normal(size=(2 * integer(3, 5) + 1, 2 * integer(2, 4) + 1))
        bound = max(100, 1000 * np.median(np.abs(state)))
        places = generator.permutation(state.size)[: len(factors)]
        state.flat[places] = [bound * factor * generator.choice([-1, 1]) for factor in factors]
        return state

    training = generator.permutation([False, True] * 6).tolist()
    for number, (family, dtype, changed) in enumerate(product(FAMILIES, DTYPES, (False, True))):
        name = f"{family}, {dtype}{', an intervention' * changed}"
        yield vit(name, family, dtype, changed, training=training[number])
    for family in FAMILIES:
        # Hooks of a caller that see the hidden state first, of a block whose output the next one writes over.
        places = [[0, 3, uniform(2e4, 9e4)], [3, 5, uniform(2e4, 9e4)]]
        same = {"depth": 3, "layer": 2, "changed": places, "changed_layer": 2}
        yield vit(f"{family}, an intervention in this layer", family, **same)
        states = [peaked(0.5, [uniform(2, 9)]) for _ in range(3)]
        states = [state[:7, :5] for state in states]
        yield given(f"{family}, states written over", family, one_of(DTYPES), states, 2)
    for family, dtype in product(FAMILIES, DTYPES):
        name = f"{family}, {dtype}"
        some = [generator.uniform(*span) for span in ((1.2, 9), (1.2, 9), (0.5, 0.9), (0.2, 0.9))]
        yield given(f"{name}, quiet", family, dtype, [peaked(0.02, some)])
        yield given(f"{name}, loud", family, dtype, [peaked(generator.uniform(0.5, 3), some)])
    many = generator.uniform(1.5, 4, size=8)
    yield given("many massive activations", one_of(FAMILIES), "float32", [peaked(0.3, many)])
    yield given("large everywhere", "mae", "float32", [500 + 100 * generator.normal(size=(6, 5))])
    wall = generator.uniform(0.5, 1.5, size=(7, 5))
    wall[:2] *= 0.05
    wall[1, 2], wall[5, 3] = -generator.uniform(200, 400), generator.uniform(3000, 9000)
    yield given("tokens of different scales", "clip", "float32", [wall])
    yield {"name": "experiment", "seed": seed % 1000}

    def whole(median):
        """Whole numbers of either sign around the median of their magnitudes."""
        state = np.array([median - 1] * 17 + [median] + [median + 1] * 17)
        return state * generator.choice([-1.0, 1.0], size=35)

    def at(state, *values):
        """The state with values of either sign in place of some of the largest, as (tokens, width)."""
        state[-len(values) :] = [value * generator.choice([-1, 1]) for value in values]
        return generator.permutation(state).reshape(-1, 5)

    for family, median in zip(FAMILIES, generator.permutation([3, 5, 8]).tolist(), strict=True):
        bounds = at(whole(median), 999.5 * median, 1000.5 * median)
        yield given(f"{family}, about 1,000 times the median", family, one_of(DTYPES), [bounds], edge=True)
        bounds = at(0.01 * whole(median), 99.5, 100.5)
        yield given(f"{family}, magnitudes about 100", family, one_of(DTYPES), [bounds], edge=True)
        zeros = at(np.zeros(35), *(generator.uniform(*span) for span in ((1, 90), (110, 900))))
        yield given(f"{family}, a median of 0", family, one_of(DTYPES), [zeros], edge=True)
    for layer in (0, -1, 4):
        yield vit(f"layer {layer} of 3", one_of(FAMILIES), depth=3, layer=layer, edge=True)
    for family in FAMILIES:
        mixed = {"training": "some", "edge": True}
        yield vit(f"{family}, some modules in training", family, one_of(DTYPES), **mixed)
        for raising in (1, 2):
            yield vit(f"{family}, block {raising} raises", family, depth=3, layer=2, raising=raising, **mixed)
        yield vit(f"{family}, files of an earlier run", family, earlier=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    started = os.getcwd()
    with tempfile.TemporaryDirectory() as root:
        os.chdir(root)
        try:
            found = observe_call(case, Path(root))
        finally:
            os.chdir(started)
    return {"double" if case["dtype"] == "float64" else "single": found}


class GivenBlock(nn.Module):
    """A block that hands out a state of its own, and writes over what it is handed, as `Block` does."""

    def __init__(self, state, family):
        super().__init__()
        self.register_buffer("state", torch.tensor(state))
        self.family = family

    def forward(self, hidden):
        from lib.vit import BlockOutput

        if hidden is not None:
            hidden.fill_(-77.0)
        fresh = self.state.clone()
        fresh = fresh.unsqueeze(1) if self.family == "clip" else fresh.unsqueeze(0)
        return BlockOutput(fresh, torch.ones(1, 1, len(self.state), len(self.state)))


class GivenModel(nn.Module):
    def __init__(self, states, family):
        super().__init__()
        self.parts = nn.ModuleList(GivenBlock(state, family) for state in states)
        self.unit = nn.Parameter(self.parts[0].state.new_ones(1))

    def forward(self, images):
        hidden = None
        for part in self.parts:
            hidden = part(hidden).hidden
        return self.unit * hidden[:1, :1].sum(dim=-1)


def build(call):
    """The model, its layers and its transform."""
    from lib.config import FAMILIES as FAMILY_OF
    from lib.config import Size, ViTConfig
    from lib.transforms import Transform
    from lib.vit import VisionTransformer

    if "states" in call:
        model = GivenModel(call["states"], call["family"])
        return model, model.parts, Transform(8)
    size = Size(depth=call["depth"], width=6, heads=2)
    config = ViTConfig(FAMILY_OF[call["family"]], size, image_side=call["side"], dropout=0.5)
    model = VisionTransformer(config).to(getattr(torch, call["dtype"]))
    generator = np.random.default_rng(call["weights"])
    for parameter in model.parameters():
        parameter.data = torch.tensor(0.2 + 0.5 * generator.normal(size=parameter.shape), dtype=parameter.dtype)
    model.train(bool(call.get("training")))
    if call.get("training") == "some":
        for number, module in enumerate(model.modules()):
            module.training = number % 3 == 1
    return model, model.blocks, Transform(config.image_side)


def state_of(model):
    """The mode of each module and how many hooks it has, and which parameters have gradients."""
    kinds = ("_forward_hooks", "_forward_pre_hooks")
    modules = [[module.training, *(len(getattr(module, kind)) for kind in kinds)] for module in model.modules()]
    return modules, [parameter.requires_grad for parameter in model.parameters()]


def leave_files(call, folder):
    """What an earlier run of this experiment and another experiment left in the folder."""
    from lib.artifacts import artifact_path

    names = call["family"], call["size"]
    np.savez(artifact_path(folder, f"exp1_layer{call['layer']}", *names, ".npz"), old=np.zeros(3))
    artifact_path(folder, f"exp1_layer{call['layer']}", *names, ".svg").write_text("old")
    np.savez(artifact_path(folder, "exp2", *names, ".npz"), other=np.ones(3))


def observe_call(call, root):
    import lib.plotting as plotting
    from lib.config import FAMILIES as FAMILY_OF
    from lib.interventions import intervening
    from lib.vit import BlockOutput
    from main_vit import run_exp1

    model, blocks, transform = build(call)
    layers = {"module list": nn.ModuleList, "list": list, "tuple": tuple}[call["layers"]](blocks)
    figures, modes, outputs = [], [], []

    def watch(module, given):
        modes.append([torch.is_grad_enabled(), any(part.training for part in module.modules())])

    def change(block, given, output):
        hidden = FAMILY_OF[call["family"]].images_first(output.hidden).clone()
        for token, feature, value in call["changed"]:
            hidden[:, token, feature] = value
        return BlockOutput(FAMILY_OF[call["family"]].images_first(hidden).contiguous(), output.attention)

    def fail(*_):
        raise IndexError("no")

    def draw(surface, path):
        figures.append(
            {
                "magnitudes": np.array(surface.magnitudes),
                "tokens": [[int(place), name] for place, name in surface.token_ticks.items()],
                "features": [int(place) for place in surface.feature_ticks],
                "title": surface.title,
            }
        )
        Path(path).write_text("drawn")

    folder = root / "not" / "yet" if call["folder"] == "deep" else root / "results"
    if call.get("earlier"):
        leave_files(call, folder)
    model.register_forward_pre_hook(watch)
    model.register_forward_hook(lambda module, given, output: outputs.append(output.detach().clone()))
    if "raising" in call:
        blocks[call["raising"]].register_forward_pre_hook(fail)
    block = [blocks[call["changed_layer"] - 1]] if "changed" in call else []
    original, plotting._draw_surface = plotting._draw_surface, draw
    result = None
    try:
        with intervening(block, [change] * len(block)):
            before = state_of(model)
            savedir = str(folder) if call["folder"] == "text" else folder
            try:
                result = run_exp1(call["layer"], layers, model, transform, savedir, call["family"], call["size"])
            except (ValueError, IndexError) as error:
                result = "ValueError" if isinstance(error, ValueError) else "passed on"
            after = state_of(model)
    finally:
        plotting._draw_surface = original
    kept = {"model unchanged": before == after, "layers unchanged": [*layers] == [*blocks]}
    if result == "ValueError":
        return {"result": result} | kept
    found = {
        "result": os.path.relpath(result, root) if isinstance(result, Path) else result,
        "is a path": isinstance(result, Path),
        "modes": modes[-1:],
        "output": outputs[-1:],
        "figures": figures,
        "files": files_of(root),
    }
    return found | kept if call.get("edge") else found


def files_of(root):
    """Every file below the root, by its path."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                contents = {key: [str(arrays[key].dtype), arrays[key]] for key in sorted(arrays.files)}
        elif path.is_dir():
            continue
        else:
            contents = path.read_text()
        found[path.relative_to(root).as_posix()] = contents
    return found
