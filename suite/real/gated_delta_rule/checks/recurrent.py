"""Outputs, memories and gradients over sizes, states, scales, gates, strengths and dtypes; then the experiment."""

from itertools import product

import torch

INPUTS = ("q", "k", "v", "beta", "g")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, options, rows=None, steps=None, heads=None, width=None, state=True, **more):
        rows, steps, heads = rows or integer(1, 3), steps or integer(4, 8), heads or integer(2, 4)
        width, value_width = width or integer(2, 6), integer(2, 6)
        keys = torch.nn.functional.normalize(normal(rows, steps, heads, width), dim=-1)
        return {
            "name": name,
            "q": normal(rows, steps, heads, width),
            "k": keys * uniform(rows, steps, heads, 1, low=0.5, high=1.3),
            "v": normal(rows, steps, heads, value_width),
            "beta": uniform(rows, steps, heads),
            "g": -uniform(rows, steps, heads, high=1.5),
            "initial_state": normal(rows, heads, width, value_width) if state else None,
            "weights": normal(rows, steps, heads, value_width),
            "state_weights": normal(rows, heads, width, value_width),
            "options": options,
            "key": "near",
        } | more

    both = {"output_final_state": True}
    # Every combination of states and scale twice; half of the cases in double precision.
    for number, (again, state, final, scaled) in enumerate(product((False, True), repeat=4)):
        options = both if final else {}
        options = options | ({"scale": uniform(1, low=0.2, high=2.0).item()} if scaled else {})
        parts = ["initial memory"] * state + ["final memory"] * final + ["scale"] * scaled
        given = case(f"{', '.join(parts) or 'the inputs alone'}, {'again' if again else 'once'}", options, state=state)
        if (number + number // 8) % 2:
            given |= {name: given[name].double() for name in INPUTS}
        yield given
    yield case("by position", both | {"scale": 0.7}, positional=True)
    yield case("one step", both | {"scale": 1.0}, steps=1)
    yield case("one row and head", both, rows=1, heads=1)
    yield case("width of one", both, width=1)
    square = case("all sizes alike", both | {"scale": 1}, rows=4, steps=4, heads=4, width=4)
    yield square | {name: normal(4, 4, 4, 4) for name in ("v", "initial_state", "weights", "state_weights")}
    yield case("many steps", both, rows=1, heads=2, steps=integer(66, 75))
    yield case("a call goes on where another ended", both, steps=7, split=integer(2, 5))
    for name in ("beta", "g", "v"):
        given = case(f"{name} of zero", both)
        yield given | {name: torch.zeros_like(given[name])}
    given = case("a strength of one", both, width=5)
    yield given | {"beta": torch.ones_like(given["beta"])}
    given = case("all is forgotten now and then", both, rows=1, heads=2, steps=12)
    yield given | {"g": torch.where(uniform(1, 12, 2) < 0.3, -20.0, -0.1)}
    given = case("steps without a write", both, steps=8)
    yield given | {"beta": given["beta"] * (uniform(*given["beta"].shape) < 0.5)}
    yield {"name": "experiment", "seed": seed % 1000}

    given = case("much is forgotten at each step", both, rows=1, heads=2, steps=30, edge=True)
    yield given | {"g": -uniform(1, 30, 2, low=2.0, high=30.0)}
    given = case("gates above one", both, rows=1, heads=2, steps=6, key="far", edge=True)
    yield given | {"g": uniform(1, 6, 2, low=-0.5, high=0.8)}
    for name, low, high in (("above one", 1.1, 1.9), ("below zero", -0.4, 0.0)):
        given = case(f"strengths {name}", both, key="far", edge=True)
        keys = torch.nn.functional.normalize(given["k"], dim=-1)
        yield given | {"k": keys, "beta": uniform(*given["beta"].shape, low=low, high=high)}
    for scale in (0, -uniform(1).item() - 0.1):
        yield case(f"scale {'of 0' if scale == 0 else 'below 0'}", both | {"scale": scale}, edge=True)
    given = case("large values", both, key="far", edge=True)
    yield given | {"v": 100 * given["v"], "initial_state": 100 * given["initial_state"]}
    for dtype in (torch.bfloat16, torch.float16):
        given = case(f"{dtype}", both | {"scale": 0.6}, steps=8, edge=True)
        kept = given["initial_state"].to(dtype)
        yield given | {name: given[name].to(dtype) for name in INPUTS} | {"initial_state": kept}
    kinds = (torch.float32, torch.bfloat16, torch.float64, torch.float32, torch.float16)
    for place in range(2):
        given = case(f"several dtypes, {place}", both, edge=True)
        order = kinds[2 * place :] + kinds[: 2 * place]
        yield given | {name: given[name].to(kind) for name, kind in zip(INPUTS, order, strict=True)}
    given = case("not contiguous", both, rows=2, edge=True)
    names = (*INPUTS, "initial_state")
    yield given | {name: given[name].transpose(0, 1).contiguous().transpose(0, 1) for name in names}
    yield case("without gradients", both, frozen=True, edge=True)
    yield case("without gradients and memories", {}, state=False, frozen=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule

    options = case["options"]
    tensors = {name: case[name].clone() for name in (*INPUTS, "initial_state") if case[name] is not None}
    for item in tensors.values():
        item.requires_grad_(not case.get("frozen", False))
    inputs = [tensors[name] for name in INPUTS]
    with torch.set_grad_enabled(not case.get("frozen", False)):
        if case.get("positional"):
            state, final = tensors["initial_state"], options["output_final_state"]
            results = [naive_recurrent_gated_delta_rule(*inputs, options["scale"], state, final)]
        elif "split" in case:
            place = case["split"]
            head, tail = [item[:, :place] for item in inputs], [item[:, place:] for item in inputs]
            results = [naive_recurrent_gated_delta_rule(*head, initial_state=tensors["initial_state"], **options)]
            results.append(naive_recurrent_gated_delta_rule(*tail, initial_state=results[0][1], **options))
        else:
            results = [naive_recurrent_gated_delta_rule(**tensors, **options)]
    outputs, state = torch.cat([result[0] for result in results], dim=1), results[-1][1]
    exact = {"outputs": outputs.detach(), "memory": None if state is None else state.detach()}
    observation = {case["key"]: exact}
    if not case.get("frozen"):
        loss = (outputs.double() * case["weights"]).sum()
        if state is not None:
            loss = loss + (state.double() * case["state_weights"]).sum()
        gradients = torch.autograd.grad(loss, list(tensors.values()), materialize_grads=True)
        for name, gradient in zip(tensors, gradients, strict=True):
            where = exact if gradient.dtype.itemsize > 2 else observation.setdefault("half", {})
            where[f"gradient of {name}"] = gradient
    unchanged = {name: torch.equal(item.detach(), case[name]) for name, item in tensors.items()}
    return observation | ({"unchanged": unchanged} if case.get("edge") else {})
