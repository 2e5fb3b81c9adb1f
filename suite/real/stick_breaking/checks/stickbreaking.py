"""Stick-breaking attention: outputs, what is left of sticks and gradients of every option; then the experiment."""

import torch

INPUTS = ("q", "k", "v")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def case(
        name,
        batch=2,
        length=9,
        heads=4,
        key_heads=2,
        width=5,
        value_width=3,
        dtype="float32",
        sharpness=1.5,
        shift=0.0,
        dtypes=None,
        far=False,
        strided=False,
        before=False,
        logarithm=False,
        frozen=(),
        **options,
    ):
        given = {
            "q": (sharpness * normal(batch, length, heads, width)).clamp(-20, 20),
            "k": normal(batch, length, key_heads, width),
            "v": normal(batch, length, key_heads, value_width),
        }
        if shift:
            # The last entries of queries and keys move all logits together.
            given["q"][..., -1], given["k"][..., -1] = abs(shift) ** 0.5, (1 if shift > 0 else -1) * abs(shift) ** 0.5
        return {
            "name": name,
            **given,
            "weights": {"output": normal(batch, length, heads, value_width), "rest": normal(batch, length, heads)},
            "dtypes": dict.fromkeys(INPUTS, dtype) | (dtypes or {}),
            "far": far,
            "strided": strided,
            # The same tensors with other values in them, in a call before the one that is observed.
            "before": {name: 0.9 * item.flip(1) for name, item in given.items()} if before else None,
            "logarithm": logarithm,
            "frozen": list(frozen),
            "options": options,
        }

    own = {"attend_current": True}
    yield case("the defaults")
    yield case("with the query's own position", **own)
    yield case("without it, as is said", attend_current=False, scale=0.7)
    yield case("a head for each query head", heads=3, key_heads=3)
    yield case("a head for each query head, own position", heads=3, key_heads=3, **own)
    yield case("one head for all", heads=3, key_heads=1)
    yield case("three query heads a head", heads=6, key_heads=2, **own)
    yield case("one head", heads=1, key_heads=1)
    yield case("one row", batch=1)
    yield case("one token", length=1)
    yield case("one token, own position", length=1, **own)
    yield case("one token of one row", batch=1, length=1, heads=1, key_heads=1)
    yield case("two tokens", length=2)
    yield case("two tokens, own position", length=2, **own)
    yield case("widths of one", width=1, value_width=1)
    ones = dict.fromkeys(("batch", "length", "heads", "key_heads", "width", "value_width"), 1)
    yield case("all sizes of one, own position", **ones, **own)
    yield case("sizes all alike", **dict.fromkeys(ones, 3))
    yield case("more values than keys", width=2, value_width=7, scale=0.9, **own)
    yield case("a longer stream", batch=1, length=70, heads=2, key_heads=1, shift=-3.0, scale=1.0)
    yield case("a longer stream, own position", batch=1, length=70, heads=2, key_heads=1, shift=-2.0, scale=1.0, **own)
    yield case("a scale of one", scale=1.0)
    yield case("a scale of one, as a whole number", scale=1, **own)
    yield case("a scale of zero", scale=0.0)
    yield case("a scale of zero, own position", scale=0, **own)
    yield case("a negative scale", scale=-0.8, **own)
    yield case("a scale above one", scale=2.5)
    yield case("a tiny scale", scale=1e-7)
    yield case("logits all alike", scale=0.4) | {"q": torch.ones(2, 9, 4, 5).double()}
    yield case("sticks that are used up", sharpness=0.3, shift=6.0, scale=1.0)
    yield case("sticks that are hardly touched", sharpness=0.3, shift=-9.0, scale=1.0, **own)
    for name, more in {"": {}, ", own position": own}.items():
        yield case("logits hundreds apart" + name, sharpness=9.0, scale=7.0, far=True, **more)
        yield case("logits above a hundred" + name, sharpness=0.5, shift=120.0, scale=1.0, far=True, **more)
        yield case("logits below minus a hundred" + name, sharpness=0.5, shift=-120.0, scale=1.0, far=True, **more)
        yield case("tiny rests" + name, sharpness=1.0, shift=4.0, scale=1.0, logarithm=True, **more)
        given = case("tiny rests in double precision" + name, dtype="float64", logarithm=True, scale=1.0, **more)
        yield given | {"q": 2 + given["q"].abs().clamp(max=2), "k": 0.3 + given["k"].abs().clamp(max=1)}
        yield case("double precision" + name, dtype="float64", **more)
        far = {"sharpness": 9.0, "scale": 5.0, "dtype": "float64"}
        yield case("logits hundreds apart in double precision" + name, **far, **more)
        yield case("half precision" + name, dtype="bfloat16", length=24, **more)
        yield case("half precision, logits apart" + name, dtype="float16", sharpness=6.0, scale=1.0, **more)
        yield case("a column of logits that are hundreds apart" + name, far=True, scale=1.0, sharpness=0.5, **more) | {
            "k": 12 * normal(2, 9, 2, 5).sign()
        }
    # Far keys take hundreds, beside which what the near ones take is lost unless it is summed for itself.
    given = case("far keys above near ones", length=80, width=1, scale=1.0, far=True)
    given["q"], given["k"] = torch.full_like(given["q"], 15.0), given["k"] / 15
    given["k"][:, :65] = 19
    yield given
    yield case("tensors that are not contiguous", strided=True)
    yield case("tensors that are not contiguous, own position", strided=True, **own)
    yield case("the same tensors, refilled", before=True)
    yield case("the same tensors, refilled, own position", before=True, scale=0.8, **own)
    yield case("no gradient for anything", frozen=INPUTS)
    yield case("gradients of the queries alone", frozen=("k", "v"))
    yield case("gradients of the values alone", frozen=("q", "k"), **own)
    yield case("queries in half precision among others", dtypes={"q": "bfloat16"}, length=24)
    yield case("queries in single precision among others", dtypes={"k": "bfloat16", "v": "float16"})
    yield case("queries alone in double precision", dtypes={"q": "float64"})
    yield case("keys alone in double precision", dtypes={"k": "float64", "v": "bfloat16"}, sharpness=9.0, scale=5.0)
    yield case("values alone in double precision", dtypes={"v": "float64"}, **own)
    yield case("half precision and double precision", dtypes={"q": "float16", "v": "float64"})
    sizes = {
        "another batch of keys": {"q": (2, 4, 2, 3), "k": (1, 4, 2, 3), "v": (1, 4, 2, 3)},
        "another batch of queries": {"q": (1, 4, 2, 3), "k": (2, 4, 2, 3), "v": (2, 4, 2, 3)},
        "another batch of values": {"q": (2, 4, 2, 3), "k": (2, 4, 2, 3), "v": (1, 4, 2, 3)},
        "more keys than queries": {"q": (2, 1, 2, 3), "k": (2, 4, 2, 3), "v": (2, 4, 2, 3)},
        "fewer keys than queries": {"q": (2, 4, 2, 3), "k": (2, 1, 2, 3), "v": (2, 1, 2, 3)},
        "fewer values than keys": {"q": (2, 4, 2, 3), "k": (2, 4, 2, 3), "v": (2, 1, 2, 3)},
        "fewer heads of values than of keys": {"q": (2, 4, 4, 3), "k": (2, 4, 2, 3), "v": (2, 4, 1, 3)},
        "fewer heads of keys than of values": {"q": (2, 4, 4, 3), "k": (2, 4, 1, 3), "v": (2, 4, 2, 3)},
        "keys of width one": {"q": (2, 4, 2, 3), "k": (2, 4, 2, 1), "v": (2, 4, 2, 3)},
        "queries of width one": {"q": (2, 4, 2, 1), "k": (2, 4, 2, 3), "v": (2, 4, 2, 3)},
        "heads that do not divide": {"q": (2, 4, 3, 3), "k": (2, 4, 2, 3), "v": (2, 4, 2, 3)},
        "fewer query heads than heads": {"q": (2, 4, 1, 3), "k": (2, 4, 2, 3), "v": (2, 4, 2, 3)},
        "as many entries with other heads": {"q": (2, 4, 2, 6), "k": (2, 4, 4, 3), "v": (2, 4, 4, 3)},
    }
    for name, shapes in sizes.items():
        yield {"name": name, "refused": {key: normal(*shape).float() for key, shape in shapes.items()}}
    yield {"name": "layer", "layer": seed % 1000, "asked": normal(2, 11, 8).float(), "held": normal(2, 11, 8).float()}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "layer" in case:
        from layer import StickBreaking

        observed = {}
        for own in (False, True):
            layer = StickBreaking(width=8, heads=2, groups=2, attend_current=own)
            out = layer(case["asked"], case["held"])
            out.square().sum().backward()
            gradients = {name: item.grad for name, item in layer.named_parameters()}
            observed[f"own position: {own}"] = {"out": out.detach(), "gradients": gradients}
        return observed
    from fla.ops.stickbreaking_attn.naive import naive_stickbreaking_attn

    if "refused" in case:
        try:
            naive_stickbreaking_attn(**case["refused"])
        except ValueError:
            return {"refused": True}
        return {"refused": False}

    def laid_out(item):
        # A copy, so that the case itself gets no gradients.
        return item.transpose(0, -1).contiguous().clone().transpose(0, -1) if case["strided"] else item.clone()

    inputs = {
        name: laid_out(case[name].to(getattr(torch, case["dtypes"][name]))).requires_grad_(name not in case["frozen"])
        for name in INPUTS
    }
    first = []
    if case["before"] is not None:
        with torch.no_grad():
            kept = {name: item.clone() for name, item in inputs.items()}
            for name, item in inputs.items():
                item.copy_(case["before"][name])
            first = [item.clone() for item in naive_stickbreaking_attn(**inputs, **case["options"])]
            for name, item in inputs.items():
                item.copy_(kept[name])
    before = {name: item.detach().clone() for name, item in inputs.items()}
    result = naive_stickbreaking_attn(**inputs, **case["options"])
    output, rest = result
    facts = {
        "dtypes": [str(output.dtype), str(rest.dtype)],
        "shapes": [list(output.shape), list(rest.shape)],
        "tuple": isinstance(result, tuple),
        "needs gradients": [output.requires_grad, rest.requires_grad],
    }
    left = rest.double().log() if case["logarithm"] else rest.double()
    weights = case["weights"]
    loss = (output.double() * weights["output"]).sum() + (left * weights["rest"]).sum()
    if loss.requires_grad:
        loss.backward()
    gradients = {
        name: (torch.zeros_like(item) if item.grad is None else item.grad).double()
        for name, item in inputs.items()
        # Gradients in half precision are rounded by each order of the sums in its own way.
        if item.dtype.itemsize >= 4
    }
    facts["unchanged"] = all(torch.equal(item.detach(), before[name]) for name, item in inputs.items())
    results = {"output": output.detach().double(), "rest": left.detach(), "first": [item.double() for item in first]}
    # Outputs enter the loss linearly, so that gradients don't depend on how these are rounded.
    fine = {name: gradients.pop(name) for name in list(gradients) if case["dtypes"][name] == "float64"}
    kind = {2: "half", 4: "single", 8: "double"}[output.dtype.itemsize]
    observed = {"gradients": gradients, "double": {"gradients": fine}}
    observed[kind] = {**observed.get(kind, {}), **results}
    # Large logits leave fewer digits after the point, so they have a tolerance of their own.
    return {**({"far": observed} if case["far"] else observed), **facts}
