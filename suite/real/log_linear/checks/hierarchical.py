"""Log-linear attention: masks of levels, the hierarchical matrix, outputs and gradients; then the experiment."""

import torch

NAMES = {
    "construct_level_mask": ("L",),
    "construct_H_matrix": ("a", "L"),
    "naive_log_linear_attn": ("q", "k", "v", "g", "level_scales"),
}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, function, weights, tensors, dtype="float32", key=None, **more):
        usual = {"name": name, "function": function, "weights": weights, "tensors": tensors, "dtype": dtype}
        return usual | {"key": key or ("double" if dtype == "float64" else "near"), "options": {}} | more

    def masks(name, steps, ahead=(), extra=0, **more):
        levels = (steps - 1).bit_length() + 1 + extra
        weights = normal(levels, *ahead, steps, steps)
        return case(name, "construct_level_mask", weights, {"L": normal(*ahead, levels, steps)}, **more)

    def matrix(name, steps, ahead=(), extra=0, gates=None, **more):
        scales = normal(*ahead, (steps - 1).bit_length() + 1 + extra, steps)
        tensors = {"a": -uniform(*ahead, steps, high=0.7) if gates is None else gates, "L": scales}
        return case(name, "construct_H_matrix", normal(*ahead, steps, steps), tensors, **more)

    def attention(name, rows=2, steps=9, groups=2, shared=2, width=5, value_width=3, extra=0, heads=None, **more):
        heads = groups * shared if heads is None else heads
        tensors = {
            "q": normal(rows, steps, groups, width),
            "k": normal(rows, steps, groups, width),
            "v": normal(rows, steps, heads, value_width),
            "g": -uniform(rows, steps, heads, high=0.7),
            "level_scales": normal(rows, steps, heads, (steps - 1).bit_length() + 1 + extra),
        }
        return case(name, "naive_log_linear_attn", normal(rows, steps, heads, value_width), tensors, **more)

    for steps in (1, 2, 5, 8, 9, 16, 17, integer(20, 33)):
        yield masks(f"masks of {'many' if steps > 17 else steps} positions", steps)
    yield masks("masks with one axis ahead", integer(3, 8), (3,))
    yield masks("masks with two axes ahead, double precision", integer(3, 8), (2, 3), dtype="float64")
    yield masks("masks of levels that no position has", integer(3, 8), extra=3)
    for steps in (1, 2, 3, 5, 8, 9, 16, 17, integer(20, 33)):
        yield matrix(f"matrix of {'many' if steps > 17 else steps} positions", steps)
    yield matrix("matrix with one axis ahead", integer(3, 8), (3,))
    yield matrix("matrix with two axes ahead, double precision", integer(3, 8), (2, 3), dtype="float64")
    yield matrix("matrix with more levels than needed", 9, (2,), extra=3)
    yield matrix("matrix of open gates", 9, gates=torch.zeros(9).double())
    yield attention("the defaults")
    for scale in (None, uniform(1, low=0.2, high=3.0).item()):
        kind = "the root of the width" if scale is None else "a number"
        yield attention(f"scale: {kind}", options={"scale": scale}, width=7)
    for number in range(10):
        names = ("rows", "steps", "groups", "shared", "width", "value_width", "extra")
        bounds = ((1, 3), (1, 12), (1, 3), (1, 3), (1, 6), (1, 6), (0, 2))
        sizes = {name: integer(*bound) for name, bound in zip(names, bounds, strict=True)}
        scale = ({}, {"scale": None}, {"scale": uniform(1, low=0.2, high=3.0).item()})[number % 3]
        yield attention(f"sizes {number}", dtype=("float32", "float64")[number % 2], options=scale, **sizes)
    yield attention("one position", steps=1)
    yield attention("as many groups as heads", groups=3, shared=1)
    yield attention("as many levels as heads", steps=8)
    yield attention("all sizes alike", rows=4, steps=4, groups=4, shared=1, width=4, value_width=4, extra=1)
    yield attention("70 positions", rows=1, steps=70, groups=1, key="far")
    yield {"name": "experiment", "seed": seed % 1000}

    shut = -uniform(2, 9, 4, low=60.0, high=80.0)
    edges = [
        matrix("matrix of shut gates", 9, gates=-uniform(9, low=60.0, high=80.0), key="far"),
        matrix("matrix of gates above 1", 5, gates=uniform(5), key="far"),
        attention("two groups, three heads", heads=3),
        attention("four groups, two heads", groups=4, heads=2),
        attention("no gradient is needed", groups=3, shared=1, frozen=True, options={"scale": 0.6}),
        attention("the same sizes, other values before", before=True),
    ]
    for dtype in ("float32", "float64"):
        given = attention(f"shut gates, {dtype}", dtype=dtype, key="far")
        given["tensors"]["g"] = shut
        edges.append(given)
    given = attention("wiped now and then", rows=1, steps=60, groups=1, key="far")
    given["tensors"]["g"] = torch.where(uniform(1, 60, 2) < 0.2, -60.0, -0.02).double()
    edges.append(given)
    given = attention("large scales", key="far")
    given["tensors"]["level_scales"] *= 40
    edges.append(given)
    for scale in (0.0, -uniform(1, low=0.2, high=2.0).item()):
        edges.append(attention(f"scale {'of 0' if scale == 0 else 'below 0'}", options={"scale": scale}))
    for given in edges:
        yield given | {"edge": True}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.log_linear_attn import naive

    dtype = getattr(torch, case["dtype"])
    given = {name: case["tensors"][name].to(dtype) for name in NAMES[case["function"]]}

    def call(tensors):
        function = getattr(naive, case["function"])
        if "L" in tensors and "a" not in tensors:
            return torch.stack([function(level, **tensors) for level in range(tensors["L"].shape[-2])])
        return function(**tensors, **case["options"])

    if "before" in case:
        call({name: item.flip(1) for name, item in given.items()})
    inputs = {name: item.clone().requires_grad_("frozen" not in case) for name, item in given.items()}
    try:
        result = call(inputs)
    except ValueError:
        return {"error": "ValueError"}
    seen = {"dtype": str(result.dtype), "shape": list(result.shape)}
    results = {"result": result.detach()}
    if "frozen" not in case:
        (result * case["weights"].to(dtype)).sum().backward()
        results["gradients"] = {
            name: torch.zeros_like(item) if item.grad is None else item.grad for name, item in inputs.items()
        }
    if "edge" in case:
        seen["unchanged"] = all(torch.equal(item, given[name]) for name, item in inputs.items())
    return {case["key"]: results} | seen
