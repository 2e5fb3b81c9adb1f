"""naive_retention: outputs and gradients over sizes, layouts, dtypes and magnitudes; then the experiment."""

import torch

INPUTS = ("q", "k", "v")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def case(name, batch=2, heads=3, length=11, width=6, value_width=5, dtype="float32", **more):
        return {
            "name": name,
            "q": normal(batch, heads, length, width),
            "k": normal(batch, heads, length, width),
            "v": normal(batch, heads, length, value_width),
            "weights": normal(batch, heads, length, value_width),
            "dtypes": dict.fromkeys(INPUTS, dtype) | more.pop("dtypes", {}),
            "layout": "contiguous",
            "far": False,
            "before": None,
            "wanted": INPUTS,
            **more,
        }

    yield case("a few heads")
    yield case("one head", heads=1)
    yield case("two heads", heads=2)
    yield case("one row", batch=1)
    yield case("one step", length=1)
    yield case("two steps", length=2)
    yield case("widths of one", width=1, value_width=1)
    yield case("all of one", batch=1, heads=1, length=1, width=1, value_width=1)
    yield case("values of one number", value_width=1)
    yield case("wide values", width=3, value_width=19)
    yield case("wide keys", width=24, value_width=2)
    yield case("as many heads as steps", heads=8, length=8, width=8, value_width=8)
    yield case("more heads than steps", heads=12, length=4)
    yield case("many heads", batch=1, heads=30, length=25, width=2, value_width=2)
    yield case("64 heads", batch=1, heads=64, length=5, width=2, value_width=1)
    yield case("more steps", batch=1, length=130, width=3, value_width=2)
    yield case("hundreds of steps", batch=1, heads=2, length=600, width=1, value_width=1)
    # All terms have one sign, so that what is long past adds up.
    given = case("keys that are all alike", batch=1, heads=6, length=150, width=2, value_width=1)
    yield given | {name: given[name].abs() for name in INPUTS}
    given = case("1500 steps, all alike", batch=1, heads=1, length=1500, width=1, value_width=1)
    yield given | {name: 0.1 * given[name].abs() for name in INPUTS}
    # Nothing but the first step is written, and read much later.
    given = case("one early step", batch=1, heads=7, length=90, width=3, value_width=2)
    given["v"][:, :, 1:] = 0
    yield given
    for name in INPUTS:
        given = case(f"large {name}", far=True)
        yield given | {name: 300 * given[name]}
    given = case("small values")
    yield given | {"q": 1e-2 * given["q"], "k": 1e-2 * given["k"], "v": 1e3 * given["v"]}
    for layout in ("transposed", "expanded", "spread"):
        yield case(f"a layout that is {layout}", layout=layout)
    yield case("double precision", dtype="float64")
    for dtype in ("bfloat16", "float16"):
        yield case(f"{dtype}", dtype=dtype)
        # Two keys each are the same, with values of opposite signs, so that little is left of the sum.
        given = case(f"{dtype}, values that cancel", dtype=dtype, batch=1, heads=4, length=60, width=4, value_width=3)
        for name, sign in (("k", 1), ("v", -1)):
            given[name][:, :, 1::2] = sign * given[name][:, :, ::2]
        yield given
        # Their number is more than half precision can count.
        yield case(f"{dtype}, many steps", dtype=dtype, batch=1, heads=2, length=300, width=2, value_width=1)
        # All terms have one sign, and decays that half precision can't tell from 1.
        given = case(f"{dtype}, all alike", dtype=dtype, batch=1, heads=10, length=300, width=2, value_width=1)
        yield given | {name: given[name].abs() for name in INPUTS}
    for name in INPUTS:
        yield case(f"half precision of {name}", dtypes={name: "bfloat16"})
        yield case(f"double precision of {name}", dtypes={name: "float64"})
    yield case("dtypes of all kinds", dtypes={"q": "float32", "k": "bfloat16", "v": "float16"})
    yield case("dtypes of all kinds, the queries in half", dtypes={"q": "float16", "k": "float64", "v": "bfloat16"})
    for name in INPUTS:
        yield case(f"a gradient of {name} alone", wanted=(name,))
    yield case("no gradient", wanted=())
    yield case("the same tensors before", before=(3, 11, 6, 5))
    yield case("fewer heads before", before=(1, 11, 6, 5))
    yield case("fewer steps before", before=(3, 4, 6, 5))
    yield case("smaller widths before", before=(3, 11, 2, 1))
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.retention.naive import naive_retention

    dtypes = {name: getattr(torch, dtype) for name, dtype in case["dtypes"].items()}
    inputs = {name: _laid_out(case[name].to(dtypes[name], copy=True), case["layout"]) for name in INPUTS}
    if case["before"] is not None:
        # The same tensors with other values in them, or the first part of them.
        kept = {name: item.clone() for name, item in inputs.items()}
        heads, steps, width, value_width = case["before"]
        for name, item in inputs.items():
            item.mul_(0.5).add_(0.25)
            inputs[name] = item[:, :heads, :steps, : value_width if name == "v" else width]
        naive_retention(**inputs)
        for name, item in inputs.items():
            whole = item if item.shape == kept[name].shape else item._base
            inputs[name] = whole.copy_(kept[name])
    for name in case["wanted"]:
        inputs[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in inputs.items()}
    output = naive_retention(**inputs)
    facts = {"dtype": str(output.dtype), "shape": list(output.shape), "has a gradient": output.requires_grad}
    if case["wanted"]:
        (output.double() * case["weights"]).sum().backward()
    again = naive_retention(**inputs)
    exact, half = {}, {}
    # What is in half precision differs by its last digit.
    for name, item in (("output", output), ("again", again)):
        (exact if item.dtype.itemsize >= 4 else half)[name] = item.detach().double()
    for name in case["wanted"]:
        facts[f"dtype of {name}"] = str(inputs[name].grad.dtype)
        (exact if inputs[name].dtype.itemsize >= 4 else half)[name] = inputs[name].grad.double()
    facts["unchanged"] = all(torch.equal(item.detach(), before[name]) for name, item in inputs.items())
    # Large values leave fewer digits after the point, so they have a tolerance of their own.
    return {("far" if case["far"] else "observed"): exact, "half": half, **facts}


def _laid_out(item, layout):
    if layout == "transposed":
        # Steps before heads in memory.
        return item.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "expanded":
        # All heads are one in memory.
        return item[:, :1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.contiguous()
