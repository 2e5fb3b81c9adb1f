"""Outputs and gradients over heads, masks, settings and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def real(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def case(name, kind=torch.float32, options=(), **more):
        rows = more.pop("rows", None) or integer(1, 3)
        steps = more.pop("steps", None) or integer(4, 8)
        heads = more.pop("heads", None) or integer(1, 3)
        query_heads = more.pop("query_heads", None) or heads * more.pop("groups", 1)
        width = more.pop("width", None) or integer(2, 6)
        given = {
            "q": normal(rows, steps, query_heads, width),
            "r": 0.6 * normal(rows, steps, query_heads, width),
            "k": normal(rows, steps, heads, width) + 0.5 * normal(rows, 1, 1, width),
            "v": normal(rows, steps, heads, width) + normal(rows, 1, 1, width),
        }
        return {
            "name": name,
            "given": {key: item.to(kind) for key, item in given.items()},
            "weights": normal(rows, steps, query_heads, width),
            "options": dict(options),
            "key": "near",
            **more,
        }

    for kind, groups, window, scaled in product((torch.float32, torch.float64), (1, 2), (False, True), (False, True)):
        options = ({"window_size": integer(2, 3)} if window else {}) | ({"scale": real(0.1, 1.5)} if scaled else {})
        yield case(f"{kind}, {groups} groups, {', '.join(options)}", kind, options, groups=groups)
    for window, scaled in product((False, True), (False, True)):
        options = ({"window_size": integer(1, 3)} if window else {}) | ({"scale": real(0.1, 1.5)} if scaled else {})
        yield case(f"not causal, {', '.join(options)}", options=options | {"causal": False}, groups=integer(1, 3))
    yield case("causal is given", options={"causal": True, "scale": None, "window_size": None})
    yield case("three groups", heads=2, groups=3)
    yield case("a window of one", options={"window_size": 1})
    yield case("a window as long as the sequence", steps=5, options={"window_size": 5})
    yield case("a window longer than the sequence", steps=4, options={"window_size": integer(6, 9)})
    yield case("a scale of zero", options={"scale": 0.0})
    yield case("a scale of one", options={"scale": 1.0})
    yield case("a scale below zero", options={"scale": -real(0.2, 1.0)}, groups=2)
    yield case("one step", steps=1)
    yield case("many steps", steps=130, rows=1, options={"window_size": integer(3, 7)})
    yield case("width one", width=1, groups=2)
    yield case("all sizes alike", rows=3, steps=3, heads=3, width=3)
    given = case("strong probes")
    yield given | {"given": given["given"] | {"r": 4 * given["given"]["r"]}}
    given = case("layouts of their own", groups=2, heads=2)
    yield given | {
        "given": {name: item.transpose(1, 3).contiguous().transpose(1, 3) for name, item in given["given"].items()}
    }
    yield case("by position", groups=2, positional=[real(0.2, 1.0), integer(2, 3), True])
    yield {"name": "experiment", "seed": seed % 1000}

    for heads, query_heads in ((2, 3), (3, 2), (4, 6)):
        yield case(f"{query_heads} query heads and {heads} key heads", heads=heads, query_heads=query_heads, edge=True)
    given = case("no key heads", edge=True)
    none = {name: given["given"][name][:, :, :0] for name in ("k", "v")}
    yield given | {"given": given["given"] | none}
    for groups in (1, 2):
        yield case(f"half precision, {groups}", torch.bfloat16, groups=groups, key="half", edge=True)
    given = case("queries in half precision", key="half", edge=True)
    yield given | {"given": given["given"] | {"q": given["given"]["q"].bfloat16()}}
    given = case("queries in double precision", edge=True)
    yield given | {"given": given["given"] | {"q": given["given"]["q"].double()}}
    given = case("keys and values in half precision", key="forward", edge=True)
    yield given | {"given": given["given"] | {name: given["given"][name].bfloat16() for name in ("k", "v")}}
    for place, scale in ((-1, 60.0), (0, -60.0)):
        # One key has a logit that is 180 above or below the others, which differ little.
        given = case(f"a key far from the others, {scale}", options={"scale": scale}, width=4, key="far", edge=True)
        common = torch.nn.functional.normalize(normal(4), dim=0).float()
        near = {name: common + 0.01 * given["given"][name] for name in ("q", "k")}
        near["k"][:, place] *= 4
        yield given | {"given": given["given"] | near}
    for causal in (False, True):
        # All logits are near 200, and differ little enough for rounding not to matter.
        given = case(
            f"logits far from zero, {causal}", options={"causal": causal, "scale": 200.0}, width=4, key="far", edge=True
        )
        common = torch.nn.functional.normalize(normal(4), dim=0).float()
        near = {name: common + 0.01 * given["given"][name] for name in ("q", "k")}
        yield given | {"given": given["given"] | near}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.parallax.naive import naive_parallax

    given = {name: item.clone().requires_grad_() for name, item in case["given"].items()}
    try:
        if "positional" in case:
            outputs = naive_parallax(*given.values(), *case["positional"])
        else:
            outputs = naive_parallax(**given, **case["options"])
    except ValueError:
        return {"refused": True}
    gradients = torch.autograd.grad((outputs * case["weights"]).sum(), list(given.values()), materialize_grads=True)
    near = case["key"] not in ("far", "forward")
    seen = {
        "outputs": outputs.detach(),
        "gradients": [item if near else item.isfinite().all().item() for item in gradients],
    }
    unchanged = all(torch.equal(item.detach(), case["given"][name]) for name, item in given.items())
    return {case["key"]: seen, "unchanged": unchanged}
