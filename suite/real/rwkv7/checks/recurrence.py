"""RWKV-7's state: outputs, states and gradients over sizes and regimes, and continued calls; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "alpha", "beta", "gk")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def unit(*shape):
        return torch.nn.functional.normalize(normal(*shape), dim=-1)

    def case(name, rows=2, heads=3, steps=6, width=5, value_width=4, state=True, rate=None, decay=None, **more):
        sizes = (rows, heads, steps, width)
        removed = unit(*sizes)
        given = {
            "q": normal(*sizes),
            "k": normal(*sizes),
            "v": normal(*sizes[:3], value_width),
            "alpha": -removed,
            # Rates in context as the paper has them, unless others are given.
            "beta": removed * (uniform(*sizes) if rate is None else rate),
            "gk": -uniform(*sizes, high=0.6) if decay is None else decay * uniform(*sizes),
        }
        if state:
            given["initial_state"] = normal(rows, heads, width, value_width)
        return {
            "name": name,
            "inputs": given,
            "weights": [normal(*sizes[:3], value_width), normal(rows, heads, width, value_width)],
            "options": {},
        } | more

    def edge(*args, **more):
        return case(*args, **more) | {"edge": True}

    unasked = {"options": {"output_final_state": False}}
    yield case("the defaults", state=False)
    yield case("an initial state")
    yield case("the state is asked for", options={"output_final_state": True})
    yield case("the state is not asked for", **unasked)
    yield case("no state at all", state=False, **unasked)
    for number in range(8):
        sizes = {"rows": integer(1, 3), "heads": integer(1, 4), "steps": integer(1, 9), "width": integer(1, 6)}
        state, rate, decay = integer(0, 1), (None, 0.0, 1.0, 2.0)[number % 4], (None, 0.0, -3.0)[integer(0, 2)]
        sizes["value_width"] = integer(1, 6)
        yield case(f"sizes and regimes {number}", state=bool(state), rate=rate, decay=decay, **sizes)
    yield case("one step", steps=1)
    yield case("keys as wide as values", width=4)
    yield case("as many steps as heads", steps=3)
    yield case("all sizes alike", rows=4, heads=4, steps=4, width=4)
    yield case("40 steps", rows=1, heads=2, steps=40, width=4, value_width=3, decay=-0.1)
    yield case("the delta rule", rate=1.0, decay=0.0)
    yield case("rates of two", rate=2.0)
    yield case("nothing is removed", rate=0.0)
    yield case("fast decays", decay=-3.0)
    given = case("removals with any two vectors", steps=4)
    given["inputs"] |= {name: uniform(2, 3, 4, 5, low=-2, high=2) for name in ("alpha", "beta")}
    yield given
    given = case("small vectors")
    given["inputs"] |= {"alpha": 1e-2 * normal(2, 3, 6, 5), "beta": 0.1 * normal(2, 3, 6, 5)}
    yield given
    yield case("continued", split=integer(2, 4))
    yield case("continued after one step", split=1, state=False)
    yield {"name": "experiment", "seed": seed % 1000}

    for dtype in ("bfloat16", "float16"):
        yield edge(dtype, dtype=dtype)
        yield edge(f"{dtype}, large decays", dtype=dtype, state=False, decay=-3.0)
    given = edge("slow decays after fast ones", rows=1, heads=1, steps=69)
    given["inputs"]["gk"][:, :, :61] = -3.0
    yield given
    for name in ("q", "k", "v"):
        given = edge(f"{name} in the hundreds", key="far")
        given["inputs"][name] = given["inputs"][name] * 200
        yield given
    given = edge("some vectors are zero at each step")
    for step, names in enumerate(("k alpha beta", "alpha", "k", "v", "q", "gk")):
        for name in names.split():
            given["inputs"][name][:, :, step] = 0.0
    yield given
    yield edge("no gradient is needed", frozen=True)
    yield edge("no gradient is needed, the state is not asked for", frozen=True, **unasked)
    yield edge("the same sizes, other values before", state=False, before=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence

    dtype = getattr(torch, case.get("dtype", "float32"))
    given = {name: item.to(dtype) for name, item in case["inputs"].items()}
    if case.get("before"):
        dplr_recurrence(**{name: item.flip(2) for name, item in given.items()})
    inputs = {name: item.clone().requires_grad_("frozen" not in case) for name, item in given.items()}
    parts = [inputs]
    if "split" in case:
        place = case["split"]
        parts = [
            {name: item if name == "initial_state" else item[:, :, piece] for name, item in inputs.items()}
            for piece in (slice(place), slice(place, None))
        ]
    outputs, state = [], None
    with torch.set_grad_enabled("frozen" not in case):
        for part in parts:
            more = {} if state is None else {"initial_state": state}
            output, state = dplr_recurrence(**part | more, **case["options"])
            outputs.append(output)
    output = torch.cat(outputs, dim=2)
    seen = {"dtype": str(output.dtype), "shape": list(output.shape), "state": state is not None}
    loss = (output.float() * case["weights"][0]).sum()
    results = {"state": None}
    if state is not None:
        results["state"], seen["dtype of the state"] = state.detach(), str(state.dtype)
        loss = loss + (state * case["weights"][1]).sum()
    # Where nothing depends on an input, there may be no gradient.
    if loss.requires_grad:
        loss.backward()
    gradients = {name: item.grad for name, item in inputs.items() if item.grad is not None}
    if dtype.itemsize < 4:
        seen["half"] = {"output": output.detach().float(), "gradients": [item.float() for item in gradients.values()]}
    else:
        results |= {"output": output.detach(), "gradients": gradients}
    if "edge" in case:
        seen["unchanged"] = all(torch.equal(item, given[name]) for name, item in inputs.items())
    return {case.get("key", "near"): results} | seen
