"""Log-linear attention: masks of levels, the hierarchical matrix, outputs and gradients; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "g", "level_scales")


def _needed(steps):
    """How many levels that many positions have."""
    return (steps - 1).bit_length() + 1


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def common(name, **more):
        usual = {
            "name": name,
            "dtype": "float32",
            "layout": "plain",
            "wanted": None,
            "key": "near",
            "positional": False,
            "recording": True,
        }
        return usual | more

    def masks(name, steps, ahead=(), extra=0, **more):
        levels = _needed(steps) + extra
        return (
            common(name, kind="masks", L=normal(*ahead, levels, steps), weights=normal(levels, *ahead, steps, steps))
            | more
        )

    def matrix(name, steps, ahead=(), extra=0, **more):
        scales = normal(*ahead, _needed(steps) + extra, steps)
        a = -uniform(*ahead, steps, high=0.7)
        return common(name, kind="matrix", a=a, L=scales, weights=normal(*ahead, steps, steps)) | more

    def attention(name, rows=2, steps=9, groups=2, heads=4, width=5, value_width=3, extra=0, options=None, **more):
        levels = _needed(steps) + extra
        given = {
            "q": normal(rows, steps, groups, width),
            "k": normal(rows, steps, groups, width),
            "v": normal(rows, steps, heads, value_width),
            "g": -uniform(rows, steps, heads, high=0.7),
            "level_scales": normal(rows, steps, heads, levels),
        }
        weights = normal(rows, steps, heads, value_width)
        return common(name, kind="attention", **given, weights=weights, options=options or {}) | more

    # Masks of single levels.
    for steps in (1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 33):
        yield masks(f"masks of {steps} positions", steps)
    yield masks("masks with one axis ahead", 6, (3,))
    yield masks("masks with two axes ahead", 7, (2, 3))
    yield masks("masks with axes of one ahead", 5, (1, 1))
    yield masks("masks of levels that no position has", 5, (2,), extra=3)
    yield masks("masks of twelve levels", 3, extra=9)
    yield masks("as many levels as positions", 3, (2,))
    yield masks("masks of the first levels alone", 9, (2,), extra=-3)
    yield masks("masks of level 0 alone", 6, extra=-3)
    yield masks("masks of scales of 0", 6, L=torch.zeros(4, 6).double())
    yield masks("masks in double precision", 11, (2,), extra=1, dtype="float64", key="double")
    yield masks("masks, no gradient is needed", 5, (2,), wanted=[])
    yield masks("masks, no gradient is recorded", 5, (2,), recording=False)
    yield masks("masks, not contiguous", 6, (2, 3), layout="strided")
    yield masks("masks, expanded", 6, (2, 3), layout="expanded")
    yield masks("masks of 150 positions", 150)
    # The hierarchical matrix.
    for steps in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33):
        yield matrix(f"matrix of {steps} positions", steps)
    yield matrix("matrix with one axis ahead", 6, (3,))
    yield matrix("matrix with two axes ahead", 10, (2, 3))
    yield matrix("matrix with more levels than needed", 9, (2,), extra=4)
    yield matrix("matrix with one level more", 8, extra=1)
    yield matrix("matrix with one level more, one position", 1, extra=1)
    yield matrix("matrix of 64 positions", 64, a=-uniform(64, high=0.1))
    yield matrix("matrix of 150 positions", 150, a=-uniform(150, high=0.1))
    yield matrix("matrix in double precision", 13, (2,), dtype="float64", key="double")
    yield matrix("matrix of open gates", 9, a=torch.zeros(9).double())
    yield matrix("matrix of shut gates", 9, a=torch.full((9,), -80.0).double(), key="deep")
    yield matrix(
        "matrix, gates wiped now and then", 40, a=torch.where(uniform(40) < 0.3, -60.0, -0.05).double(), key="deep"
    )
    # Level 0 is shut, so that only entries remain that gates leave little of.
    faded = uniform(4, 5, low=50.0, high=100.0) * torch.tensor([0.0, 1.0, 1.0, 1.0]).view(4, 1)
    yield matrix(
        "matrix of faded entries alone", 5, a=-uniform(5, low=20.0, high=21.0), L=faded, dtype="float64", key="double"
    )
    # Gates that add up to the bound, behind the first position.
    growing = (torch.arange(5) > 0).double()
    yield matrix("matrix of gates above one", 5, a=growing)
    yield matrix("matrix, not contiguous", 6, (2, 3), layout="strided")
    yield matrix("matrix, expanded", 6, (2, 3), layout="expanded")
    yield matrix("matrix, alike at all positions", 6, (2,), layout="alike")
    yield matrix("matrix, only scales need a gradient", 6, wanted=["L"])
    yield matrix("matrix, only gates need a gradient", 6, wanted=["a"])
    yield matrix("matrix, no gradient is needed", 6, (2,), wanted=[])
    yield matrix("matrix, no gradient is recorded", 6, (2,), recording=False)
    # Attention.
    yield attention("the defaults")
    yield attention("the defaults, by position", positional=True)
    yield attention("a scale by position", positional=True, options={"scale": 0.6})
    yield attention("the scale of attention", options={"scale": None})
    yield attention("the scale of attention, width 7", width=7, options={"scale": None})
    for value in (1.0, 1, 0.3, 2, 0, 0.0, -0.8):
        yield attention(f"scale of {value!r}", options={"scale": value})
    for steps in (1, 2, 3, 4, 5, 8, 16, 17):
        yield attention(f"{steps} positions", steps=steps)
    yield attention("70 positions", rows=1, steps=70, groups=1, heads=2, key="far")
    yield attention(
        "150 positions", rows=1, steps=150, groups=1, heads=1, width=3, g=-uniform(1, 150, 1, high=0.1), key="far"
    )
    yield attention("more levels than needed", extra=3)
    yield attention("twelve levels, two positions", steps=2, extra=10)
    yield attention("one row", rows=1)
    yield attention("one group", groups=1)
    yield attention("one group, one head", groups=1, heads=1)
    yield attention("as many groups as heads", groups=3, heads=3)
    yield attention("two groups, six heads", heads=6)
    yield attention("three groups, six heads", groups=3, heads=6)
    yield attention("all of one", rows=1, steps=1, groups=1, heads=1, width=1, value_width=1)
    yield attention("keys of width one", width=1)
    yield attention("values of width one", value_width=1)
    yield attention("keys as wide as values", width=3)
    yield attention("values wider than keys", width=2, value_width=6)
    yield attention("all sizes alike", rows=4, steps=4, groups=4, heads=4, width=4, value_width=4, extra=1)
    yield attention("the largest widths", rows=1, steps=5, groups=1, heads=2, width=64, value_width=64, key="far")
    yield attention("many heads", rows=1, steps=3, groups=4, heads=64, width=2)
    yield attention("many rows", rows=64, steps=3, groups=1, heads=2, width=2)
    for groups, heads in ((2, 3), (4, 2), (3, 4), (2, 1)):
        yield attention(f"{groups} groups, {heads} heads", groups=groups, heads=heads)
    sizes = (2, 9, 4)
    yield attention("open gates", g=torch.zeros(sizes).double())
    yield attention("shut gates", g=torch.full(sizes, -80.0).double(), key="deep")
    yield attention("gates of all sizes", g=-uniform(*sizes, high=80.0), key="deep")
    long = {"rows": 1, "steps": 60, "groups": 1, "heads": 2}
    yield attention("gates that add up to thousands", **long, g=-uniform(1, 60, 2, low=10.0, high=70.0), key="deep")
    wiped = torch.where(uniform(1, 60, 2) < 0.2, -60.0, -0.02).double()
    yield attention("wiped now and then", **long, g=wiped, key="deep")
    swing = uniform(*sizes, high=0.8) * torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]).view(1, 9, 1)
    yield attention("gates above one", g=swing, key="far")
    yield attention("growth up to the bound", steps=5, g=growing.view(1, 5, 1).repeat(2, 1, 4), key="far")
    # Products are large and gates small, so that what has faded is still seen.
    for dtype, key, low in (("float32", "near", -26.0), ("float64", "double", -36.0)):
        yield attention(
            f"faded positions alone, {dtype}",
            rows=1,
            steps=3,
            groups=1,
            heads=2,
            width=64,
            value_width=1,
            dtype=dtype,
            key=key,
            g=uniform(1, 3, 2, low=low, high=-20.5),
            q=uniform(1, 3, 1, 64, low=100.0, high=500.0),
            k=uniform(1, 3, 1, 64, low=1.0, high=10.0),
            v=uniform(1, 3, 2, 1, low=100.0, high=500.0),
            level_scales=uniform(1, 3, 2, 3, low=10.0, high=100.0) * torch.tensor([0.0, 1.0, 1.0]),
        )
    yield attention("scales all alike", level_scales=torch.full((2, 9, 4, 5), 0.7).double())
    yield attention("large scales", level_scales=uniform(2, 9, 4, 5, low=-100.0, high=100.0), key="far")
    yield attention("one level alone", level_scales=normal(2, 9, 4, 5) * torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]))
    for name in ("q", "k", "v", "level_scales"):
        given = attention(f"{name} of zero")
        yield given | {name: torch.zeros_like(given[name])}
    for name in ("q", "k", "v"):
        given = attention(f"{name} in the hundreds", key="far")
        yield given | {name: uniform(*given[name].shape, low=-500.0, high=500.0)}
    yield attention("double precision", dtype="float64", key="double")
    yield attention("double precision, the scale of attention", dtype="float64", key="double", options={"scale": None})
    yield attention(
        "double precision, gates of all sizes", dtype="float64", key="double", g=-uniform(*sizes, high=80.0)
    )
    yield attention("double precision, many positions", dtype="float64", key="double", **long)
    for layout in ("strided", "heads first", "expanded", "every other entry", "alike"):
        yield attention(f"layout: {layout}", layout=layout)
    for name in INPUTS:
        yield attention(f"only {name} needs a gradient", wanted=[name])
    yield attention("no gradient is needed", wanted=[])
    yield attention("no gradient is recorded", recording=False)
    yield attention(
        "as many groups as heads, only v needs a gradient", groups=3, heads=3, wanted=["v"], options={"scale": 0.6}
    )
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.log_linear_attn import naive

    names = {"masks": ("L",), "matrix": ("a", "L"), "attention": INPUTS}[case["kind"]]
    owners, tensors = {}, {}
    for name in names:
        item = case[name].to(getattr(torch, case["dtype"]), copy=True)
        owners[name], tensors[name] = _laid_out(item, case["layout"], name)

    def call(**changes):
        if case["kind"] == "masks":
            return [naive.construct_level_mask(level=level, **tensors) for level in range(tensors["L"].shape[-2])]
        if case["kind"] == "matrix":
            return [naive.construct_H_matrix(**tensors)]
        options = case["options"] | changes
        if case["positional"]:
            return [naive.naive_log_linear_attn(*tensors.values(), *options.values())]
        return [naive.naive_log_linear_attn(**tensors, **options)]

    if case["kind"] == "attention" and case["v"].shape[2] % case["k"].shape[2]:
        try:
            call()
        except ValueError:
            return {"raised": "ValueError"}
        return {"raised": "nothing"}

    # In a call of the other dtype nothing may be kept that this one reads.
    usual = dict(tensors)
    tensors |= {
        name: item.to(torch.float32 if item.dtype == torch.float64 else torch.float64) for name, item in usual.items()
    }
    call()
    tensors |= usual
    # The same tensors hold other values at first: nothing may be kept of that call, and its results stay.
    values = {name: owner.clone() for name, owner in owners.items()}
    for owner in owners.values():
        owner.mul_(0.5)
    halved = {name: owner.clone() for name, owner in owners.items()}
    with torch.set_grad_enabled(case["recording"]):
        earlier = call(scale=0.9)
    stayed = [bool(torch.equal(owner, halved[name])) for name, owner in owners.items()]
    kept = [item.clone() for item in earlier]
    for name, owner in owners.items():
        owner.copy_(values[name])
    wanted = [name for name in names if case["wanted"] is None or name in case["wanted"]]
    for name in wanted:
        tensors[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in tensors.items()}
    with torch.set_grad_enabled(case["recording"]):
        results = call()
    facts = {"results": [[str(item.dtype), list(item.shape)] for item in results]}
    weights = case["weights"]
    if case["layout"] == "strided":
        # Gradients that come back lie as oddly as the inputs.
        weights = weights.mT.contiguous().mT
    loss = (torch.stack(results).double() * weights).sum()
    gradients = [None] * len(wanted)
    if loss.requires_grad:
        gradients = torch.autograd.grad(loss, [tensors[name] for name in wanted], allow_unused=True)
    # Whether there is a graph to what a result does not depend on is open.
    facts["graph without need"] = loss.requires_grad and not (wanted and case["recording"])
    seen = {"results": [item.detach().clone() for item in results], "earlier": kept}
    for name, gradient in zip(wanted, gradients, strict=True):
        # Where nothing depends on an input, there may be no gradient.
        seen[f"gradient of {name}"] = torch.zeros_like(tensors[name]) if gradient is None else gradient
    # No view of an input.
    memory = {item.untyped_storage().data_ptr() for item in tensors.values()}
    facts["own memory"] = [item.untyped_storage().data_ptr() not in memory for item in results]
    facts["flags"] = [[item.requires_grad, item.is_leaf, item.grad is None] for item in tensors.values()]
    facts["unchanged"] = [bool(torch.equal(item, before[name])) for name, item in tensors.items()]
    facts["unchanged at first"] = stayed
    facts["earlier results stay"] = [bool(torch.equal(item, copy)) for item, copy in zip(earlier, kept, strict=True)]
    return {case["key"]: seen, **facts}


def _laid_out(item, layout, name):
    """A tensor that owns its memory, and the view of it that is handed over."""
    if layout == "strided":
        owner = item.transpose(0, -1).contiguous()
        return owner, owner.transpose(0, -1)
    if layout == "heads first":
        owner = item.transpose(1, 2).contiguous()
        return owner, owner.transpose(1, 2)
    if layout == "expanded":
        # One head's vectors for all heads; for gates and scales one row's for all rows.
        owner = item[:, :, :1].clone() if name in ("q", "k", "v") else item[:1].clone()
        return owner, owner.expand(item.shape)
    if layout == "alike":
        # One position's entries for all positions.
        axis = -1 if name in ("a", "L") else 1
        owner = item.narrow(axis, 0, 1).clone()
        return owner, owner.expand(item.shape)
    if layout == "every other entry":
        owner = torch.stack([item + 1, item], dim=-1)
        return owner, owner[..., 1]
    return item, item
