"""naive_forgetting_attn: outputs and gradients under each option, layout and dtype; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "g")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def case(
        name,
        batch=2,
        length=13,
        heads=4,
        key_heads=2,
        width=6,
        value_width=5,
        sharpness=1.5,
        gates="usual",
        dtype="float32",
        **options,
    ):
        g = torch.nn.functional.logsigmoid(2 * normal(batch, length, heads))
        if gates == "open":
            g = 0 * g
        elif gates == "growing":
            g = 4 + torch.rand(batch, length, heads, generator=generator, dtype=torch.float64)
        elif gates == "both signs":
            g = normal(batch, length, heads)
        elif gates == "shut":
            g = -40 + 5 * torch.rand(batch, length, heads, generator=generator, dtype=torch.float64)
        elif gates == "shut at times":
            shut = torch.rand(batch, length, heads, generator=generator) < 0.3
            g = torch.where(shut, -40 + 0 * g, g)
        return {
            "name": name,
            "q": sharpness * normal(batch, length, heads, width),
            "k": normal(batch, length, key_heads, width),
            "v": normal(batch, length, key_heads, value_width),
            "g": g,
            "weights": normal(batch, length, heads, value_width),
            "dtypes": dict.fromkeys(INPUTS, dtype) | options.pop("dtypes", {}),
            "layout": options.pop("layout", "contiguous"),
            "far": options.pop("far", False),
            "before": options.pop("before", None),
            "wanted": options.pop("wanted", INPUTS),
            "twice": options.pop("twice", False),
            "options": options,
        }

    yield case("the defaults")
    yield case("all gates open", gates="open")
    yield case("gates above one", gates="both signs")
    yield case("a key head for each head", heads=3, key_heads=3)
    yield case("one key head", heads=4, key_heads=1)
    yield case("three heads to a key head", heads=6, key_heads=2)
    yield case("two heads to each of three", heads=6, key_heads=3, window_size=4)
    yield case("one head", heads=1, key_heads=1)
    yield case("one row", batch=1)
    yield case("one step", length=1)
    yield case("one step and a window", length=1, window_size=1, scale=0.3)
    yield case("two steps", length=2, window_size=2)
    yield case("widths of one", width=1, value_width=1)
    yield case("wide values", width=3, value_width=17)
    yield case("as many steps as heads", length=4, heads=4, key_heads=4, width=4, value_width=4, batch=4)
    yield case("more steps", batch=1, length=66, heads=2, key_heads=1, width=4, value_width=3)
    yield case(
        "more steps and a window", batch=1, length=66, heads=2, key_heads=1, width=4, value_width=3, window_size=9
    )
    for window in (1, 2, 5, 12, 13, 50):
        yield case(f"a window of {window}", window_size=window)
    yield case("a window and a scale", window_size=3, scale=0.8)
    yield case("a window and open gates", window_size=4, gates="open")
    for scale in (0.0, 0, 1, 0.7, -0.5, 1e-3):
        yield case(f"a scale of {scale!r}", scale=scale, sharpness=0.8)
    yield case("scores far apart", sharpness=12.0, far=True)
    # On a grid, so that no order of the sums rounds these scores.
    given = case("scores hundreds apart", scale=0.5, far=True)
    given |= {"q": (32 * given["q"]).round(), "k": (8 * given["k"]).round() / 8}
    yield given
    yield given | {"name": "scores hundreds apart, turned round", "options": {"scale": -0.5, "window_size": 6}}
    yield case("gates that are shut", gates="shut", far=True)
    yield case("gates that are shut, with a window", gates="shut", window_size=4, far=True)
    # Early keys score higher than late ones by what the gates take away.
    given = case("shut gates against high scores", gates="shut", length=10, width=1, scale=1, far=True)
    given["q"] = torch.ones_like(given["q"])
    given["k"] = torch.arange(10, 0, -1.0, dtype=torch.float64)[:, None, None] * 37.5 + given["k"]
    yield given
    for window_size in (None, 3):
        given = case("scores that are all far below zero", scale=1, window_size=window_size, far=True)
        given["q"], given["k"] = 10 + 0.1 * given["q"], -5 + 0.1 * given["k"]
        yield given
    # On a grid again, and every one of them far below what stands for a key that is not seen.
    for window_size in (None, 4):
        given = case("scores far below -10,000", width=1, gates="open", scale=1, window_size=window_size, far=True)
        given["q"] = torch.full_like(given["q"], 128.0)
        given["k"] = -160 + (64 * given["k"]).round() / 64
        yield given
    yield case("gates that are shut at times", gates="shut at times", far=True)
    yield case("gates that grow", gates="growing", length=50, far=True)
    given = case("a gate that is shut once", window_size=5, far=True)
    given["g"][:, 6] = -40.0
    yield given
    for layout in ("transposed", "expanded", "spread"):
        yield case(f"a layout that is {layout}", layout=layout, window_size=6)
    yield case("double precision", dtype="float64")
    yield case("double precision, with all options", dtype="float64", window_size=4, scale=0.4)
    for dtype in ("bfloat16", "float16"):
        yield case(f"{dtype}", dtype=dtype, sharpness=4.0)
        yield case(f"{dtype}, with all options", dtype=dtype, window_size=5, scale=0.7, heads=6, key_heads=2)
    yield case("many steps in half precision", batch=1, length=66, heads=2, key_heads=1, dtype="bfloat16")
    # The gates' gradients are sums in which large terms cancel.
    given = case(
        "large slopes in half precision", length=24, heads=2, key_heads=2, dtype="bfloat16", wanted=("g",), gates="open"
    )
    given["weights"] *= 1000
    yield given
    for name in INPUTS:
        yield case(f"half precision of {name}", dtypes={name: "bfloat16"}, sharpness=3.0)
        yield case(f"double precision of {name}", dtypes={name: "float64"})
    mixed = {"q": "float16", "k": "bfloat16", "v": "float64", "g": "float32"}
    yield case("dtypes of all kinds", dtypes=mixed, window_size=4)
    for name in INPUTS:
        yield case(f"a gradient of {name} alone", wanted=(name,))
    yield case("no gradient", wanted=())
    yield case("a call between, and twice back", window_size=6, twice=True)
    yield case("another window before", window_size=3, before={"window_size": 7})
    yield case("a window before", before={"window_size": 3})
    yield case("a scale before", before={"scale": 0.1})
    yield case("no scale before", scale=0.9, before={})
    yield case("heads that do not divide", heads=3, key_heads=2)
    yield case("fewer heads than key heads", heads=2, key_heads=4)
    yield case("no key heads", key_heads=0)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.forgetting_attn.naive import naive_forgetting_attn

    dtypes = {name: getattr(torch, dtype) for name, dtype in case["dtypes"].items()}
    inputs = {name: _laid_out(case[name].to(dtypes[name], copy=True), case["layout"]) for name in INPUTS}
    options = case["options"]
    if case["before"] is not None:
        # The same tensors with other values in them.
        kept = {name: item.clone() for name, item in inputs.items()}
        for item in inputs.values():
            item.mul_(0.5).sub_(0.25)
        naive_forgetting_attn(**inputs, **case["before"])
        for name, item in inputs.items():
            item.copy_(kept[name])
    for name in case["wanted"]:
        inputs[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in inputs.items()}
    try:
        output = naive_forgetting_attn(**inputs, **options)
    except ValueError:
        return {"refused": True}
    facts = {"dtype": str(output.dtype), "shape": list(output.shape), "has a gradient": output.requires_grad}
    if case["wanted"]:
        loss = (output.double() * case["weights"]).sum()
        if case["twice"]:
            others = {name: (0.5 - item.detach()).requires_grad_() for name, item in inputs.items()}
            naive_forgetting_attn(**others, **options)
            torch.autograd.grad(loss, [inputs[name] for name in case["wanted"]], retain_graph=True)
        loss.backward()
    exact, half = {"output": output.detach().double()}, {}
    for name in case["wanted"]:
        item = inputs[name]
        # With one key to be seen, the gate has no effect.
        slope = torch.zeros_like(item) if item.grad is None else item.grad
        facts[f"dtype of {name}"] = str(slope.dtype)
        # Gradients in half precision are rounded by each order of the sums in its own way.
        (exact if item.dtype.itemsize >= 4 else half)[name] = slope.double()
    facts["unchanged"] = all(torch.equal(item.detach(), before[name]) for name, item in inputs.items())
    exact["again"] = naive_forgetting_attn(**inputs, **options).detach().double()
    # Large scores leave fewer digits after the point, so they have a tolerance of their own.
    return {("far" if case["far"] else "observed"): exact, "half": half, **facts}


def _laid_out(item, layout):
    if layout == "transposed":
        # Heads before steps in memory.
        return item.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "expanded":
        # All rows are one in memory.
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.contiguous()
