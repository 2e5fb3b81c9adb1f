"""Outputs and gradients over sizes, groups of heads, windows, scales, gates and dtypes; then the experiment."""

from itertools import product

import torch
from torch.nn import functional as F

INPUTS = ("q", "k", "v", "g")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, options, kept=None, group=None, rows=None, steps=None, width=None, **more):
        kept, group = kept or integer(1, 3), group or integer(1, 3)
        rows, steps, width, value_width = (
            rows or integer(1, 3),
            steps or integer(6, 14),
            width or integer(2, 7),
            integer(2, 7),
        )
        return {
            "name": name,
            "q": 1.5 * normal(rows, steps, kept * group, width),
            "k": normal(rows, steps, kept, width),
            "v": normal(rows, steps, kept, value_width),
            "g": F.logsigmoid(2 * normal(rows, steps, kept * group)),
            "weights": normal(rows, steps, kept * group, value_width),
            "options": options,
            "key": "near",
        } | more

    # Every combination of window, scale and groups twice; half of the cases in double precision.
    for number, (again, window, scaled, grouped) in enumerate(product((False, True), repeat=4)):
        options = {"window_size": integer(2, 5)} if window else {}
        options |= {"scale": uniform(1, low=0.2, high=1.5).item()} if scaled else {}
        parts = ["window"] * window + ["scale"] * scaled + ["groups"] * grouped
        kept, group = (2 + again, 2) if grouped else (integer(1, 3), 1)
        given = case(f"{', '.join(parts) or 'the inputs alone'}, draw {1 + again}", options, kept, group)
        if (number + number // 8) % 2:
            given |= {name: given[name].double() for name in INPUTS}
        yield given
    yield case("by position", {"scale": 0.7, "window_size": 3}, positional=True)
    yield case("a window of one", {"window_size": 1})
    yield case("a window as long as the sequence", {"window_size": 8}, steps=8)
    yield case("a window longer than the sequence", {"window_size": 20}, steps=8)
    yield case("two steps", {"window_size": 2}, steps=2)
    yield case("one step", {}, steps=1)
    yield case("one key head for several", {}, kept=1, group=4)
    yield case("one row and head", {"scale": 1}, kept=1, group=1, rows=1)
    square = case("all sizes alike", {}, kept=4, group=1, rows=4, steps=4, width=4)
    yield square | {"v": normal(4, 4, 4, 4), "weights": normal(4, 4, 4, 4)}
    for window in (None, integer(5, 20)):
        options = {} if window is None else {"window_size": window}
        yield case(
            f"many steps{', a window' if window else ''}", options, rows=1, kept=1, group=2, steps=integer(50, 66)
        )
    given = case("all gates open", {})
    yield given | {"g": torch.zeros_like(given["g"])}
    given = case("gates that are shut now and then", {}, steps=12, key="far")
    yield given | {"g": torch.where(uniform(*given["g"].shape) < 0.3, -40.0, -0.1)}
    given = case("scores far apart", {"window_size": 6}, key="far")
    yield given | {"q": 8.0 * given["q"]}
    yield {"name": "experiment", "seed": seed % 1000}

    for window in (None, 4):
        given = case(f"shut gates, window {window}", {"window_size": window}, steps=10, key="far", edge=True)
        yield given | {"g": uniform(*given["g"].shape, low=-40.0, high=-35.0)}
        given = case(f"low scores, window {window}", {"scale": 1, "window_size": window}, width=4, key="far", edge=True)
        yield given | {"q": 10 + 0.1 * given["q"], "k": -5 + 0.1 * given["k"]}
    given = case("gates above one", {}, key="far", edge=True)
    yield given | {"g": normal(*given["g"].shape)}
    given = case("sums in the hundreds", {"window_size": 30}, steps=40, rows=1, kept=1, key="far", edge=True)
    yield given | {"g": uniform(*given["g"].shape, low=3.0, high=5.0)}
    for scale in (0, -uniform(1).item() - 0.1):
        yield case(f"scale {'of 0' if scale == 0 else 'below 0'}", {"scale": scale, "window_size": 5}, edge=True)
    for dtype in (torch.bfloat16, torch.float16):
        given = case(f"{dtype}", {"scale": 0.7, "window_size": 9}, steps=20, edge=True)
        yield given | {name: given[name].to(dtype) for name in INPUTS}
    kinds = (torch.float32, torch.bfloat16, torch.float64, torch.float32)
    for place in range(2):
        given = case(f"several dtypes, {place}", {}, edge=True)
        order = kinds[2 * place :] + kinds[: 2 * place]
        yield given | {name: given[name].to(kind) for name, kind in zip(INPUTS, order, strict=True)}
    yield case("without gradients", {}, frozen=True, edge=True)
    yield case("without gradients, window and scale", {"window_size": 3, "scale": 0.4}, frozen=True, edge=True)
    for heads, kept in ((3, 2), (2, 3)):
        given = case(f"{heads} heads for {kept}", {}, kept=1, group=heads, edge=True, refused=True)
        yield given | {name: given[name].expand(-1, -1, kept, -1).clone() for name in ("k", "v")}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.forgetting_attn.naive import naive_forgetting_attn

    inputs = [case[name].clone().requires_grad_(not case.get("frozen", False)) for name in INPUTS]
    if case.get("refused"):
        try:
            naive_forgetting_attn(*inputs)
        except ValueError:
            return {"refused": True}
        return {"refused": False}
    if case.get("positional"):
        outputs = naive_forgetting_attn(*inputs, case["options"]["scale"], case["options"]["window_size"])
    else:
        outputs = naive_forgetting_attn(*inputs, **case["options"])
    exact = {"outputs": outputs.detach()}
    observation = {case["key"]: exact}
    if not case.get("frozen"):
        loss = (outputs.double() * case["weights"]).sum()
        gradients = torch.autograd.grad(loss, inputs, materialize_grads=True, allow_unused=True)
        for name, gradient in zip(INPUTS, gradients, strict=True):
            where = exact if gradient.dtype.itemsize > 2 else observation.setdefault("half", {})
            where[f"gradient of {name}"] = gradient
    unchanged = [torch.equal(item.detach(), case[name]) for name, item in zip(INPUTS, inputs, strict=True)]
    return observation | ({"unchanged": unchanged} if case.get("edge") else {})
