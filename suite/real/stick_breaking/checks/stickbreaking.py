"""Stick-breaking attention: outputs, what is left of sticks and gradients of every option; then the experiment."""

from itertools import product

import torch

INPUTS = ("q", "k", "v")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator).item()

    def case(
        name,
        batch=2,
        length=9,
        heads=2,
        groups=2,
        width=5,
        value_width=3,
        dtype="float32",
        sharpness=1.5,
        shift=0.0,
        options=None,
        **more,
    ):
        given = {
            "q": sharpness * normal(batch, length, heads * groups, width),
            "k": normal(batch, length, heads, width),
            "v": normal(batch, length, heads, value_width),
        }
        if shift:
            # The last entries of queries and keys move all logits together.
            given["q"][..., -1], given["k"][..., -1] = abs(shift) ** 0.5, (1 if shift > 0 else -1) * abs(shift) ** 0.5
        weights = [normal(batch, length, heads * groups, value_width), normal(batch, length, heads * groups)]
        return {"name": name, "inputs": given, "weights": weights, "dtype": dtype, "options": options or {}} | more

    def edge(*args, **more):
        return case(*args, **more) | {"edge": True}

    # Every combination of the options, twice in each precision and with sizes of its own.
    for dtype, own, scaled, draw in product(("float32", "float64"), (False, True), (False, True), (1, 2)):
        names = ("batch", "length", "heads", "groups", "width", "value_width")
        bounds = ((1, 3), (3, 12), (1 + draw % 2, 4), (1 + draw % 2, 3), (2, 7), (2, 7))
        sizes = {name: integer(*bound) for name, bound in zip(names, bounds, strict=True)}
        options = {"attend_current": True} if own else {}
        options |= {"scale": uniform(0.2, 2.5)} if scaled else {}
        parts = [dtype, *["own position"] * own, *["scale"] * scaled, f"draw {draw}"]
        yield case(", ".join(parts), dtype=dtype, options=options, **sizes)
    for own in (False, True):
        kind, given = (", own position" if own else ""), {"attend_current": True} if own else {}
        sticks = given | {"scale": 1.0}
        yield case("two tokens" + kind, length=2, options=given)
        yield case("a longer stream" + kind, batch=1, length=60, groups=1, shift=-2.5, options=sticks)
        yield case("sticks that are used up" + kind, sharpness=0.3, shift=5.0, options=sticks)
        yield case("sticks that are hardly touched" + kind, sharpness=0.3, shift=-6.0, options=sticks)
        yield case("tensors that are not contiguous" + kind, options=given, transposed=True)
    square = dict.fromkeys(("batch", "length", "heads", "width", "value_width"), 4)
    yield case("all sizes alike", groups=1, **square)
    yield case("one token, own position", length=1, options={"attend_current": True})
    yield case("one token", length=1)
    yield case("as many heads as queries", heads=3, groups=1)
    yield case("one head for all", heads=1, groups=3)
    yield {"name": "experiment", "seed": seed % 1000}

    for own in (False, True):
        kind, given = (", own position" if own else ""), {"attend_current": own, "scale": 1.0}
        far = {"sharpness": 9.0, "options": given | {"scale": 6.0}}
        yield edge("logits hundreds apart" + kind, key="far", **far)
        yield edge("logits hundreds apart, double precision" + kind, dtype="float64", **far)
        yield edge("logits above a hundred" + kind, key="far", sharpness=0.5, shift=120.0, options=given)
        yield edge("tiny rests" + kind, shift=4.0, sharpness=1.0, logarithm=True, options=given)
        for dtype in ("bfloat16", "float16"):
            yield edge(f"{dtype}{kind}", dtype=dtype, sharpness=9.0, options=given, length=16)
        for scale in (0.0, -uniform(0.2, 1.5)):
            name = f"scale {'of 0' if scale == 0 else 'below 0'}{kind}"
            yield edge(name, options={"attend_current": own, "scale": scale}, value_width=7)
        yield edge("no gradient is needed" + kind, frozen=True, options=given)
    shapes = {
        "another batch of keys and values": ((2, 4, 2, 3), (1, 4, 2, 3), (1, 4, 2, 3)),
        "fewer keys than queries": ((2, 4, 2, 3), (2, 1, 2, 3), (2, 1, 2, 3)),
        "fewer values than keys": ((2, 4, 2, 3), (2, 4, 2, 3), (2, 1, 2, 3)),
        "heads that do not divide": ((2, 4, 3, 3), (2, 4, 2, 3), (2, 4, 2, 3)),
    }
    for name, sizes in shapes.items():
        refused = {key: normal(*size).float() for key, size in zip(INPUTS, sizes, strict=True)}
        yield {"name": name, "refused": refused, "edge": True}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.stickbreaking_attn.naive import naive_stickbreaking_attn

    if "refused" in case:
        try:
            naive_stickbreaking_attn(**case["refused"])
        except ValueError:
            return {"refused": True}
        return {"refused": False}
    dtype = getattr(torch, case["dtype"])
    given = {name: case["inputs"][name].to(dtype) for name in INPUTS}
    if "transposed" in case:
        given = {name: item.transpose(1, 2).contiguous().transpose(1, 2) for name, item in given.items()}
    inputs = {name: item.clone().requires_grad_("frozen" not in case) for name, item in given.items()}
    output, rest = naive_stickbreaking_attn(**inputs, **case["options"])
    left = rest.double().log() if "logarithm" in case else rest.double()
    results = {"output": output.detach().double(), "rest": left.detach()}
    # Gradients in half precision are rounded by each order of the sums in its own way.
    if "frozen" not in case and dtype.itemsize >= 4 and (output.requires_grad or rest.requires_grad):
        ((output.double() * case["weights"][0]).sum() + (left * case["weights"][1]).sum()).backward()
        results["gradients"] = {
            name: (torch.zeros_like(item) if item.grad is None else item.grad).double() for name, item in inputs.items()
        }
    facts = {
        "dtypes": [str(output.dtype), str(rest.dtype)],
        "shapes": [list(output.shape), list(rest.shape)],
        "unchanged": all(torch.equal(item, given[name]) for name, item in inputs.items()),
    }
    # Large logits leave fewer digits after the point, so they have a tolerance of their own.
    kind = {2: "half", 4: "single", 8: "double"}[dtype.itemsize]
    return {case.get("key", kind): results} | facts
