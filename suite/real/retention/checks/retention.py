"""naive_retention: outputs and gradients over sizes, dtypes and magnitudes; then the experiment."""

import torch

INPUTS = ("q", "k", "v")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, batch=2, heads=3, length=11, width=6, value_width=5, dtype="float32", **more):
        return {
            "name": name,
            "q": normal(batch, heads, length, width),
            "k": normal(batch, heads, length, width),
            "v": normal(batch, heads, length, value_width),
            "weights": normal(batch, heads, length, value_width),
            "dtype": dtype,
        } | more

    def edge(*args, **more):
        return case(*args, **more) | {"edge": True}

    yield case("a few heads")
    yield case("one head", heads=1)
    yield case("two heads", heads=2)
    yield case("one row", batch=1)
    yield case("one step", length=1)
    yield case("two steps", length=2)
    yield case("widths of one", width=1, value_width=1)
    yield case("all of one", batch=1, heads=1, length=1, width=1, value_width=1)
    yield case("wide values", width=3, value_width=19)
    yield case("wide keys", width=24, value_width=2)
    yield case("as many heads as steps", heads=8, length=8, width=8, value_width=8)
    yield case("more heads than steps", heads=12, length=4)
    yield case("many heads", batch=1, heads=30, length=25, width=2, value_width=2)
    for number in range(6):
        sizes = {"batch": integer(1, 3), "heads": integer(1, 9), "length": integer(1, 24), "width": integer(1, 9)}
        dtype = ("float32", "float64")[number % 2]
        yield case(f"sizes {number}, {dtype}", value_width=integer(1, 9), dtype=dtype, **sizes)
    yield case("130 steps", batch=1, length=130, width=3, value_width=2)
    yield case("600 steps", batch=1, heads=2, length=600, width=1, value_width=1)
    # All terms have one sign, so that what is long past adds up.
    given = case("keys that are all alike", batch=1, heads=6, length=150, width=2, value_width=1)
    yield given | {name: given[name].abs() for name in INPUTS}
    # Only the first step is written, and read much later.
    given = case("one early step", batch=1, heads=7, length=90, width=3, value_width=2)
    given["v"][:, :, 1:] = 0
    yield given
    given = case("small keys and queries")
    yield given | {"q": 1e-2 * given["q"], "k": 1e-2 * given["k"], "v": 1e3 * given["v"]}
    yield {"name": "experiment", "seed": seed % 1000}

    for name in INPUTS:
        given = edge(f"large {name}", far=True)
        yield given | {name: 300 * given[name]}
    yield edge("64 heads", batch=1, heads=64, length=5, width=2, value_width=1)
    for dtype in ("bfloat16", "float16"):
        yield edge(dtype, dtype=dtype)
        # Pairs of keys are the same, with values of opposite signs, so that little is left of the sum.
        given = edge(f"{dtype}, values that cancel", dtype=dtype, batch=1, heads=4, length=60, width=4, value_width=3)
        for name, sign in (("k", 1), ("v", -1)):
            given[name][:, :, 1::2] = sign * given[name][:, :, ::2]
        yield given
        # All terms have one sign, and half precision can't tell the decays from 1 or count the steps.
        given = edge(f"{dtype}, all alike", dtype=dtype, batch=1, heads=10, length=280, width=2, value_width=1)
        yield given | {name: given[name].abs() for name in INPUTS}
    yield edge("no gradient is needed", frozen=True)
    yield edge("the same tensors before", before=3)
    yield edge("one head before", before=1)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.retention.naive import naive_retention

    dtype = getattr(torch, case["dtype"])
    given = {name: case[name].to(dtype) for name in INPUTS}
    inputs = {name: item.clone() for name, item in given.items()}
    if "before" in case:
        # The same tensors with other values in them.
        for item in inputs.values():
            item.mul_(0.5).add_(0.25)
        naive_retention(**{name: item[:, : case["before"]] for name, item in inputs.items()})
        for name, item in inputs.items():
            item.copy_(given[name])
    for item in inputs.values():
        item.requires_grad_("frozen" not in case)
    output = naive_retention(**inputs)
    results = {"output": output.detach().double()}
    if "frozen" not in case:
        (output.double() * case["weights"]).sum().backward()
        results["gradients"] = {name: item.grad.double() for name, item in inputs.items()}
    facts = {"dtype": str(output.dtype), "shape": list(output.shape)}
    if "edge" in case:
        facts["unchanged"] = all(torch.equal(item, given[name]) for name, item in inputs.items())
    # Large values leave fewer digits after the point, and half precision differs by its last digit.
    return {"half" if dtype.itemsize < 4 else "far" if "far" in case else "observed": results, **facts}
