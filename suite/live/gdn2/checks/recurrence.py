"""Outputs, memories and gradients over sizes, settings and dtypes; then the experiment."""

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

    def case(name, kind=torch.float32, memory=False, final=True, scaled=False, **more):
        rows = more.pop("rows", None) or integer(1, 3)
        heads = more.pop("heads", None) or integer(2, 4)
        steps = more.pop("steps", None)
        steps = integer(3, 7) if steps is None else steps
        width, value_width = more.pop("width", None) or integer(2, 5), more.pop("value_width", None) or integer(2, 5)
        places = (rows, steps, heads)
        keys = torch.nn.functional.normalize(normal(*places, width), dim=-1) * uniform(*places, 1, low=0.6, high=1.2)
        given = {
            "q": normal(*places, width),
            "k": keys,
            "v": normal(*places, value_width),
            "g": uniform(*places, width, low=-0.8, high=-0.02),
            "b": uniform(*places, width, low=0.1),
            "w": uniform(*places, value_width, low=0.1),
        }
        if memory:
            given["initial_state"] = normal(rows, heads, width, value_width)
        options = more.pop("options", {})
        options = (
            options | ({"output_final_state": True} if final else {}) | ({"scale": real(0.2, 2.0)} if scaled else {})
        )
        return {
            "name": name,
            "given": {key: item.to(kind) for key, item in given.items()},
            "weights": normal(*places, value_width),
            "memory_weights": normal(rows, heads, width, value_width),
            "options": options,
            "key": "near",
            **more,
        }

    for kind, memory, final, scaled in product(
        (torch.float32, torch.float64), (False, True), (False, True), (False, True)
    ):
        name = f"{kind}, {'memory, ' if memory else ''}{'both' if final else 'outputs'}{', scale' if scaled else ''}"
        yield case(name, kind, memory, final, scaled)
    yield case("a scale of zero", options={"scale": 0.0})
    yield case("a scale of one", memory=True, options={"scale": 1.0})
    yield case("the memory is not asked for", final=False, options={"output_final_state": False, "scale": None})
    yield case("one step", memory=True, steps=1)
    yield case("many steps", memory=True, steps=integer(16, 24), rows=1)
    yield case("one row and head", rows=1, heads=1)
    yield case("keys of width one", width=1)
    yield case("values of width one", value_width=1)
    yield case("all sizes alike", memory=True, rows=3, heads=3, steps=3, width=3, value_width=3)
    given = case("layouts of their own", memory=True)
    yield given | {
        "given": {name: item.transpose(0, -1).contiguous().transpose(0, -1) for name, item in given["given"].items()}
    }
    for name, value in (("b", 0.0), ("b", 1.0), ("w", 0.0), ("w", 1.0)):
        given = case(f"{name} is {value}", memory=True)
        yield given | {"given": given["given"] | {name: torch.full_like(given["given"][name], value)}}
    given = case("some channels are not erased, others not written", memory=True)
    shut = {name: given["given"][name] * (uniform(*given["given"][name].shape) < 0.6) for name in ("b", "w")}
    yield given | {"given": given["given"] | shut}
    given = case("no decay", memory=True)
    yield given | {"given": given["given"] | {"g": torch.zeros_like(given["given"]["g"])}}
    yield case("by position", memory=True, positional=real(0.3, 2.0))
    for memory in (False, True):
        given = case(f"much decays, {memory}", memory=memory, steps=integer(6, 9))
        usual = given["given"]["g"]
        strong = torch.where(uniform(*usual.shape) < 0.5, uniform(*usual.shape, low=-60.0, high=-15.0).float(), usual)
        yield given | {"given": given["given"] | {"g": strong}}
    yield {"name": "experiment", "seed": seed % 1000}

    for memory in (False, True):
        yield case(f"no steps, {memory}", memory=memory, steps=0, edge=True)
        yield case(f"half precision, {memory}", torch.bfloat16, memory, key="half", edge=True)
        given = case(f"gates outside of the range, {memory}", memory=memory, edge=True)
        far = {
            "b": uniform(*given["given"]["b"].shape, low=-0.5, high=1.8).float(),
            "w": uniform(*given["given"]["w"].shape, low=-1.5, high=2.5).float(),
        }
        yield given | {"given": given["given"] | far}
    for kind in (torch.float64, torch.bfloat16):
        key = "half" if kind == torch.bfloat16 else "near"
        yield case(f"no steps, {kind}", kind, memory=True, steps=0, key=key, edge=True)
    given = case("a memory that grows", memory=True, edge=True)
    growing = uniform(*given["given"]["g"].shape, low=-0.3, high=0.4).float()
    yield given | {"given": given["given"] | {"g": growing}}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.gdn2.naive import naive_recurrent_gdn2

    given = {name: item.clone().requires_grad_() for name, item in case["given"].items()}
    if "positional" in case:
        order = (given[name] for name in ("q", "k", "v", "g", "b", "w"))
        found = naive_recurrent_gdn2(*order, case["positional"], given["initial_state"], True)
    else:
        found = naive_recurrent_gdn2(**given, **case["options"])
    outputs, memory = found
    # Without steps and an initial memory, nothing depends on the inputs.
    loss = (outputs * case["weights"]).sum() + 0 * sum(item.sum() for item in given.values())
    seen = {"outputs": outputs.detach()}
    if memory is not None:
        seen["memory"] = memory.detach()
        loss = loss + (memory * case["memory_weights"]).sum()
    gradients = torch.autograd.grad(loss, list(given.values()), materialize_grads=True)
    unchanged = all(torch.equal(item.detach(), case["given"][name]) for name, item in given.items())
    result = {"near": seen, "unchanged": unchanged}
    # Half precision rounds the gradients, but not the outputs.
    return result | {case["key"]: {**result.get(case["key"], {}), "gradients": list(gradients)}}
