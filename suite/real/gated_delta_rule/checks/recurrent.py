"""Gated delta rule: outputs, memories and gradients over sizes, options, dtypes and layouts; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "beta", "g")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def case(name, batch=2, length=8, heads=3, width=5, value_width=4, state=False, final=True, **more):
        sizes = (batch, length, heads)
        return {
            "name": name,
            "q": normal(*sizes, width),
            "k": torch.nn.functional.normalize(normal(*sizes, width), dim=-1),
            "v": normal(*sizes, value_width),
            "beta": uniform(*sizes),
            "g": -uniform(*sizes, high=0.7),
            "state": normal(batch, heads, width, value_width) if state else None,
            "weights": normal(*sizes, value_width),
            "state_weights": normal(batch, heads, width, value_width),
            "dtypes": dict.fromkeys((*INPUTS, "state"), "float32"),
            "options": {"output_final_state": True} if final else {},
            "layout": "plain",
            "split": None,
            "wanted": None,
            "far": False,
            "recorded": True,
        } | more

    def options(**values):
        return {"options": {"output_final_state": True, **values}}

    yield case("the defaults", final=False)
    yield case("the defaults, by position", final=False, positional=True)
    yield case("final memory")
    yield case("final memory not asked for", state=True, options={"output_final_state": False})
    yield case("initial memory", state=True)
    yield case("initial memory alone", state=True, final=False)
    yield case("everything by position", state=True, positional=True, **options(scale=0.7))
    for value in (0.3, 1.0, 2, 0, 0.0, -0.8):
        yield case(f"scale of {value!r}", state=True, **options(scale=value))
    yield case("a scale, no memory", final=False, options={"scale": 1.7})
    # Sizes.
    yield case("one step", length=1)
    yield case("one step after others", length=1, state=True)
    yield case("two steps", length=2, state=True)
    yield case("one row", batch=1, state=True)
    yield case("one head", heads=1, state=True)
    yield case("one row, one head, one step", batch=1, heads=1, length=1, state=True)
    yield case("keys of width one", width=1, state=True)
    yield case("values of width one", value_width=1, state=True)
    yield case("widths of one", width=1, value_width=1, state=True, length=6)
    yield case("keys as wide as values", width=4, value_width=4, state=True)
    yield case("all sizes alike", batch=4, length=4, heads=4, width=4, value_width=4, state=True)
    yield case("as many steps as heads", length=3, state=True)
    yield case("values wider than keys", width=2, value_width=7, state=True)
    yield case("widths as large as promised", batch=1, heads=1, length=5, width=64, value_width=64, state=True)
    yield case("many heads", batch=1, heads=64, length=3, width=2, value_width=2, state=True)
    yield case("many rows", batch=64, heads=1, length=3, width=2, value_width=2, state=True)
    for length in (33, 65, 130):
        yield case(f"{length} steps", batch=1, heads=2, length=length, width=6, value_width=3, state=length > 65)
    slow = {"batch": 1, "heads": 1, "length": 200, "width": 8, "value_width": 4}
    yield case("200 steps", **slow, state=True, g=-uniform(1, 200, 1, high=0.01))
    # Each key is half of the one before, and each step a reflection, so that nothing written is ever forgotten.
    units = torch.eye(64, dtype=torch.float64)
    keys = ((units + units.roll(1, 1)) / 2**0.5).repeat(2, 1)[:100].reshape(1, 100, 1, 64)
    ones = torch.ones(1, 100, 1, dtype=torch.float64)
    given = case("100 reflections", batch=1, heads=1, length=100, width=64, beta=2 * ones, g=0 * ones, far=True)
    yield given | {"k": keys}
    # Values.
    sizes = (2, 8, 3)
    yield case("gates open", state=True, g=torch.zeros(*sizes, dtype=torch.float64))
    yield case("gates as good as shut", state=True, g=torch.full(sizes, -80.0, dtype=torch.float64))
    yield case("gates far apart", state=True, g=-uniform(*sizes, high=80.0))
    shut = torch.where(uniform(*sizes) < 0.3, -60.0, -0.01).double()
    yield case("memory wiped now and then", state=True, g=shut)
    low = {"batch": 1, "heads": 2, "length": 70, "state": True}
    yield case("gates that add up to thousands", **low, g=-uniform(1, 70, 2, low=20.0, high=80.0))
    rising = uniform(*sizes, high=1.0) * torch.tensor([1.0, -1.0] * 4).reshape(1, 8, 1)
    yield case("gates above one", state=True, g=rising)
    yield case("gates of one head alone", state=True, g=-uniform(*sizes) * torch.tensor([0.0, 1.0, 0.0]))
    yield case("strengths up to two", state=True, beta=uniform(*sizes, high=2.0))
    yield case("strengths of two", state=True, beta=torch.full(sizes, 2.0, dtype=torch.float64))
    yield case("strengths of one", state=True, beta=torch.ones(*sizes, dtype=torch.float64))
    yield case("nothing is written", state=True, beta=torch.zeros(*sizes, dtype=torch.float64))
    below = uniform(*sizes) * torch.tensor([1.0, 1.0, 1.0, -0.5] + [1.0] * 4).reshape(1, 8, 1)
    yield case("a strength below zero", state=True, beta=below)
    norms = uniform(*sizes, low=0.1, high=3.0)
    given = case("keys of other norms", state=True)
    yield given | {"k": given["k"] * norms.unsqueeze(-1), "beta": (given["beta"] * 2 / norms**2).clamp(max=8.0)}
    given = case("short keys, large strengths", state=True, beta=uniform(*sizes, low=4.0, high=8.0))
    yield given | {"k": given["k"] * 0.4}
    given = case("a key written again and again", state=True)
    yield given | {"k": given["k"][:, :1].expand(-1, 8, -1, -1).clone()}
    for name in ("q", "k", "v"):
        given = case(f"{name} of zero", state=True)
        yield given | {name: torch.zeros_like(given[name])}
    given = case("initial memory of zero", state=True)
    yield given | {"state": torch.zeros_like(given["state"])}
    given = case("values in the hundreds", state=True, far=True)
    yield given | {"v": uniform(2, 8, 3, 4, low=-500.0, high=500.0), "state": 100 * given["state"]}
    given = case("queries in the hundreds", state=True, far=True)
    yield given | {"q": uniform(2, 8, 3, 5, low=-500.0, high=500.0)}
    # Dtypes.
    for dtype in ("float64", "bfloat16", "float16"):
        same = dict.fromkeys((*INPUTS, "state"), dtype)
        yield case(dtype, state=True, dtypes=same)
        yield case(f"{dtype}, no initial memory", final=False, dtypes=same)
    for number, name in enumerate((*INPUTS, "state")):
        for dtype in ("bfloat16", "float64") if number % 2 else ("float16", "float64"):
            usual = dict.fromkeys((*INPUTS, "state"), "float32")
            yield case(f"{name} of {dtype} alone", state=True, dtypes=usual | {name: dtype})
    mixed = {"q": "bfloat16", "k": "float16", "v": "float64", "beta": "float32", "g": "float16", "state": "bfloat16"}
    yield case("dtypes of all kinds", state=True, dtypes=mixed)
    half = dict.fromkeys((*INPUTS, "state"), "bfloat16")
    yield case("memory of single precision, inputs of half", state=True, dtypes=half | {"state": "float32"})
    # In half precision the scale would be rounded, and so would the large outputs.
    yield case("half precision, scaled", state=True, dtypes=half, **options(scale=0.123))
    # Layouts, continued calls, and what needs a gradient.
    yield case("not contiguous", state=True, layout="strided")
    yield case("heads laid out first", state=True, layout="heads")
    yield case("expanded over rows and heads", state=True, layout="expanded")
    yield case("not contiguous, half precision", state=True, layout="strided", dtypes=half)
    yield case("continued", state=True, split=4)
    yield case("continued after one step", split=1, width=4, **options(scale=0.4))
    yield case("continued by one step", state=True, split=7, dtypes=half)
    for name in (*INPUTS, "state"):
        yield case(f"only {name} needs a gradient", state=True, wanted=[name])
    yield case("no gradient is needed", state=True, wanted=[])
    for dtype in ("float32", "float64"):
        same = dict.fromkeys((*INPUTS, "state"), dtype)
        yield case(f"no gradient is recorded, {dtype}", state=True, dtypes=same, recorded=False)
        layers = {"layout": "expanded", "recorded": False}
        yield case(f"no gradient is recorded, expanded, {dtype}", state=True, dtypes=same, **layers)
    for layout in ("one row", "one head"):
        # The initial memory is the only thing that has other entries in each.
        yield case(f"expanded from {layout}", state=True, layout=layout)
        yield case(f"expanded from {layout}, no gradient is needed", state=True, layout=layout, wanted=[])
    for names in ("beta g", "k v g"):
        for recorded in (True, False):
            name = f"{names} of zero, no gradient is {'needed' if recorded else 'recorded'}"
            given = case(name, state=True, wanted=[], recorded=recorded)
            yield given | {name: torch.zeros_like(given[name]) for name in names.split()}
    # Steps at which something is zero in all rows and heads are steps, too.
    given = case("something is zero at each step", state=True)
    for step, names in enumerate(("k", "v", "beta", "g", "q", "k v", "beta g", "q k v beta g")):
        for name in names.split():
            given[name][:, step] = 0.0
    yield given
    # A running sum of the gates in single precision loses the small ones here.
    given = case("small decays after large ones", **slow, state=True, beta=uniform(1, 200, 1, high=0.1))
    given["g"] = torch.where(torch.arange(200) < 62, -79.0, -2.3e-4).double().view(1, 200, 1)
    yield given
    # What is left is little, but all there is: of the initial memory (first head), of the first step (second one).
    # And what the last step writes must not show earlier (third one).
    given = case("hardly anything is left", batch=1, length=7, width=64, value_width=1, state=True, **options(scale=10))
    early, last = ((torch.arange(7) == step).view(1, 7, 1) for step in (0, 6))
    asks, tells = torch.cat([~early, ~early, early], dim=2), torch.cat([early & last, early, last], dim=2)
    yield given | {
        "q": uniform(1, 7, 3, 64, low=450.0, high=500.0) * asks.unsqueeze(-1),
        "k": torch.full((1, 7, 3, 64), 0.125).double() * tells.unsqueeze(-1),
        "v": uniform(1, 7, 3, 1, low=450.0, high=500.0) * tells.unsqueeze(-1),
        "beta": 1.0 * tells.double(),
        "g": torch.where((torch.arange(7) == 1).view(7, 1), torch.tensor([-20.0, -20.0, 0.0]), 0.0).double()[None],
        "state": uniform(1, 3, 64, 1, low=450.0, high=500.0) * torch.tensor([1.0, 0.0, 0.0]).view(3, 1, 1),
    }
    yield {"name": "experiment", "seed": seed % 1000}


def timed(seed):
    generator = torch.Generator().manual_seed(seed)
    sizes = (1, 200, 64)
    k = torch.randn(*sizes, 64, generator=generator)
    yield {
        "name": "200 steps, 64 heads of width 64",
        "long": {
            "q": torch.randn(*sizes, 64, generator=generator),
            "k": torch.nn.functional.normalize(k, dim=-1),
            "v": torch.randn(*sizes, 64, generator=generator),
            "beta": torch.rand(*sizes, generator=generator),
            "g": -0.1 * torch.rand(*sizes, generator=generator),
        },
    }


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule as rule

    if "long" in case:
        outputs, memory = rule(**case["long"], output_final_state=True)
        return {"outputs": outputs[:, ::10].clone(), "memory": memory}
    names = INPUTS if case["state"] is None else (*INPUTS, "state")
    bases, tensors = {}, {}
    for name in names:
        item = case[name].to(getattr(torch, case["dtypes"][name]), copy=True)
        bases[name], tensors[name] = _laid_out(item, case["layout"], name)

    def call(given, **changes):
        settings = case["options"] | changes
        state = {"initial_state": given["state"]} if "state" in given else {}
        if case.get("positional"):
            place = {"scale": None, "initial_state": None, "output_final_state": False} | state | settings
            last = place.values() if state or settings else ()
            return rule(*(given[name] for name in INPUTS), *last)
        return rule(**{name: given[name] for name in INPUTS}, **state, **settings)

    # An earlier call with the same tensors, which then get other values.
    values = {name: base.clone() for name, base in bases.items()}
    for base in bases.values():
        base.copy_(0.5 * base.flip(1))
    earlier = _parts(call(tensors))
    kept = [item.clone() for item in earlier]
    for name, base in bases.items():
        base.copy_(values[name])
    inputs = {name: tensors[name] for name in names if case["wanted"] is None or name in case["wanted"]}
    for item in inputs.values():
        item.requires_grad_()
    before = {name: item.detach().clone() for name, item in tensors.items()}
    with torch.set_grad_enabled(case["recorded"]):
        if case["split"] is None:
            results = [call(tensors)]
        else:
            head = {name: tensors[name] if name == "state" else tensors[name][:, : case["split"]] for name in names}
            tail = {name: tensors[name][:, case["split"] :] for name in INPUTS}
            results = [call(head)]
            results.append(call({**tail, "state": results[0][1]}))
        modes = [torch.is_grad_enabled(), str(torch.get_default_dtype())]
    outputs, memory = torch.cat([each[0] for each in results], dim=1), results[-1][1]
    facts = {
        "tuples": [isinstance(each, tuple) and len(each) == 2 for each in results],
        "facts": [[str(item.dtype), list(item.shape)] for item in (outputs, *_parts(results[-1]))],
        "memory": memory is not None,
        "requires_grad": outputs.requires_grad,
        "modes": modes,
    }
    loss = (outputs.double() * case["weights"]).sum()
    if memory is not None:
        loss = loss + (memory.double() * case["state_weights"]).sum()
    gradients = {"full": {}, "half": {}}
    if loss.requires_grad:
        gradients_of = torch.autograd.grad(loss, inputs.values(), allow_unused=True)
        for (name, item), found in zip(inputs.items(), gradients_of, strict=True):
            # Gradients of half precision are rounded once more; where nothing depends on an input, there may be none.
            found = torch.zeros_like(item) if found is None else found
            gradients["half" if item.dtype.itemsize < 4 else "full"][name] = found.double()
            facts[f"gradient of {name}"] = str(found.dtype)
    seen = {
        "outputs": outputs.detach(),
        "gradients": gradients["full"],
        "earlier": [item.double() for item in kept],
    }
    if memory is not None:
        seen["memories"] = [each[1].detach().clone() for each in results]
        # Not a view of what the call began with.
        with torch.no_grad():
            memory.zero_()
    facts["unchanged"] = [bool(torch.equal(item, before[name])) for name, item in tensors.items()]
    facts["earlier"] = [bool(torch.equal(item, copy)) for item, copy in zip(earlier, kept, strict=True)]
    observed = {"far": seen} if case["far"] else {"near": seen}
    return {**observed, "half": gradients["half"], **facts}


def _parts(result):
    """Outputs, and the memory if there is one."""
    return [item for item in result if item is not None]


def _laid_out(item, layout, name):
    """A tensor that owns its memory, and the one that is handed over."""
    if layout == "strided":
        base = item.transpose(0, -1).contiguous()
        return base, base.transpose(0, -1)
    if layout == "heads" and name != "state":
        base = item.transpose(1, 2).contiguous()
        return base, base.transpose(1, 2)
    if layout in ("one row", "one head") and name != "state":
        base = item[:1].clone() if layout == "one row" else item[:, :, :1].clone()
        return base, base.expand(item.shape)
    if layout == "expanded" and name == "state":
        base = item[:1].clone()
        return base, base.expand(item.shape)
    if layout == "expanded":
        # One head's values for all heads, and for strengths and gates one row's for all rows.
        base = item[:1, :, :1].clone() if name in ("beta", "g") else item[:, :, :1].clone()
        return base, base.expand(item.shape)
    return item, item
