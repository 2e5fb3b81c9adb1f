"""RWKV-7's state: outputs, states and gradients over sizes, regimes, dtypes and layouts; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "alpha", "beta", "gk")
ALL = (*INPUTS, "initial_state")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def unit(*shape):
        return torch.nn.functional.normalize(normal(*shape), dim=-1)

    def case(name, rows=2, heads=3, steps=7, width=5, value_width=4, state=True, **more):
        sizes = (rows, heads, steps)
        return {
            "name": name,
            "q": normal(*sizes, width),
            "k": normal(*sizes, width),
            "v": normal(*sizes, value_width),
            "alpha": -0.9 * unit(*sizes, width),
            "beta": 0.9 * unit(*sizes, width),
            "gk": -uniform(*sizes, width, high=0.6),
            "initial_state": normal(rows, heads, width, value_width) if state else None,
            "weights": normal(*sizes, value_width),
            "state_weights": normal(rows, heads, width, value_width),
            "dtypes": dict.fromkeys(ALL, "float32"),
            "options": {},
            "positional": False,
            "layout": "plain",
            "split": None,
            "wanted": None,
            "graph": True,
            "state_alone": False,
            "key": "near",
        } | more

    def removing(given, rate):
        """Removal keys and rates as the paper has them."""
        key = torch.nn.functional.normalize(given["alpha"], dim=-1)
        return given | {"alpha": -key, "beta": key * rate}

    yield case("nothing but the inputs", state=False)
    yield case("an initial state")
    yield case("by position", positional=True)
    yield case("by position, no state", state=False, positional=True)
    yield case("the state is asked for", options={"output_final_state": True})
    yield case("the state is not asked for", options={"output_final_state": False})
    yield case("no state at all", state=False, options={"output_final_state": False})
    yield case("no state at all, by position", options={"output_final_state": False}, positional=True)
    # Sizes.
    yield case("no steps", steps=0)
    yield case("no steps, no state", steps=0, state=False)
    yield case("no steps, half precision", steps=0, dtypes=dict.fromkeys(ALL, "bfloat16"))
    several = dict.fromkeys(ALL, "float32") | {"q": "bfloat16", "k": "float16", "initial_state": "float64"}
    yield case("no steps, several dtypes", steps=0, dtypes=several)
    yield case("no steps, no state, several dtypes", steps=0, state=False, dtypes=several | {"v": "float64"})
    yield case("no steps, the state is not asked for", steps=0, options={"output_final_state": False})
    yield case("one step", steps=1)
    yield case("one step, no state", steps=1, state=False)
    yield case("two steps", steps=2)
    yield case("one row", rows=1)
    yield case("one head", heads=1)
    yield case("one row, head and step", rows=1, heads=1, steps=1)
    yield case("keys of width one", width=1)
    yield case("values of width one", value_width=1)
    yield case("widths of one", width=1, value_width=1)
    yield case("keys as wide as values", width=4)
    yield case("all sizes alike", rows=4, heads=4, steps=4, width=4)
    yield case("as many steps as heads", steps=3)
    yield case("values wider than keys", width=2, value_width=6)
    yield case("the largest widths", rows=1, heads=1, steps=4, width=64, value_width=64)
    yield case("many heads", rows=1, heads=64, steps=3, width=2, value_width=2)
    yield case("many rows", rows=64, heads=1, steps=3, width=2, value_width=2)
    for steps in (31, 32, 33, 64, 70):
        yield removing(case(f"{steps} steps", rows=1, heads=2, steps=steps, width=4, value_width=3), 0.7)
    slow = {"rows": 1, "heads": 1, "steps": 200, "width": 6, "value_width": 3}
    yield removing(case("200 steps", **slow, gk=-uniform(1, 1, 200, 6, high=0.1)), uniform(1, 1, 200, 6))
    # Decays, removals, writes.
    sizes = (2, 3, 7, 5)
    yield removing(case("as in the paper"), uniform(*sizes))
    yield removing(case("rates of two"), 2.0)
    yield removing(case("the delta rule", gk=torch.zeros(sizes).double()), 1.0)
    yield case("nothing decays", gk=torch.zeros(sizes).double())
    yield case("all decays at once", gk=torch.full(sizes, -80.0).double())
    yield case("decays of all sizes", gk=-uniform(*sizes, high=80.0))
    yield case("some channels are wiped", gk=torch.where(uniform(*sizes) < 0.4, -70.0, -0.01).double())
    yield case(
        "decays that add up to thousands", rows=1, heads=2, steps=70, gk=-uniform(1, 2, 70, 5, low=20.0, high=80.0)
    )
    deep = case("decays that add up to thousands, nothing removed", rows=1, heads=2, steps=70, wanted=[])
    yield deep | {"gk": -uniform(1, 2, 70, 5, low=20.0, high=80.0), "alpha": torch.zeros_like(deep["alpha"])}
    # Differences of sums in single precision are too coarse here.
    given = case("small decays after large ones", rows=1, heads=1, steps=69)
    given["gk"][:, :, :61] = -80.0
    yield given
    # What is left of the large state would be seen if decays were clipped.
    wiped = {
        "gk": torch.full((2, 3, 2, 5), -80.0).double(),
        "initial_state": uniform(2, 3, 5, 4, low=300.0, high=500.0),
    }
    given = case("a large state is wiped", steps=2, wanted=["q", "k", "v", "beta", "gk", "initial_state"])
    yield given | wiped | {"alpha": torch.zeros_like(given["alpha"])}
    yield case("channels grow", gk=uniform(*sizes, low=-1.0, high=1.0), steps=7)
    yield case("one channel decays", gk=-uniform(*sizes) * torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]))
    yield case(
        "removals with any two vectors",
        steps=3,
        alpha=uniform(2, 3, 3, 5, low=-2, high=2),
        beta=uniform(2, 3, 3, 5, low=-2, high=2),
    )
    yield case("small vectors", alpha=1e-3 * normal(*sizes), beta=1e-2 * normal(*sizes))
    for name in ("q", "k", "v", "alpha", "beta", "initial_state"):
        given = case(f"{name} of zero")
        yield given | {name: torch.zeros_like(given[name])}
    given = case("no removal at some steps")
    yield given | {"alpha": given["alpha"] * (uniform(2, 3, 7, 1) < 0.5)}
    # Steps at which vectors are zero in all rows and heads are steps, too.
    given = case("some vectors are zero at each step", steps=9)
    zeros = ("k alpha beta", "alpha", "beta", "k", "v", "q", "k v", "q k v alpha beta", "gk")
    for step, names in enumerate(zeros):
        for name in names.split():
            given[name][:, :, step] = 0.0
    yield given
    given = case("values in the hundreds", key="far")
    yield given | {"v": uniform(2, 3, 7, 4, low=-500.0, high=500.0), "initial_state": 100 * given["initial_state"]}
    given = case("queries in the hundreds", key="far")
    yield given | {"q": uniform(*sizes, low=-500.0, high=500.0)}
    given = case("keys in the hundreds", key="far")
    yield given | {"k": uniform(*sizes, low=-500.0, high=500.0)}
    # Dtypes.
    for dtype in ("bfloat16", "float16"):
        yield case(dtype, dtypes=dict.fromkeys(ALL, dtype))
        yield case(f"{dtype}, no state", dtypes=dict.fromkeys(ALL, dtype), state=False)
    # The state is beyond the range of float16, and the outputs are within it.
    large = {name: uniform(2, 3, 1, size, low=260.0, high=300.0) for name, size in (("k", 5), ("v", 4))}
    given = case("a large state, float16", steps=1, state=False, wanted=[], dtypes=dict.fromkeys(ALL, "float16"))
    yield given | large | {"q": 0.01 * given["q"], "key": "far"}
    double = dict.fromkeys(ALL, "float64") | {"alpha": "float32"}
    yield case("double precision", dtypes=double)
    yield case("double precision, no state", dtypes=double, state=False)
    for name, dtypes in {
        "q": ("float64", "bfloat16", "float16"),
        "k": ("float64", "float16"),
        "v": ("float64", "bfloat16"),
        "alpha": ("bfloat16", "float16"),
        "beta": ("float64", "float16"),
        "gk": ("float64", "bfloat16"),
        "initial_state": ("float64", "float16"),
    }.items():
        for dtype in dtypes:
            yield case(f"{name} of {dtype} alone", dtypes=dict.fromkeys(ALL, "float32") | {name: dtype})
    half = dict.fromkeys(ALL, "bfloat16")
    yield case("queries of single precision, the rest of half", dtypes=half | {"q": "float32"})
    yield case("a single-precision state, the rest of half", dtypes=half | {"initial_state": "float32"})
    mixed = ("float32", "float64", "float16", "bfloat16", "float16", "bfloat16", "float64")
    yield case("many dtypes", dtypes=dict(zip(ALL, mixed, strict=False)))
    given = case("large decays in half precision, other queries", steps=5, dtypes=half | {"q": "float32"})
    yield given | {"gk": -uniform(2, 3, 5, 5, low=0.0, high=3.0)}
    # Layouts, continued calls, and what needs a gradient.
    for layout in ("strided", "steps first", "expanded", "every other entry"):
        yield case(f"layout: {layout}", layout=layout)
    yield case("layout: expanded vectors", layout="expanded vectors", steps=3)
    yield case("not contiguous, half precision", layout="strided", dtypes=half)
    yield case("continued", split=3)
    yield case("continued after one step", split=1, state=False)
    yield case("continued after none", split=0)
    yield case("continued by none", split=7)
    yield case("continued by one step, half precision", split=6, dtypes=half)
    for name in ALL:
        yield case(f"only {name} needs a gradient", wanted=[name])
    yield case("no gradient is needed", wanted=[])
    yield case("no gradient is needed, no state", wanted=[], state=False)
    yield case("the loss is of the state alone", state_alone=True)
    # Without a graph, states may be changed in place, but not the one that is given.
    yield case("under no_grad", graph=False)
    yield case("under no_grad, the state is not asked for", graph=False, options={"output_final_state": False})
    yield case("under no_grad, double precision", graph=False, dtypes=double)
    yield case("under no_grad, no steps", graph=False, steps=0)
    unasked = {"output_final_state": False}
    yield case("double precision, the state is not asked for", dtypes=double, wanted=[], options=unasked)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence

    owners, tensors = {}, {}
    for name in ALL:
        if case[name] is not None:
            owners[name], tensors[name] = _laid_out(
                case[name].to(getattr(torch, case["dtypes"][name]), copy=True), case["layout"]
            )

    def call(given):
        given = {"initial_state": None, **given}
        with torch.set_grad_enabled(case["graph"]):
            if case["positional"]:
                return dplr_recurrence(*(given[name] for name in ALL), *case["options"].values())
            if given["initial_state"] is None:
                del given["initial_state"]
            return dplr_recurrence(**given, **case["options"])

    # The same tensors hold other values at first: nothing may be kept of that call, and its results stay.
    values = {name: owner.clone() for name, owner in owners.items()}
    for owner in owners.values():
        owner.mul_(0.5)
    halved = {name: owner.clone() for name, owner in owners.items()}
    earlier = [item for item in call(tensors) if item is not None]
    stayed = [bool(torch.equal(owner, halved[name])) for name, owner in owners.items()]
    kept = [item.clone() for item in earlier]
    for name, owner in owners.items():
        owner.copy_(values[name])
    wanted = [name for name in tensors if case["wanted"] is None or name in case["wanted"]]
    for name in wanted:
        tensors[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in tensors.items()}

    if case["split"] is None:
        results = [call(tensors)]
    else:
        place = case["split"]
        head = {name: item if name == "initial_state" else item[:, :, :place] for name, item in tensors.items()}
        results = [call(head)]
        tail = {name: tensors[name][:, :, place:] for name in INPUTS}
        results.append(call(tail | {"initial_state": results[0][1]}))
    outputs, state = torch.cat([result[0] for result in results], dim=2), results[-1][1]
    facts = {
        "tuples": [isinstance(result, tuple) and len(result) == 2 for result in results],
        "outputs": [[str(result[0].dtype), list(result[0].shape)] for result in results],
        "state": None if state is None else [str(state.dtype), list(state.shape)],
    }
    loss = 0.0 if case["state_alone"] else (outputs.double() * case["weights"]).sum()
    if state is not None:
        loss = loss + (state.double() * case["state_weights"]).sum()
    exact, rounded = {}, {}
    gradients = [None] * len(wanted)
    if loss.requires_grad:
        gradients = torch.autograd.grad(loss, [tensors[name] for name in wanted], allow_unused=True)
    for name, gradient in zip(wanted, gradients, strict=True):
        # Where nothing depends on an input, there may be no gradient.
        gradient = torch.zeros_like(tensors[name]) if gradient is None else gradient
        facts[f"gradient of {name}"] = str(gradient.dtype)
        (rounded if gradient.dtype.itemsize < 4 else exact)[name] = gradient.double()
    (rounded if outputs.dtype.itemsize < 4 else exact)["outputs"] = outputs.detach().double()
    # Empty outputs may be made of the inputs or not.
    facts["loss needs a gradient"] = bool(loss.requires_grad and outputs.numel())
    if state is not None:
        exact["states"] = [result[1].detach().clone() for result in results]
        # Not a view of what the call began with.
        with torch.no_grad():
            state.fill_(7.0)
    facts["unchanged"] = [bool(torch.equal(item, before[name])) for name, item in tensors.items()]
    facts["unchanged at first"] = stayed
    facts["earlier results stay"] = [bool(torch.equal(item, copy)) for item, copy in zip(earlier, kept, strict=True)]
    for item, copy in zip(earlier, kept, strict=True):
        (rounded if item.dtype.itemsize < 4 else exact).setdefault("earlier", []).append(copy.double())
    return {case["key"]: exact, "half": rounded, **facts}


def _laid_out(item, layout):
    """A tensor that owns its memory, and the view of it that is handed over."""
    if layout == "strided":
        owner = item.transpose(0, -1).contiguous()
        return owner, owner.transpose(0, -1)
    if layout == "steps first":
        owner = item.transpose(1, 2).contiguous()
        return owner, owner.transpose(1, 2)
    if layout == "expanded":
        owner = item[:, :1].clone()
        return owner, owner.expand(item.shape)
    if layout == "expanded vectors":
        owner = item[..., :1].clone()
        return owner, owner.expand(item.shape)
    if layout == "every other entry":
        owner = torch.stack([item, item + 1], dim=-1)
        return owner, owner[..., 0]
    return item, item
