"""Outputs, states and gradients over sizes, settings and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def real(low, high):
        return uniform(low=low, high=high).item()

    def case(name, kind=torch.float32, memory=False, curvature=False, final=True, centre=None, **more):
        rows = more.pop("rows", None) or integer(1, 3)
        heads = more.pop("heads", None) or integer(2, 4)
        steps = more.pop("steps", None)
        steps = integer(3, 6) if steps is None else steps
        width, value_width = more.pop("width", None) or integer(2, 5), more.pop("value_width", None) or integer(2, 5)
        places = (rows, steps, heads)
        # No channel of a key is near zero, where the logarithm would magnify rounding.
        keys = uniform(*places, width, low=0.15, high=0.7) * normal(*places, width).sign()
        given = {
            "q": normal(*places, width),
            "k": keys,
            "v": normal(*places, value_width),
            "g": uniform(*places, width, low=-0.7, high=-0.02),
            "g_atk": uniform(*places, low=-0.8, high=-0.05),
            "beta_atk": uniform(*places, low=0.2, high=1.4),
            "beta": uniform(*places, low=0.2, high=1.2),
        }
        if memory:
            given["initial_state"] = normal(rows, heads, width, value_width)
        if curvature:
            given["initial_A_state"] = uniform(rows, heads, width, low=0.05, high=2.0)
        if centre == "heads":
            given["log_atk_scale"] = uniform(heads, low=-2.0, high=1.0)
        options = more.pop("options", {}) | ({"output_final_state": True} if final else {})
        if isinstance(centre, float):
            options["log_atk_scale"] = centre
        return {
            "name": name,
            "given": {key: item.to(kind) for key, item in given.items()},
            "weights": normal(*places, value_width),
            "state_weights": normal(rows, heads, width, value_width),
            "curvature_weights": normal(rows, heads, width),
            "options": options,
            "key": "near",
            **more,
        }

    for kind, memory, curvature in product((torch.float32, torch.float64), (False, True), (False, True)):
        name = f"{kind}, {'memory, ' if memory else ''}{'curvature' if curvature else ''}"
        yield case(f"{name}, default centre", kind, memory, curvature)
        centre = real(-1.5, 0.8) if memory else "heads"
        options = {"x": real(1.3, 4.0), "eps": real(0.01, 0.2), "scale": real(0.2, 2.0)}
        yield case(f"{name}, settings", kind, memory, curvature, centre=centre, options=options)
        yield case(f"{name}, outputs", kind, memory, curvature, final=False, centre=centre)
    yield case("a base alone", options={"x": real(2.0, 5.0)})
    yield case("an epsilon alone", options={"eps": real(0.05, 0.5)})
    yield case("a scale of zero", options={"scale": 0.0})
    yield case("ones", memory=True, centre=1.0, options={"scale": 1.0, "eps": 1.0})
    yield case("a base of one", options={"x": 1.0})
    yield case("a centre of zero", centre=0.0)
    yield case("a whole number as centre", options={"log_atk_scale": -2})
    yield case("zero as centre", options={"log_atk_scale": 0, "x": 2})
    yield case("states not asked for", final=False, options={"output_final_state": False})
    yield case("one step", memory=True, curvature=True, steps=1)
    yield case("many steps", memory=True, curvature=True, steps=integer(14, 20), rows=1, centre="heads")
    yield case("one row and head", rows=1, heads=1, centre="heads")
    yield case("keys of width one", width=1)
    yield case("values of width one", value_width=1)
    yield case(
        "all sizes alike", memory=True, curvature=True, rows=3, heads=3, steps=3, width=3, value_width=3, centre="heads"
    )
    given = case("layouts of their own", memory=True, curvature=True)
    yield given | {
        "given": {name: item.transpose(0, -1).contiguous().transpose(0, -1) for name, item in given["given"].items()}
    }
    given = case("silent channels", options={"x": 2.0})
    given["given"]["k"] = given["given"]["k"] * (uniform(*given["given"]["k"].shape) < 0.6)
    yield given
    given = case("curvature that decays fast", steps=8, rows=1, curvature=True)
    given["given"]["g_atk"] = uniform(1, 8, given["given"]["g_atk"].shape[2], low=-18.0, high=-12.0).float()
    yield given
    given = case("by position", memory=True, curvature=True, centre="heads")
    yield given | {"positional": [real(0.3, 2.0), real(1.2, 3.0), real(0.01, 0.1)]}
    yield {"name": "experiment", "seed": seed % 1000}

    for memory in (False, True):
        yield case(f"no steps, {memory}", memory=memory, curvature=memory, steps=0, edge=True)
        yield case(f"no steps in double precision, {memory}", torch.float64, memory, memory, steps=0, edge=True)
        yield case(f"half precision, {memory}", torch.bfloat16, memory, not memory, key="half", edge=True)
    given = case("values in half precision", centre="heads", key="half", edge=True)
    yield given | {"given": given["given"] | {"v": given["given"]["v"].bfloat16()}}
    given = case("values in double precision", edge=True)
    yield given | {"given": given["given"] | {"v": given["given"]["v"].double()}}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.precond_kda.naive import naive_recurrent_precond_kda

    given = {name: item.clone().requires_grad_() for name, item in case["given"].items()}
    if "positional" in case:
        order = ("q", "k", "v", "g", "g_atk", "beta_atk", "beta")
        scale, base, eps = case["positional"]
        more = (scale, given["initial_state"], given["initial_A_state"], True, base, eps, given["log_atk_scale"])
        found = naive_recurrent_precond_kda(*(given[name] for name in order), *more)
    else:
        found = naive_recurrent_precond_kda(**given, **case["options"])
    outputs, state, curvature = found
    loss = (outputs * case["weights"]).sum()
    states = {}
    if state is not None:
        states = {"state": state.detach(), "curvature": curvature.detach()}
        loss = loss + (state * case["state_weights"]).sum() + (curvature * case["curvature_weights"]).sum()
    # Half precision rounds outputs and gradients, but not the states.
    seen = {"outputs": outputs.detach()}
    # Without steps and initial states, nothing depends on the inputs.
    loss = loss + 0 * sum(item.sum() for item in given.values())
    seen["gradients"] = list(torch.autograd.grad(loss, list(given.values()), materialize_grads=True))
    unchanged = all(torch.equal(item.detach(), case["given"][name]) for name, item in given.items())
    return {case["key"]: seen, "states": states, "curvature_too": curvature is not None, "unchanged": unchanged}
