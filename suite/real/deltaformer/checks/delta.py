"""The causal softmax and DeltaFormer: results, gradients, exceptions over sizes, strengths, layouts; the experiment."""

import torch
from torch.nn import functional as F

INPUTS = ("q", "k", "v", "beta")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    usual = {"dtype": "float32", "layout": "plain", "wanted": None, "key": "near"}

    def softmax(name, *shape, strict=True, **more):
        given = {"name": f"softmax, {name}", "scores": normal(*shape, shape[-1]), "strict": strict}
        return given | {"weights": normal(*shape, shape[-1])} | usual | more

    def attention(name, rows=2, steps=8, heads=3, width=5, **more):
        given = {name: normal(rows, steps, heads, width) for name in ("q", "k", "v")}
        given |= {"beta": uniform(rows, steps, heads), "weights": normal(rows, steps, heads, width)}
        return {"name": f"attention, {name}", "positional": False} | given | usual | more

    for strict in (True, False, None):
        how = {True: "strict", False: "with the diagonal", None: "as usual"}[strict]
        for shape in ((2, 3, 7), (1, 1, 1), (1, 1, 2), (1, 4, 3), (3, 1, 5)):
            yield softmax(f"{how}, {shape}", *shape, strict=strict)
    for strict in (True, False):
        how = "strict" if strict else "with the diagonal"
        yield softmax(f"{how}, many steps", 1, 2, 100, strict=strict)
        yield softmax(f"{how}, rows, heads and steps alike", 4, 4, 4, strict=strict)
        yield softmax(f"{how}, double precision", 2, 2, 6, strict=strict, dtype="float64")
        large = uniform(2, 2, 6, 6, low=-500.0, high=500.0)
        yield softmax(f"{how}, large scores", 2, 2, 6, strict=strict, scores=large, key="sharp")
        yield softmax(
            f"{how}, scores far below 0",
            2,
            2,
            6,
            strict=strict,
            scores=uniform(2, 2, 6, 6, low=-500.0, high=-495.0),
            key="sharp",
        )
        yield softmax(
            f"{how}, scores far above 0",
            2,
            2,
            6,
            strict=strict,
            scores=uniform(2, 2, 6, 6, low=495.0, high=500.0),
            key="sharp",
        )
        ahead = torch.ones(40, 40, dtype=torch.bool).triu(0 if strict else 1)
        ahead = torch.where(ahead, 500.0, uniform(1, 2, 40, 40, low=-500.0, high=-499.5))
        yield softmax(f"{how}, great scores of what is not seen", 1, 2, 40, strict=strict, scores=ahead, key="sharp")
        yield softmax(f"{how}, equal scores", 2, 2, 6, strict=strict, scores=torch.zeros(2, 2, 6, 6).double())
        ties = torch.randint(3, (2, 2, 6, 6), generator=generator).double()
        yield softmax(f"{how}, ties", 2, 2, 6, strict=strict, scores=ties)
        for layout in ("strided", "heads first", "expanded", "every other entry"):
            yield softmax(f"{how}, {layout}", 2, 2, 5, strict=strict, layout=layout)
        yield softmax(f"{how}, no gradient is needed", 2, 2, 5, strict=strict, wanted=[])

    yield attention("usual sizes")
    yield attention("by place", positional=True)
    yield attention("no strengths", beta=None)
    yield attention("no strengths, by place", beta=None, positional=True)
    yield attention("no strengths, many steps", beta=None, rows=1, heads=2, steps=60)
    for steps in (1, 2, 3, 4, 5, 17):
        yield attention(f"{steps} steps", steps=steps)
    yield attention("many steps", rows=1, heads=1, steps=100)
    yield attention("one row and head", rows=1, heads=1)
    yield attention("all of size one", rows=1, steps=1, heads=1, width=1)
    yield attention("width of one", width=1)
    yield attention("wide", width=64, heads=2)
    yield attention("rows, steps, heads and width alike", rows=4, steps=4, heads=4, width=4)
    yield attention("many heads", rows=1, heads=8, steps=5)
    yield attention("many rows", rows=8, heads=1, steps=5)
    sizes = (2, 8, 3)
    for value in (0.0, 1.0, -1.0, 0.5):
        yield attention(f"strengths of {value}", beta=torch.full(sizes, value).double())
    yield attention("strengths of both signs", beta=uniform(*sizes, low=-1.0))
    yield attention("small strengths", beta=0.01 * uniform(*sizes))
    yield attention("strengths of one step", beta=torch.eye(8)[4].double().view(1, 8, 1).expand(sizes))
    yield attention("a strength at the first step alone", beta=torch.eye(8)[0].double().view(1, 8, 1).expand(sizes))
    yield attention("a strength at the last step alone", beta=torch.eye(8)[7].double().view(1, 8, 1).expand(sizes))
    yield attention("strengths by head", beta=torch.tensor([0.0, 0.4, 1.0]).double().expand(sizes))
    yield attention("many steps of full strength", rows=1, heads=2, steps=80, beta=-torch.ones(1, 80, 2).double())
    given = attention("queries that are keys")
    yield given | {"q": given["k"].clone()}
    given = attention("sharp", beta=uniform(*sizes), key="sharp")
    yield given | {"q": 9.0 * F.normalize(given["q"], dim=-1), "k": 9.0 * F.normalize(given["k"], dim=-1)}
    given = attention("at the bound", key="sharp", wanted=["v", "beta"])
    yield given | {"q": 14.9 * F.normalize(given["q"], dim=-1), "k": 14.9 * F.normalize(given["k"], dim=-1)}
    given = attention("scores far below 0", key="sharp", wanted=["v", "beta"])
    one = F.normalize(torch.ones(5).double(), dim=-1)
    yield given | {"q": -14.8 * one + 0.02 * given["q"], "k": 14.8 * one + 0.02 * given["k"]}
    given = attention("a last key unlike all earlier ones", key="sharp", wanted=["v", "beta"])
    signs = torch.ones(8).double().index_fill(0, torch.tensor(7), -1.0).view(1, 8, 1, 1)
    yield given | {"q": -14.8 * one + 0.02 * given["q"], "k": signs * (14.8 * one + 0.02 * given["k"])}
    # Each position asks for the one before, so that corrections make up one chain.
    given = attention("a chain of corrections", rows=1, heads=1, steps=100, width=64, key="sharp")
    keys = 8.0 * F.normalize(given["k"], dim=-1)
    yield given | {"q": keys.roll(1, 1), "k": keys, "beta": 1.0 - 0.01 * given["beta"]}
    yield attention("values in the hundreds", v=uniform(2, 8, 3, 5, low=-500.0, high=500.0), key="far")
    for name in ("q", "k", "v"):
        yield attention(f"{name} of zero", **{name: torch.zeros(2, 8, 3, 5).double()})
    yield attention("double precision", dtype="float64")
    yield attention("double precision, no strengths", dtype="float64", beta=None)
    for layout in ("strided", "heads first", "expanded", "every other entry"):
        yield attention(f"layout: {layout}", layout=layout)
    for name in INPUTS:
        yield attention(f"only {name} needs a gradient", wanted=[name])
    yield attention("no gradient is needed", wanted=[])
    shape = (2, 6, 3, 4)
    for name, shapes in {
        "q of three axes": (shape[1:], shape, shape, shape[:3]),
        "k of five axes": (shape, (1, *shape), shape, shape[:3]),
        "v of three axes": (shape, shape, shape[1:], shape[:3]),
        "all of three axes": (shape[1:], shape[1:], shape[1:], None),
        "all of five axes": ((1, *shape), (1, *shape), (1, *shape), None),
        "k of fewer steps": (shape, (2, 5, 3, 4), shape, None),
        "k of one head": (shape, (2, 6, 1, 4), shape, None),
        "v of one head": (shape, shape, (2, 6, 1, 4), None),
        "v of another width": (shape, shape, (2, 6, 3, 7), None),
        "one row of v": (shape, shape, (1, 6, 3, 4), None),
        "strengths of one head": (shape, shape, shape, (2, 6, 1)),
        "strengths of a single step": (shape, shape, shape, (2, 1, 3)),
        "strengths of one row": (shape, shape, shape, (1, 6, 3)),
        "strengths of four axes": (shape, shape, shape, (2, 6, 3, 1)),
        "strengths of one axis": (shape, shape, shape, (3,)),
        "heads before steps": (shape, shape, shape, (2, 3, 6)),
        "a number for q": ((), shape, shape, None),
        "a number for k": (shape, (), shape, None),
        "a number for v": (shape, shape, (), None),
        "a number for strengths": (shape, shape, shape, ()),
        "strengths of one head, at a single step": ((2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 1)),
        "strengths of three axes, at a single step": ((2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 4)),
        "as it should be": (shape, shape, shape, shape[:3]),
    }.items():
        yield {"name": f"shapes: {name}", "shapes": [None if item is None else list(item) for item in shapes]}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.deltaformer import naive

    if "shapes" in case:
        tensors = [None if shape is None else torch.zeros(shape) for shape in case["shapes"]]
        try:
            naive.naive_deltaformer_attn(*tensors)
        except AssertionError:
            return {"raised": "AssertionError"}
        except Exception as error:
            return {"raised": type(error).__name__}
        return {"raised": "nothing"}

    names = ("scores",) if "scores" in case else tuple(name for name in INPUTS if case[name] is not None)
    owners, tensors = {}, {}
    for name in names:
        item = case[name].to(getattr(torch, case["dtype"]), copy=True).contiguous()
        owners[name], tensors[name] = _laid_out(item, case["layout"], name)

    def call():
        if "scores" in case:
            return naive.tril_softmax(
                *tensors.values(), **({} if case["strict"] is None else {"strict": case["strict"]})
            )
        if case["positional"]:
            return naive.naive_deltaformer_attn(*tensors.values())
        return naive.naive_deltaformer_attn(**tensors)

    # The same tensors hold other values at first: nothing may be kept of that call, and its result stays.
    values = {name: owner.clone() for name, owner in owners.items()}
    for owner in owners.values():
        owner.mul_(0.5)
    before = {name: item.clone() for name, item in tensors.items()}
    earlier = call()
    kept = earlier.clone()
    facts = {"unchanged at first": [bool(torch.equal(item, before[name])) for name, item in tensors.items()]}
    for name, owner in owners.items():
        owner.copy_(values[name])
    wanted = [name for name in names if case["wanted"] is None or name in case["wanted"]]
    for name in wanted:
        tensors[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in tensors.items()}
    result = call()
    facts |= {"result": [str(result.dtype), list(result.shape)], "needs a gradient": result.requires_grad}
    gradients = [[None] * len(wanted)] * 2
    if result.requires_grad:
        loss = (result.double() * case["weights"]).sum()
        asked = [tensors[name] for name in wanted]
        # A graph that is kept can be gone through once more.
        gradients = [torch.autograd.grad(loss, asked, retain_graph=True, allow_unused=True) for _ in range(2)]
    seen = {"result": result.detach().clone(), "earlier": kept}
    for name, *found in zip(wanted, *gradients, strict=True):
        # Where nothing depends on an input, there may be no gradient.
        seen[f"gradients of {name}"] = [torch.zeros_like(tensors[name]) if item is None else item for item in found]
    with torch.no_grad():
        result.fill_(7.0)
    facts["unchanged"] = [bool(torch.equal(item, before[name])) for name, item in tensors.items()]
    facts["earlier result stays"] = bool(torch.equal(earlier, kept))
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
        # One head's vectors for all heads, in scores and strengths one row's for all rows.
        owner = item[:, :, :1].clone() if name in ("q", "k", "v") else item[:1].clone()
        return owner, owner.expand(item.shape)
    if layout == "every other entry":
        owner = torch.stack([item, item + 0.1], dim=-1)
        return owner, owner[..., 0]
    return item, item
