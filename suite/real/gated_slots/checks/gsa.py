"""Gated slot attention: outputs, memories and gradients of every option, calls that continue; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "s", "g", "hk", "hv")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def case(
        name,
        batch=2,
        length=9,
        heads=4,
        memories=2,
        width=5,
        value_width=3,
        slots=4,
        gated=True,
        state=False,
        dtype="float32",
        sharpness=1.5,
        decay=0.7,
        logits=2.0,
        dtypes=None,
        parts=None,
        far=False,
        strided=False,
        expanded=False,
        before=False,
        frozen=(),
        recorded=True,
        **options,
    ):
        given = {
            "q": (sharpness * normal(batch, length, heads, width)).clamp(-20, 20),
            "k": normal(batch, length, memories, width),
            "v": normal(batch, length, memories, value_width),
            "s": (1.0 if gated else logits) * normal(batch, length, memories, slots),
            "g": (-decay * normal(batch, length, memories, slots).abs()).clamp(min=-50) if gated else None,
            "hk": 1.3 * normal(batch, memories, width, slots) if state else None,
            "hv": 1.3 * normal(batch, memories, slots, value_width) if state else None,
        }
        weights = {
            "output": normal(batch, length, heads, value_width),
            "keys": normal(batch, memories, width, slots),
            "values": normal(batch, memories, slots, value_width),
        }
        return {
            "name": name,
            **given,
            "weights": weights,
            "dtypes": dict.fromkeys(INPUTS, dtype) | (dtypes or {}),
            "parts": parts or [length],
            "far": far,
            "strided": strided,
            "expanded": expanded,
            # The same tensors with other values in them, in a call before the one that is observed.
            "before": {key: None if item is None else 0.9 * item.flip(1) for key, item in given.items()}
            if before
            else None,
            "frozen": list(frozen),
            "recorded": recorded,
            "options": {"output_final_state": True} | options,
        }

    yield case("the default scale")
    yield case("no gates", gated=False)
    yield case("an initial state", state=True)
    yield case("no gates, an initial state", gated=False, state=True)
    yield case("the outputs alone", output_final_state=False)
    yield case("the outputs alone, from a state, without gates", gated=False, state=True, output_final_state=False)
    yield case("the outputs alone, from a state", state=True, output_final_state=False)
    yield case("None for the states", output_final_state=None)
    small = case("no option given")
    yield small | {"options": {}}
    yield case("a memory for each head", heads=3, memories=3, state=True, scale=0.6)
    yield case("one memory for all heads", heads=3, memories=1, state=True, scale=0.6)
    yield case("three heads a memory", heads=6, memories=2, gated=False, state=True, scale=0.3)
    yield case("one head", heads=1, memories=1, state=True)
    yield case("one row", batch=1, state=True)
    yield case("one token", length=1)
    yield case("one token, from a state", length=1, state=True)
    yield case("one token, from a state, without gates", length=1, gated=False, state=True)
    yield case("one token of one row, without gates", batch=1, length=1, gated=False)
    yield case("two tokens, without gates", length=2, gated=False, state=True)
    yield case("one slot", slots=1, state=True)
    yield case("one slot, without gates", slots=1, gated=False, state=True)
    yield case("widths of one", width=1, value_width=1, state=True)
    yield case("all sizes of one", batch=1, length=1, heads=1, memories=1, width=1, value_width=1, slots=1, state=True)
    yield case("sizes all alike", batch=3, length=3, heads=3, memories=3, width=3, value_width=3, slots=3, state=True)
    yield case("more values than keys", width=2, value_width=7, slots=3, state=True, scale=0.9)
    yield case("a longer stream", batch=1, length=37, heads=2, memories=1, decay=0.1, state=True)
    yield case("a longer stream without gates", batch=1, length=37, heads=2, memories=1, gated=False, state=True)
    yield case("a scale of one", scale=1.0, sharpness=0.7)
    yield case("a scale of one, as a whole number", scale=1, sharpness=0.7, gated=False)
    yield case("a scale of zero", scale=0.0, state=True)
    yield case("a scale of zero, without gates", scale=0, gated=False)
    yield case("a negative scale", scale=-0.8, state=True)
    yield case("a scale above one", scale=2.5, sharpness=0.5, gated=False, state=True)
    yield case("a tiny scale", scale=1e-7, state=True)
    yield case("gates that keep everything", decay=0.0, state=True)
    given = case("gates that forget all but everything", decay=60.0, state=True)
    yield given | {"hk": 11 * given["hk"].clamp(-1.8, 1.8), "hv": 11 * given["hv"].clamp(-1.8, 1.8)}
    given = case("gates that forget a little less", decay=8.0, state=True)
    yield given | {"hk": 11 * given["hk"].clamp(-1.8, 1.8), "hv": 11 * given["hv"].clamp(-1.8, 1.8)}
    given = case("one token whose gates forget", length=1, state=True)
    given |= {"g": -12 - given["g"].abs(), "hk": 20 * given["hk"].sign(), "hv": 20 * given["hv"].sign()}
    yield given
    mixed = case("gates of either kind, slot by slot", state=True)
    yield mixed | {"g": (mixed["g"] * torch.tensor([0.0, 80.0, 1.0, 0.01])).clamp(min=-50)}
    yield case("gates and strengths that leave each other alone", decay=0.2, state=True) | {"s": 2 + normal(2, 9, 2, 4)}
    yield case("nothing is written") | {"s": torch.zeros(2, 9, 2, 4, dtype=torch.float64)}
    large = {"q": 15.0, "k": 12.0, "v": 15.0}
    given = case("large entries", state=True, scale=0.01, far=True)
    yield given | {key: (size * given[key].sign() + given[key]).clamp(-20, 20) for key, size in large.items()}
    far = case("logits hundreds apart", gated=False, state=True, far=True)
    yield far | {"s": (90 * far["s"]).clamp(-200, 200)}
    rising = torch.linspace(-200, 200, 9, dtype=torch.float64).reshape(1, 9, 1, 1)
    rough = (rising + 0.1 * normal(2, 9, 2, 4)).clamp(-200, 200)
    yield case("logits that rise", gated=False, state=True, far=True) | {"s": rough}
    yield case("logits that fall", gated=False, state=True, far=True) | {"s": -rising.expand(2, 9, 2, 4).clone()}
    yield case("logits around a hundred and fifty", gated=False) | {"s": 150 + normal(2, 9, 2, 4)}
    yield case("logits around minus a hundred and fifty", gated=False) | {"s": -150 + normal(2, 9, 2, 4)}
    # On a grid, so that no order of the sums rounds these scores.
    given = case("scores hundreds apart", scale=0.5, decay=0.0, far=True)
    given |= {"q": (10 * given["q"]).round().clamp(-20, 20), "k": (8 * given["k"]).round() / 2, "s": given["s"].round()}
    yield given
    yield given | {"name": "scores hundreds apart, turned round", "options": {**given["options"], "scale": -0.5}}
    yield given | {"name": "scores thousands apart", "options": {**given["options"], "scale": 8.0}}
    yield case("tensors that are not contiguous", strided=True, state=True)
    yield case("tensors that are not contiguous, without gates", strided=True, state=True, gated=False)
    yield case("the same tensors, refilled", before=True, state=True)
    yield case("the same tensors, refilled, without gates", before=True, state=True, gated=False)
    yield case("a stream in two parts", parts=[4, 5], scale=0.8)
    yield case("a stream in parts, token by token at the end", parts=[5, 1, 1, 2], state=True)
    yield case("a stream in two parts, without gates", parts=[4, 5], gated=False)
    yield case("no gradient for anything", frozen=INPUTS, state=True)
    for dtype in ("float32", "float64"):
        for gated in (True, False):
            name = f"no gradient is recorded, {dtype}{'' if gated else ', without gates'}"
            yield case(name, heads=2, dtype=dtype, gated=gated, state=True, frozen=INPUTS, recorded=False)
    yield case("gradients of the state alone", frozen=("q", "k", "v", "s", "g"), state=True)
    yield case("gradients of the gates alone", frozen=("q", "k", "v", "s", "hk", "hv"), state=True)
    yield case("double precision", dtype="float64", state=True)
    yield case("double precision, without gates", dtype="float64", gated=False)
    yield case("half precision", dtype="bfloat16", state=True, length=24)
    yield case("half precision, scores apart", dtype="bfloat16", state=True, length=24, sharpness=5.0, scale=1.0)
    yield case("half precision, scores apart, without gates", dtype="bfloat16", gated=False, sharpness=9.0, scale=1.5)
    yield case("half precision, without gates", dtype="bfloat16", gated=False, state=True, length=24)
    yield case("half precision of the other kind", dtype="float16", state=True, length=24)
    yield case("half precision of the other kind, without gates", dtype="float16", gated=False)
    yield case("queries in half precision among others", dtypes={"q": "bfloat16"}, state=True)
    yield case("queries in half precision among others, without gates", dtypes={"q": "float16"}, gated=False)
    yield case("queries in double precision among others", dtypes={"q": "float64"}, state=True)
    yield case("a state in double precision among others", dtypes={"hk": "float64", "hv": "float64"}, state=True)
    every = {"k": "bfloat16", "v": "float16", "s": "float64", "g": "bfloat16", "hk": "float16", "hv": "bfloat16"}
    yield case("dtypes of all kinds", dtypes=every, state=True)
    yield case("dtypes of all kinds, without gates", dtypes=every | {"s": "bfloat16"}, gated=False, state=True)
    yield case("gates near nought in half precision", dtypes={"g": "float16"}, decay=0.004, length=24, state=True)
    # A running sum of the gates in single precision loses the small ones here; one slot forgets hardly anything.
    ends, small = (
        torch.tensor([140, 170, 0, 180]),
        {"batch": 1, "heads": 1, "memories": 1, "width": 2, "value_width": 2},
    )
    given = case("small decays after large ones", length=200, sharpness=0.3, **small)
    given |= {"g": torch.where(torch.arange(200)[:, None] < ends, -50.0, -2.3e-4).double().view(1, 200, 1, 4)}
    yield given | {"k": 0.3 * given["k"], "v": 0.3 * given["v"]}
    yield case("140 tokens without gates", length=140, gated=False, state=True, **small)
    # The first key has faded nearly, but it is all that there is of keys, and the scale is large.
    given = case("a faded key", length=3, gated=False, scale=8.0, **small | {"width": 64, "value_width": 1}, slots=2)
    token, size = torch.arange(3).view(1, 3, 1, 1), 19 + normal(3, 64).clamp(-1, 1)
    yield given | {
        "q": size[0] * (token == 2),
        "k": size[1] * (token == 0),
        "v": (15 + normal(1, 3, 1, 1).clamp(-1, 1)) * (1 - token),
        "s": torch.tensor([[0.0, 0.0], [17.5, 0.0], [-10.0, 20.0]]).double().view(1, 3, 1, 2),
    }
    for name, what in {
        "hk": "initial keys",
        "hv": "initial values",
        "q": "queries",
        "k": "keys",
        "v": "values",
    }.items():
        given = case(f"{what} of zero", state=True)
        yield given | {name: torch.zeros_like(given[name])}
    given = case("initial keys of zero, without gates", gated=False, state=True)
    yield given | {"hk": torch.zeros_like(given["hk"])}
    # Steps at which something is zero in all rows and heads are steps, too.
    given = case("something is zero at each step", state=True)
    for step, names in enumerate(("s", "g", "k", "v", "q", "k v", "s g", "q s", "k v s g")):
        for name in names.split():
            given[name][:, step] = 0.0
    yield given
    given = case("large strengths", state=True, sharpness=0.1)
    yield given | {"s": 20 * given["s"].sign(), "k": 0.1 * given["k"], "v": 0.1 * given["v"]}
    yield case("the largest widths", batch=1, length=3, heads=2, width=64, value_width=64, slots=64, state=True)
    # The initial state has other entries in each row, though all else is one row's.
    for gated in (True, False):
        name = f"rows all alike, from states of their own{'' if gated else ', without gates'}"
        yield case(name, expanded=True, gated=gated, state=True, frozen=INPUTS, recorded=False)
    yield {"name": "layer", "layer": seed % 1000, "x": normal(2, 11, 8).float()}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "layer" in case:
        from layer import GatedSlots

        layer = GatedSlots(width=8, slots=3, heads=2, groups=2)
        out, state = layer(case["x"])
        out.square().mean().backward()
        gradients = {name: item.grad for name, item in layer.named_parameters()}
        return {"out": out.detach(), "state": [item.detach() for item in state], "gradients": gradients}
    from fla.ops.gsa.naive import naive_recurrent_gsa

    def laid_out(item, name):
        # A copy, so that the case itself gets no gradients.
        if case["expanded"] and name not in ("hk", "hv"):
            return item[:1].clone().expand(item.shape)
        return item.transpose(0, -1).contiguous().clone().transpose(0, -1) if case["strided"] else item.clone()

    inputs = {
        name: laid_out(case[name].to(getattr(torch, case["dtypes"][name])), name).requires_grad_(
            name not in case["frozen"]
        )
        for name in INPUTS
        if case[name] is not None
    }
    state = (inputs["hk"], inputs["hv"]) if "hk" in inputs else None

    def called(parts):
        outputs, held, start = [], state, 0
        for part in parts:
            piece = {name: inputs[name] for name in ("q", "k", "v", "s", "g") if name in inputs}
            if len(parts) > 1:
                piece = {name: item[:, start : start + part] for name, item in piece.items()}
            more = {} if held is None else {"initial_state": held}
            result = naive_recurrent_gsa(**piece, **more, **case["options"])
            output, held = result
            outputs.append(output)
            start += part
        return torch.cat(outputs, dim=1), held, isinstance(result, tuple)

    if case["before"] is not None:
        with torch.no_grad():
            kept = {name: item.clone() for name, item in inputs.items()}
            for name, item in inputs.items():
                item.copy_(case["before"][name])
            earlier = called(case["parts"])
            earlier = [earlier[0], *earlier[1]]
            first = [item.clone() for item in earlier]
            for name, item in inputs.items():
                item.copy_(kept[name])
            # What the first call has returned stays.
            called(case["parts"])
            stays = [torch.equal(item, copy) for item, copy in zip(earlier, first, strict=True)]
    else:
        first, stays = [], []
    before = {name: item.detach().clone() for name, item in inputs.items()}
    with torch.set_grad_enabled(case["recorded"]):
        output, held, is_tuple = called(case["parts"])
        modes = [torch.is_grad_enabled(), str(torch.get_default_dtype())]
    facts = {
        "modes": modes,
        "earlier results stay": stays,
        "dtype": str(output.dtype),
        "shape": list(output.shape),
        "tuple": is_tuple,
        "state": None if held is None else [[str(item.dtype), list(item.shape)] for item in held],
        "needs gradients": [output.requires_grad, *(item.requires_grad for item in held or ())],
    }
    weights = case["weights"]
    loss = (output.double() * weights["output"]).sum()
    if held is not None:
        loss = (
            loss + 0.3 * (held[0].double() * weights["keys"]).sum() + 0.3 * (held[1].double() * weights["values"]).sum()
        )
    if loss.requires_grad:
        loss.backward()
    gradients = {
        name: (torch.zeros_like(item) if item.grad is None else item.grad).double()
        for name, item in inputs.items()
        # Gradients in half precision are rounded by each order of the sums in its own way.
        if item.dtype.itemsize >= 4
    }
    facts["unchanged"] = all(torch.equal(item.detach(), before[name]) for name, item in inputs.items())
    observed = {
        "memories": None if held is None else [item.detach().double() for item in held],
        "gradients": gradients,
        "first": [item.double() for item in first],
    }
    observed |= {"half" if output.dtype.itemsize < 4 else "output": output.detach().double()}
    # Large scores leave fewer digits after the point, so they have a tolerance of their own.
    return {**({"far": observed} if case["far"] else observed), **facts}
