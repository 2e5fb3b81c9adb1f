"""The causal softmax and DeltaFormer: results and gradients over sizes, strengths, scores; then the experiment."""

from itertools import product

import torch
from torch.nn import functional as F

INPUTS = ("q", "k", "v", "beta")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def softmax(name, strict, steps=None, dtype=torch.float32, **more):
        shape = (integer(1, 3), integer(1, 3), *[steps or integer(3, 7)] * 2)
        given = {"scores": normal(*shape).to(dtype), "options": {} if strict is None else {"strict": strict}}
        return {"name": f"softmax, {name}", "weights": normal(*shape), "key": "near"} | given | more

    def attention(name, rows=None, steps=None, heads=None, width=None, dtype=torch.float32, **more):
        shape = (rows or integer(1, 3), steps or integer(4, 9), heads or integer(2, 4), width or integer(2, 6))
        given = {name: normal(*shape).to(dtype) for name in ("q", "k", "v")}
        given |= {"beta": uniform(*shape[:3]).to(dtype), "weights": normal(*shape), "key": "near"}
        return {"name": f"attention, {name}"} | given | more

    for strict, dtype in product((True, False, None), (torch.float32, torch.float64)):
        how = {True: "strict", False: "with the diagonal", None: "by default"}[strict]
        yield softmax(f"{how}, {dtype}", strict, dtype=dtype)
        yield softmax(f"{how}, {dtype}, more steps", strict, integer(8, 20), dtype)
    for strict in (True, False):
        how = "strict" if strict else "with the diagonal"
        yield softmax(f"{how}, two steps", strict, 2)
        given = softmax(f"{how}, scores tens apart", strict, 8, key="sharp")
        yield given | {"scores": 20.0 * given["scores"]}
        given = softmax(f"{how}, all scores large", strict, 6)
        yield given | {"scores": given["scores"] + uniform(1, low=100.0, high=200.0).item()}

    for dtype, strengths, draw in product((torch.float32, torch.float64), (True, False), (1, 2)):
        name = f"{dtype}, {'strengths' if strengths else 'no strengths'}, draw {draw}"
        yield attention(name, dtype=dtype) | ({} if strengths else {"beta": None})
    yield attention("by position", positional=True)
    for steps in (2, 3, integer(20, 40)):
        yield attention(f"{'many' if steps > 3 else steps} steps", steps=steps)
    yield attention("many steps, no strengths", rows=1, heads=2, steps=integer(20, 40), beta=None)
    yield attention("one row and head", rows=1, heads=1)
    yield attention("width of one", width=1)
    yield attention("all sizes alike", rows=4, steps=4, heads=4, width=4)
    for value in (0.0, 1.0):
        given = attention(f"strengths of {value}")
        yield given | {"beta": torch.full_like(given["beta"], value)}
    given = attention("queries that are keys")
    yield given | {"q": given["k"].clone()}
    given = attention("sharp", key="sharp")
    yield given | {name: 6.0 * F.normalize(given[name], dim=-1) for name in ("q", "k")}
    # Each position asks for the one before, so that corrections make up one chain.
    given = attention("a chain of corrections", rows=1, heads=1, steps=70, width=32, key="sharp")
    keys = 8.0 * F.normalize(given["k"], dim=-1)
    yield given | {"q": keys.roll(1, 1), "k": keys, "beta": 1.0 - 0.01 * given["beta"]}
    yield {"name": "experiment", "seed": seed % 1000}

    for strict in (True, False):
        how = "strict" if strict else "with the diagonal"
        yield softmax(f"{how}, one step", strict, 1, edge=True)
        given = softmax(f"{how}, scores hundreds apart", strict, 6, key="sharp", edge=True)
        yield given | {"scores": 200.0 * given["scores"].clamp(-2.5, 2.5)}
        given = softmax(f"{how}, great scores of what is not seen", strict, 9, key="sharp", edge=True)
        ahead = torch.ones(9, 9, dtype=torch.bool).triu(0 if strict else 1)
        yield given | {"scores": given["scores"] + torch.where(ahead, 400.0, -400.0).float()}
        yield softmax(f"{how}, without gradients", strict, edge=True, frozen=True)
    yield attention("one step", steps=1, edge=True)
    given = attention("strengths below zero", edge=True)
    yield given | {"beta": -given["beta"]}
    given = attention("scores hundreds apart", width=4, key="sharp", edge=True)
    # Whole numbers, so that no order of the sums rounds these scores.
    yield given | {name: (10.0 * given[name]).round().clamp(-15, 15) for name in ("q", "k")}
    given = attention("values in the hundreds", key="far", edge=True)
    yield given | {"v": 100 * given["v"]}
    for dtype in (torch.float32, torch.float64):
        yield attention(f"without gradients, {dtype}", dtype=dtype, edge=True, frozen=True)
    shape = (2, integer(4, 6), 3, 5)
    for name, other in {
        "k": {"k": (2, shape[1], 1, 5)},
        "v": {"v": (1, *shape[1:])},
        "beta": {"beta": (2, 1, 3)},
        "all": dict.fromkeys(("q", "k", "v"), (3, *shape)) | {"beta": (3, *shape[:3])},
    }.items():
        shapes = {"q": shape, "k": shape, "v": shape, "beta": shape[:3]} | other
        yield {"name": f"wrong shape of {name}", "edge": True} | {
            name: normal(*shapes[name]).float() for name in INPUTS
        }


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.deltaformer.naive import naive_deltaformer_attn, tril_softmax

    names = ("scores",) if "scores" in case else [name for name in INPUTS if case[name] is not None]
    inputs = {name: case[name].clone().requires_grad_(not case.get("frozen", False)) for name in names}
    if "weights" not in case:
        try:
            naive_deltaformer_attn(**inputs)
        except AssertionError:
            return {"refused": True}
        return {"refused": False}
    if "scores" in case:
        result = tril_softmax(inputs["scores"], **case["options"])
    elif case.get("positional"):
        result = naive_deltaformer_attn(*inputs.values())
    else:
        result = naive_deltaformer_attn(**inputs)
    seen = {"result": result.detach()}
    if not case.get("frozen"):
        loss = (result * case["weights"]).sum()
        seen["gradients"] = list(
            torch.autograd.grad(loss, list(inputs.values()), materialize_grads=True, allow_unused=True)
        )
    unchanged = [torch.equal(item.detach(), case[name]) for name, item in inputs.items()]
    return {case["key"]: seen} | ({"unchanged": unchanged} if case.get("edge") else {})
