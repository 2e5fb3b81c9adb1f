"""Chunks: outputs, states and gradients over sizes, chunk sizes, dtypes and layouts; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "g")
ALL = (*INPUTS, "initial_state")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def case(name, rows=2, steps=7, heads=3, width=5, value_width=4, state=True, final=True, chunk=4, **more):
        sizes = (rows, steps, heads)
        options = {"output_final_state": True} if final else {}
        if chunk is not None:
            options["chunk_size"] = chunk
        return {
            "name": name,
            "q": normal(*sizes, width),
            "k": normal(*sizes, width),
            "v": normal(*sizes, value_width),
            "g": -uniform(*sizes, high=0.7),
            "initial_state": normal(rows, heads, width, value_width) if state else None,
            "weights": normal(*sizes, value_width),
            "state_weights": normal(rows, heads, width, value_width),
            "dtypes": dict.fromkeys(ALL, "float32"),
            "options": options | more.pop("options", {}),
            "positional": False,
            "layout": "plain",
            "split": None,
            "wanted": None,
            "key": "near",
        } | more

    yield case("nothing but the inputs", state=False, final=False, chunk=None)
    yield case("an initial state alone", final=False, chunk=None)
    yield case("a final state", state=False, chunk=None)
    yield case("both states", chunk=None)
    yield case("the final state is not asked for", options={"output_final_state": False})
    yield case("by position", positional=True)
    yield case("by position, with a scale", positional=True, chunk=3, options={"scale": 0.7})
    yield case("by position, no initial state", positional=True, state=False, chunk=5)
    for value in (0.3, 1.0, 1, 2, 0, 0.0, -0.8):
        yield case(f"scale of {value!r}", options={"scale": value})
    yield case("a scale, no states", state=False, final=False, options={"scale": 1.7})
    # Chunks: one step each, incomplete last ones, none complete, exactly filled ones.
    for chunk in (1, 2, 3, 5, 6, 7, 8, 13, 64):
        yield case(f"7 steps in chunks of {chunk}", chunk=chunk)
    for steps in (4, 5, 8, 12, 15):
        yield case(f"{steps} steps in chunks of 4", steps=steps)
    yield case("8 steps in chunks of 4, no initial state", steps=8, state=False)
    small = {"rows": 1, "heads": 2, "width": 4, "value_width": 3}
    for steps in (63, 64, 65, 129):
        yield case(f"{steps} steps in chunks by default", **small, steps=steps, chunk=None)
    yield case("300 steps", rows=1, heads=1, steps=300, chunk=None, g=-uniform(1, 300, 1, high=0.02), key="far")
    yield case(
        "300 steps in chunks of 33", rows=1, heads=1, steps=300, chunk=33, g=-uniform(1, 300, 1, high=0.1), key="far"
    )
    yield case("200 steps in a chunk of 1000", rows=1, heads=1, steps=200, width=2, chunk=1000, key="far")
    # Sizes.
    yield case("one step", steps=1)
    yield case("one step, chunk of one", steps=1, chunk=1)
    yield case("two steps", steps=2, chunk=1)
    yield case("one row", rows=1)
    yield case("one head", heads=1)
    yield case("one row, head and step", rows=1, heads=1, steps=1)
    yield case("keys of width one", width=1)
    yield case("values of width one", value_width=1)
    yield case("widths of one", width=1, value_width=1)
    yield case("keys as wide as values", width=4)
    yield case("all sizes alike", rows=4, heads=4, steps=4, width=4)
    yield case("as many steps as heads", steps=3, chunk=2)
    yield case("values wider than keys", width=2, value_width=6)
    yield case("the largest widths", rows=1, heads=1, steps=5, width=64, value_width=64, key="far")
    yield case("many heads", rows=1, heads=64, steps=3, width=2, value_width=2, chunk=2)
    yield case("many rows", rows=64, heads=1, steps=3, width=2, value_width=2, chunk=2)
    # Factors.
    sizes = (2, 7, 3)
    yield case("nothing is forgotten", g=torch.zeros(sizes).double())
    yield case("all is forgotten at each step", g=torch.full(sizes, -80.0).double(), key="deep")
    yield case("factors of all sizes", g=-uniform(*sizes, high=40.0), key="deep")
    yield case("wiped now and then", g=torch.where(uniform(*sizes) < 0.3, -60.0, -0.01).double(), key="deep")
    long = {"rows": 1, "heads": 2, "steps": 70}
    yield case("sums down to thousands", **long, chunk=None, g=-uniform(1, 70, 2, low=10.0, high=40.0), key="deep")
    yield case(
        "sums down to thousands in small chunks",
        **long,
        chunk=16,
        g=-uniform(1, 70, 2, low=50.0, high=80.0),
        key="deep",
    )
    wiped = torch.where(uniform(1, 70, 2) < 0.2, -60.0, -0.02).double()
    yield case("wiped now and then in one chunk", **long, chunk=None, g=wiped, key="deep")
    swing = uniform(*sizes) * torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0]).view(1, 7, 1)
    yield case("factors above one", g=swing, key="far")
    yield case("growth up to the bound", steps=4, g=torch.ones(2, 4, 3).double(), chunk=3, key="far")
    rising = torch.tensor([0.0, 1.0, 1.0, 1.0, 1.0]).double().view(1, 5, 1).expand(2, 5, 3)
    yield case("growth up to the bound in one chunk", steps=5, g=rising.clone(), chunk=8, key="far")
    early = torch.cat([torch.full((1, 64, 1), -70.0).double(), -uniform(1, 100, 1, high=0.2)], dim=1)
    yield case("all is forgotten for some chunks", rows=1, heads=1, steps=164, chunk=16, g=early)
    yield case("one head forgets", g=-uniform(*sizes, high=80.0) * torch.tensor([0.0, 1.0, 0.0]), key="deep")
    # Later steps must not show (first head), nor what was wiped (second one), though entries are as large as can be.
    lone = {"rows": 1, "heads": 2, "width": 64, "value_width": 1, "final": False, "options": {"scale": 2}}
    given = case("nothing leaks", **lone, steps=70, chunk=None, g=torch.zeros(1, 70, 2).double())
    given["g"][:, 32, 1] = -80.0
    first, early = torch.arange(70) < 1, torch.arange(70) < 32
    asks, tells = (torch.stack(pair, dim=1).view(1, 70, 2, 1) for pair in ((first, ~early), (~first, early)))
    yield given | {
        "q": uniform(1, 70, 2, 64, low=9.0, high=10.0) * asks,
        "k": uniform(1, 70, 2, 64, low=450.0, high=500.0) * tells,
        "v": uniform(1, 70, 2, 1, low=450.0, high=500.0) * tells,
        "initial_state": uniform(1, 2, 64, 1, low=450.0, high=500.0) * torch.tensor([0.0, 1.0]).view(2, 1, 1),
    }
    # What is left is little, but all there is: of the initial state (first head), of the first step (second one).
    given = case("hardly anything is left", **lone, g=torch.zeros(1, 7, 2).double())
    given["g"][:, 1] = -20.0
    first = (torch.arange(7) < 1).view(1, 7, 1, 1)
    tells = first * torch.tensor([0.0, 1.0]).view(2, 1)
    yield given | {
        "q": uniform(1, 7, 2, 64, low=9.0, high=10.0) * ~first,
        "k": uniform(1, 7, 2, 64, low=450.0, high=500.0) * tells,
        "v": uniform(1, 7, 2, 1, low=450.0, high=500.0) * tells,
        "initial_state": uniform(1, 2, 64, 1, low=450.0, high=500.0) * torch.tensor([1.0, 0.0]).view(2, 1, 1),
    }
    # Nothing depends on these factors, however large the other inputs are.
    given = case("the gradient of factors that wipe all", state=False, final=False)
    yield given | {
        "q": uniform(*sizes, 5, low=5.0, high=10.0),
        "k": uniform(*sizes, 5, low=100.0, high=500.0),
        "v": uniform(*sizes, 4, low=100.0, high=500.0),
        "g": torch.full(sizes, -80.0).double(),
        "weights": uniform(*sizes, 4, low=0.5, high=1.0),
    }
    for name in ("q", "k", "v", "initial_state"):
        given = case(f"{name} of zero")
        yield given | {name: torch.zeros_like(given[name])}
    given = case("values in the hundreds", key="far")
    yield given | {
        "v": uniform(*sizes, 4, low=-500.0, high=500.0),
        "initial_state": uniform(2, 3, 5, 4, low=-500.0, high=500.0),
    }
    given = case("queries in the hundreds", key="far")
    yield given | {"q": uniform(*sizes, 5, low=-500.0, high=500.0)}
    given = case("keys in the hundreds", key="far")
    yield given | {"k": uniform(*sizes, 5, low=-500.0, high=500.0)}
    # Dtypes.
    for dtype in ("float64", "bfloat16", "float16"):
        same = dict.fromkeys(INPUTS, dtype) | {"initial_state": "float32"}
        yield case(dtype, dtypes=same)
        yield case(f"{dtype}, no initial state", dtypes=same, state=False, steps=8)
    for number, name in enumerate(INPUTS):
        for dtype in ("bfloat16" if number % 2 else "float16", "float64"):
            yield case(f"{name} of {dtype} alone", dtypes=dict.fromkeys(ALL, "float32") | {name: dtype})
    half = dict.fromkeys(INPUTS, "bfloat16") | {"initial_state": "float32"}
    yield case("half precision, scaled", dtypes=half, options={"scale": 0.123})
    yield case("many steps in half precision", dtypes=half, **long, chunk=None, g=-uniform(1, 70, 2))
    yield case(
        "many dtypes", dtypes=dict(zip(ALL, ("bfloat16", "float64", "float16", "float32", "float32"), strict=False))
    )
    # Gradients are sums of two large terms of opposite signs, which must not be rounded before they are added.
    given = case("what cancels in half precision", dtypes=half, steps=1, width=1, value_width=1, options={"scale": 1})
    v, weights = (uniform(2, 1, 3, 1, low=16.0, high=30.0).bfloat16().double() for _ in range(2))
    yield given | {
        "q": torch.ones_like(v),
        "k": torch.ones_like(v),
        "v": v,
        "g": torch.zeros(2, 1, 3).double(),
        "initial_state": normal(2, 3, 1, 1) - v.view(2, 3, 1, 1),
        "weights": weights,
        "state_weights": normal(2, 3, 1, 1) - weights.view(2, 3, 1, 1),
    }
    given = case("large values in half precision", dtypes=half, key="far")
    yield given | {"v": uniform(*sizes, 4, low=-500.0, high=500.0)}
    # Layouts, continued calls, and what needs a gradient.
    for layout in ("strided", "heads first", "expanded", "every other entry"):
        yield case(f"layout: {layout}", layout=layout)
    yield case("expanded, half precision", layout="expanded", dtypes=half)
    yield case("continued", split=4)
    yield case("continued within a chunk", split=3)
    yield case("continued after one step", split=1, state=False)
    yield case("continued by one step", split=6, chunk=2)
    yield case("continued in chunks by default", split=5, chunk=None, options={"scale": 0.4})
    for name in ALL:
        yield case(f"only {name} needs a gradient", wanted=[name])
    yield case("no gradient is needed", wanted=[])
    yield case("no gradient is needed, whole chunks", wanted=[], steps=8)
    yield case("no gradient is needed, no state", wanted=[], state=False, final=False)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.simple_gla.naive import naive_chunk_simple_gla

    owners, tensors = {}, {}
    for name in ALL:
        if case[name] is not None:
            item = case[name].to(getattr(torch, case["dtypes"][name]), copy=True)
            owners[name], tensors[name] = _laid_out(item, case["layout"], name)

    def call(given, **changes):
        options = case["options"] | changes
        if case["positional"]:
            places = {"initial_state": None, "output_final_state": False, "chunk_size": 64, "scale": None}
            places |= options | {"initial_state": given.get("initial_state")}
            return naive_chunk_simple_gla(*(given[name] for name in INPUTS), *places.values())
        return naive_chunk_simple_gla(**given, **options)

    # The same tensors hold other values at first: nothing may be kept of that call, and its results stay.
    values = {name: owner.clone() for name, owner in owners.items()}
    for owner in owners.values():
        owner.mul_(0.5)
    halved = {name: owner.clone() for name, owner in owners.items()}
    earlier = [item for item in call(tensors, scale=0.9, chunk_size=3) if item is not None]
    kept = [item.clone() for item in earlier]
    stayed = [bool(torch.equal(owner, halved[name])) for name, owner in owners.items()]
    for name, owner in owners.items():
        owner.copy_(values[name])
    with torch.no_grad():
        quiet = [item for item in call(tensors) if item is not None]
        call(tensors | {"v": tensors["v"] / 2}, scale=0.9)
    wanted = [name for name in tensors if case["wanted"] is None or name in case["wanted"]]
    for name in wanted:
        tensors[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in tensors.items()}

    if case["split"] is None:
        results = [call(tensors)]
    else:
        place = case["split"]
        head = {name: item if name == "initial_state" else item[:, :place] for name, item in tensors.items()}
        results = [call(head)]
        tail = {name: tensors[name][:, place:] for name in INPUTS}
        results.append(call(tail | {"initial_state": results[0][1]}))
    outputs, state = torch.cat([result[0] for result in results], dim=1), results[-1][1]
    facts = {
        "tuples": [isinstance(result, tuple) and len(result) == 2 for result in results],
        "outputs": [[str(result[0].dtype), list(result[0].shape)] for result in results],
        "state": None if state is None else [str(state.dtype), list(state.shape)],
    }
    loss = (outputs.double() * case["weights"]).sum()
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
    exact["outputs"] = outputs.detach()
    exact["earlier"] = [item.double() for item in (*quiet, *kept)]
    facts["outputs and loss need a gradient"] = [outputs.requires_grad, loss.requires_grad]
    if state is not None:
        exact["states"] = [result[1].detach().clone() for result in results]
        # Not a view of what the call began with.
        with torch.no_grad():
            state.fill_(7.0)
    facts["unchanged"] = [bool(torch.equal(item, before[name])) for name, item in tensors.items()]
    facts["unchanged at first"] = stayed
    facts["earlier results stay"] = [bool(torch.equal(item, copy)) for item, copy in zip(earlier, kept, strict=True)]
    return {case["key"]: exact, "half": rounded, **facts}


def _laid_out(item, layout, name):
    """A tensor that owns its memory, and the view of it that is handed over."""
    if layout == "strided":
        owner = item.transpose(0, -1).contiguous()
        return owner, owner.transpose(0, -1)
    if layout == "heads first":
        owner = item.transpose(1, 2).contiguous()
        return owner, owner.transpose(1, 2)
    if layout == "expanded":
        # One head's vectors for all heads; one row's factors and state for all rows.
        owner = item[:, :, :1].clone() if name in ("q", "k", "v") else item[:1].clone()
        return owner, owner.expand(item.shape)
    if layout == "every other entry":
        owner = torch.stack([item, item + 1], dim=-1)
        return owner, owner[..., 0]
    return item, item
