"""run_exp1: what is saved and drawn, for real models and for ones that hand out given states; then the experiment."""

import os
import random
import struct
import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import nn

FAMILIES = ("clip", "mae", "dinov2_reg")
NAMES = ("vit_s.4", "vit_b.4", "B-16", "l.14.v2")


def cases(seed):
    generator = np.random.default_rng(seed)

    def vit(name, family, layer, **extra):
        """A call of a vision transformer with weights of its own."""
        drawn = int(generator.integers(10**6))
        size = NAMES[generator.integers(len(NAMES))]
        return {"name": name, "kind": "vit", "family": family, "layer": layer, "weights": drawn, "size": size, **extra}

    def given(name, family, states, layer, **extra):
        """A call of a model whose blocks hand out these hidden states, each (tokens, width)."""
        size = NAMES[generator.integers(len(NAMES))]
        states = [np.asarray(state) for state in states]
        return {
            "name": name,
            "kind": "given",
            "family": family,
            "layer": layer,
            "states": states,
            "size": size,
            **extra,
        }

    def noise(tokens, width, dtype=np.float32):
        return generator.normal(size=(tokens, width)).astype(dtype)

    def whole(tokens, width, median, peaks=()):
        """Whole numbers of either sign, half below and half above the median, and some peaks."""
        count = tokens * width
        state = np.array([median - 2] * ((count + 1) // 2) + [median + 2] * (count // 2), dtype=np.float32)
        state[[0, -1]] = median - 1, median + 1
        if count % 2:
            state[1] = median
        state = generator.permutation(state).reshape(tokens, width)
        above = iter(generator.permutation(np.argwhere(state == median + 2)).tolist())
        for peak in peaks:
            state[tuple(next(above))] = peak
        return state * generator.choice([-1, 1], size=state.shape).astype(np.float32)

    for family, layer in (("clip", 1), ("clip", 2), ("clip", 3), ("mae", 2), ("dinov2_reg", 1), ("dinov2_reg", 3)):
        yield vit(f"{family}, layer {layer}", family, layer)
    yield vit("one block", "clip", 1, depth=1)
    yield vit("the middle of many blocks", "mae", 5, depth=9)
    yield vit("one image of another size", "dinov2_reg", 2, side=16)
    for family in FAMILIES:
        yield vit(f"double precision, {family}", family, 2, dtype="float64")
    for family in FAMILIES:
        changed = [[0, 3, -19000.0], [3, 5, 24000.0], [4, 3, 17000.0]]
        yield vit(f"an intervention, {family}", family, 2, changed=changed)
    yield vit("an intervention in an earlier layer", "clip", 3, changed=[[3, 5, 24000.0]], changed_layer=1)
    yield vit("training, with dropout", "mae", 2, training=True)
    yield vit("some modules in training", "clip", 3, training="some")
    yield vit("a module in two places", "mae", 2, training="shared")
    yield vit("without gradients already", "dinov2_reg", 1, no_grad=True)
    yield vit("parameters that are not trained", "mae", 2, frozen=True)
    yield vit("a list of layers, a path", "clip", 2, layers="list", folder="path")
    yield vit("a tuple of layers, a folder in a folder that is not there", "mae", 2, layers="tuple", folder="deep")
    yield vit("a relative folder", "mae", 2, folder="relative")
    yield vit("a folder with a suffix", "clip", 2, folder="suffix")
    yield vit("a picture laid out by columns", "clip", 2, strided=True)
    yield vit("files of an earlier run", "clip", 2, earlier=True)
    again = [{"layer": 3}, {"layer": 2, "weights": int(generator.integers(10**6))}, {"layer": 2, "family": "mae"}]
    yield vit("called again", "clip", 2, again=again)
    yield vit("the same model with other weights", "dinov2_reg", 2, refilled=int(generator.integers(10**6)))
    for layer in (0, -1, 4):
        yield vit(f"layer {layer} of 3", "clip", layer)
    for family in ("clip", "dinov2_reg"):
        for raising in ("later", "layer"):
            yield vit(f"a model that raises, {family}, {raising}", family, 2, raising=raising, training="some")
    yield vit("a model that looks where nothing is", "mae", 2, raising="later", fault="IndexError")
    for family, tokens, width in (("clip", 7, 5), ("mae", 5, 7), ("dinov2_reg", 11, 4)):
        states = [whole(tokens, width, 2 + layer, [5e3 + layer, 7e3]) for layer in range(3)]
        yield given(f"states written over, {family}", family, states, 2)
    yield given("nearly 1,000 times the median", "mae", [whole(6, 5, 8, [8000 - 1 / 128, 8000])], 1)
    # 2.0 and 2.5 are medians, of which the bounds are exact.
    for name, peaks in (("at", [2000]), ("just below", [1999]), ("just above", [2001]), ("both", [2000, 1999, 2001])):
        yield given(f"{name} 1,000 times the median", "clip", [whole(6, 5, 2, peaks)], 1)
        if len(peaks) == 1:
            yield given(f"{name} 1,000 times the median, odd", "mae", [whole(7, 5, 2, peaks)], 1)
    for peaks in ([2499], [2500], [2501], [2400, 2600]):
        state = np.repeat(np.array([2, 3], np.float32), 12)
        state[20 : 20 + len(peaks)] = peaks
        state = generator.permutation(state).reshape(6, 4)
        yield given(f"a median between two numbers, {peaks}", "dinov2_reg", [state], 1)
    for peaks in ([100], [101], [99, 100, 101], [100.5]):
        state = (whole(6, 5, 4) / 128).astype(np.float32)
        state[2, 3], state[4, 1] = peaks[0], -peaks[-1]
        state[1, 3] = peaks[len(peaks) // 2]
        yield given(f"about 100, {peaks}", "clip", [state], 1)
    mostly = np.zeros((6, 5), np.float32)
    mostly[1, 2], mostly[3, 2], mostly[5, 0], mostly[0, 0] = -150, 100, 101, 7
    yield given("a median of 0", "dinov2_reg", [mostly], 1)
    yield given("no activation but 0", "mae", [np.zeros((3, 4), np.float32)], 1)
    yield given("large everywhere", "mae", [500 + 100 * noise(5, 6)], 1)
    tower = noise(9, 6)
    tower[:, 4] = 60 + tower[:, 4]
    yield given("a feature large at all tokens", "mae", [tower], 1)
    wall = generator.uniform(0.5, 1.5, size=(6, 6)).astype(np.float32)
    wall[4:] *= 40
    wall[1, 2], wall[5, 3] = -9e4, 1.5e4
    yield given("tokens of unlike scale", "clip", [wall], 1)
    crowd = 0.01 * noise(12, 9)
    for token, feature in ((2, 7), (2, 1), (9, 7), (9, 3), (4, 7), (11, 0), (3, 8), (7, 7)):
        crowd[token, feature] = generator.choice([-1, 1]) * (3000 + generator.integers(900))
    for family in ("clip", "dinov2_reg"):
        yield given(f"many in few places, {family}", family, [crowd], 1)
    large = 0.01 * noise(300, 270)
    for token, feature in ((299, 269), (0, 16), (257, 9), (12, 264)):
        large[token, feature] = -4000 - token
    for family in ("clip", "dinov2_reg"):
        yield given(f"many tokens and features, {family}", family, [large], 1)
    yield given("one token", "mae", [noise(1, 6)], 1)
    yield given("one token, sequence first", "clip", [np.array([[0.25, -700.0, 0.5]], np.float32)], 1)
    yield given("one feature", "clip", [noise(6, 1)], 1)
    for scale in (1e-6, 1e20):
        yield given(f"of magnitude {scale}", "clip", [(scale * crowd).astype(np.float32)], 1)
    fine = noise(6, 5, np.float64)
    fine[4, 2], fine[1, 1] = 3e4 + 1e-6, -5e4
    for family in ("clip", "mae"):
        yield given(f"double precision, given, {family}", family, [fine, 2 * fine], 1, dtype="float64")
    drawn = vit("drawn", "dinov2_reg", 2, drawn=True, changed=[[3, 5, 24000.0]])
    yield {"name": "experiment, and a figure drawn", "seed": seed % 1000, "drawn": drawn}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"]), **observe(case["drawn"])}
    calls = [case, *({**case, **other} for other in case.get("again", ()))]
    observed, started = [], os.getcwd()
    with tempfile.TemporaryDirectory() as root:
        os.chdir(root)
        try:
            models = {}
            for call in calls:
                observed.append(_observe(call, Path(root), models))
            if "refilled" in case:
                observed.append(_observe({**case, "weights": case["refilled"], "reuse": True}, Path(root), models))
        finally:
            os.chdir(started)
    return {"double" if case.get("dtype") == "float64" else "calls": observed}


class _Outputs:
    """A hook that keeps what a module puts out; a copy of it has a list of its own."""

    def __init__(self):
        self.seen = []

    def __call__(self, module, given, output):
        self.seen.append(output.detach().clone())


class _Given(nn.Module):
    """A block without parameters that hands out a state of its own, and writes over what it is handed."""

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


class _GivenModel(nn.Module):
    def __init__(self, states, family):
        super().__init__()
        self.parts = nn.ModuleList(_Given(state, family) for state in states)
        self.unit = nn.Parameter(self.parts[0].state.new_ones(1))

    def forward(self, images):
        hidden = None
        for part in self.parts:
            hidden = part(hidden).hidden
        found = self.unit * hidden[:1, :1].sum(dim=-1)
        hidden.fill_(-78.0)
        return found


def _build(call):
    """The model, its layers and its transform."""
    from lib.config import FAMILIES as FAMILY_OF
    from lib.config import Size, ViTConfig
    from lib.transforms import Transform
    from lib.vit import VisionTransformer

    if call["kind"] == "given":
        model = _GivenModel(call["states"], call["family"])
        return model, model.parts, Transform(8)
    size = Size(depth=call.get("depth", 3), width=6, heads=2)
    config = ViTConfig(FAMILY_OF[call["family"]], size, image_side=call.get("side", 8), dropout=0.5)
    model = VisionTransformer(config)
    return model, model.blocks, Transform(config.image_side)


def _fill(model, seed):
    generator = np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data = torch.tensor(0.2 + 0.5 * generator.normal(size=parameter.shape), dtype=parameter.dtype)


def _state(model):
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return [
        [
            name,
            module.training,
            sorted(vars(module)),
            [len(getattr(module, kind)) for kind in kinds],
            [(str(p.dtype), p.requires_grad, p.grad is None) for p in module.parameters(recurse=False)],
        ]
        for name, module in model.named_modules()
    ]


def _folder(call, root):
    kind = call.get("folder", "text")
    if kind == "relative":
        return "here/results"
    path = root.joinpath(*{"deep": ("not", "yet"), "suffix": ("runs.npz",)}.get(kind, ("results",)))
    return str(path) if kind == "text" else path


def _observe(call, root, models):
    import lib.plotting as plotting
    from lib.config import FAMILIES as FAMILY_OF
    from lib.data import example_picture
    from lib.interventions import intervening
    from lib.vit import BlockOutput
    from main_vit import run_exp1

    if call.get("reuse"):
        model, layers, transform = models["last"]
    else:
        model, layers, transform = models["last"] = _build(call)
        if "dtype" in call:
            model.to(getattr(torch, call["dtype"]))
    if call["kind"] == "vit":
        _fill(model, call["weights"])
    training = call.get("training", False)
    model.train(bool(training))
    if training == "some":
        for number, module in enumerate(model.modules()):
            module.training = number % 3 == 1
    if training == "shared":
        inner = model.blocks[0].mlp
        inner.dropout.training = False
        model.blocks[2].mlp.dropout = inner.dropout
    if call.get("frozen"):
        model.requires_grad_(False)
        next(model.parameters()).requires_grad_(True)
    passed = {"list": list, "tuple": tuple}.get(call.get("layers"), lambda blocks: blocks)(layers)
    outputs = _Outputs()
    noted = {"pictures": [], "modes": [], "outputs": outputs.seen, "figures": []}
    models["noted"], models["strided"] = noted["pictures"], call.get("strided")

    def convert(picture):
        models["noted"].append(bool(np.array_equal(picture, example_picture())))
        values = transform(picture)
        models["returned"] = values.permute(1, 2, 0).contiguous().permute(2, 0, 1) if models["strided"] else values
        return models["returned"]

    convert = models["convert"] = models["convert"] if call.get("reuse") else convert

    def watch(module, given):
        modes = any(part.training for part in module.modules())
        images = given[0]
        noted["modes"].append([torch.is_grad_enabled(), modes, str(images.dtype), list(images.shape)])

    def change(block, given, output):
        hidden = FAMILY_OF[call["family"]].images_first(output.hidden).clone()
        for token, feature, value in call["changed"]:
            hidden[:, token, feature] = value
        return BlockOutput(FAMILY_OF[call["family"]].images_first(hidden).contiguous(), output.attention)

    def fail(*_):
        raise IndexError("no") if "fault" in call else OverflowError("no")

    def draw(surface, path):
        noted["figures"].append(
            {
                "magnitudes": np.array(surface.magnitudes),
                "dtype": str(np.asarray(surface.magnitudes).dtype),
                "tokens": [[int(place), name] for place, name in surface.token_ticks.items()],
                "features": [int(place) for place in surface.feature_ticks],
                "title": surface.title,
                "path": os.path.relpath(path, root),
            }
        )
        Path(path).write_bytes(bytes(24))

    savedir = _folder(call, root)
    handles = [model.register_forward_pre_hook(watch), model.register_forward_hook(outputs)]
    if "raising" in call:
        handles.append(layers[call["layer"] - (call["raising"] == "layer")].register_forward_pre_hook(fail))
    if call.get("earlier"):
        _leave_files(call, Path(savedir))
    original = plotting._draw_surface
    if not call.get("drawn"):
        plotting._draw_surface = draw
    block = [layers[call.get("changed_layer", call["layer"]) - 1]] if "changed" in call else []
    for seeded in (random.seed, np.random.seed, torch.manual_seed):
        seeded(5)
    error, result = None, None
    try:
        with torch.no_grad() if call.get("no_grad") else nullcontext(), intervening(block, [change] * len(block)):
            before = _state(model), [parameter.detach().clone() for parameter in model.parameters()]
            try:
                result = run_exp1(call["layer"], passed, model, convert, savedir, call["family"], call["size"])
            except ValueError:
                error = "ValueError"
            except (OverflowError, IndexError):
                error = "passed on"
            after = _state(model), list(model.parameters())
            recording = torch.is_grad_enabled()
    finally:
        plotting._draw_surface = original
        for handle in handles:
            handle.remove()
    kept = [torch.equal(one, other) for one, other in zip(before[1], after[1], strict=True)]
    return {
        "error": error,
        "result": [isinstance(result, Path), result and os.path.relpath(result, root)],
        "noted": noted,
        "model_unchanged": [before[0] == after[0], all(kept), recording, torch.is_grad_enabled()],
        "global_hooks": len(torch.nn.modules.module._global_forward_hooks),
        "hooks_left": sum(sum(counts) for _, _, _, counts, _ in _state(model)),
        "returned": list(models["returned"].shape) if noted["pictures"] else None,
        "chance": [random.random(), float(np.random.random()), float(torch.rand(()))],
        "files": _read(root),
    }


def _leave_files(call, folder):
    """What an earlier run, and somebody else, left in the folder."""
    from lib.artifacts import artifact_path

    experiment = f"exp1_layer{call['layer']}"
    np.savez(artifact_path(folder, experiment, call["family"], call["size"], ".npz"), old=np.zeros(3))
    artifact_path(folder, experiment, call["family"], call["size"], ".png").write_bytes(bytes(range(24)))
    np.savez(artifact_path(folder, "exp2", call["family"], call["size"], ".npz"), other=np.ones(3))
    (folder / "notes.txt").write_text("kept")


def _read(root):
    """Every file below the root, by its path."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_dir():
            continue
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                contents = {key: [str(arrays[key].dtype), arrays[key]] for key in sorted(arrays.files)}
        elif path.suffix == ".png":
            head = path.read_bytes()[:24]
            contents = [head[:8].hex(), list(struct.unpack(">II", head[16:24])) if len(head) == 24 else None]
        else:
            contents = path.read_text()
        found[path.relative_to(root).as_posix()] = contents
    return found
