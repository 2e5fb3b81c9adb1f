"""Outputs, states and gradients over sizes, chunk sizes, states, scales, factors and dtypes; then the experiment."""

from itertools import product

import torch

INPUTS = ("q", "k", "v", "g")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, options, rows=None, steps=None, heads=None, width=None, state=True, **more):
        rows, steps, heads = rows or integer(1, 3), steps or integer(6, 12), heads or integer(2, 4)
        width, value_width = width or integer(2, 6), integer(2, 6)
        return {
            "name": name,
            "q": normal(rows, steps, heads, width),
            "k": normal(rows, steps, heads, width),
            "v": normal(rows, steps, heads, value_width),
            "g": -uniform(rows, steps, heads, high=0.7),
            "initial_state": normal(rows, heads, width, value_width) if state else None,
            "weights": normal(rows, steps, heads, value_width),
            "state_weights": normal(rows, heads, width, value_width),
            "options": options,
            "key": "near",
        } | more

    # Every combination of states, scale and kind of chunk; half of the cases in double precision.
    every = product((False, True), (False, True), (False, True), ("default", "exact", "incomplete", "longer"))
    for number, (state, final, scaled, chunks) in enumerate(every):
        size = integer(2, 5)
        steps = size * integer(2, 3) + (integer(1, size - 1) if chunks == "incomplete" else 0)
        options = {"output_final_state": True} if final else {}
        options |= {"scale": uniform(1, low=0.2, high=2.0).item()} if scaled else {}
        options |= {} if chunks == "default" else {"chunk_size": steps + size if chunks == "longer" else size}
        parts = [f"{chunks} chunks", *["initial state"] * state, *["final state"] * final, *["scale"] * scaled]
        given = case(", ".join(parts), options, steps=steps, state=state)
        if (number + number // 4) % 2:
            given |= {name: given[name].double() for name in INPUTS}
        yield given
    both = {"output_final_state": True}
    small = {"rows": 1, "heads": 2, "width": 3}
    yield case("by position", both | {"chunk_size": 3, "scale": 0.7}, positional=True)
    yield case("one step", both | {"scale": 1.0}, steps=1)
    yield case("chunks of one step", both | {"chunk_size": 1})
    square = case("all sizes alike", both | {"chunk_size": 2, "scale": 1}, rows=4, steps=4, heads=4, width=4)
    yield square | {name: normal(4, 4, 4, 4) for name in ("v", "initial_state", "weights", "state_weights")}
    for steps in (64, integer(66, 100), 128 + integer(1, 20)):
        yield case(f"{'some' if steps > 64 else '64'} steps in chunks of 64, {steps > 127}", both, **small, steps=steps)
    yield case("a call goes on where another ended", both | {"chunk_size": integer(2, 4)}, steps=9, split=integer(2, 7))
    # Much is forgotten: products of factors underflow, and their reciprocals overflow.
    for name, chunk in (("one chunk", 64), ("some chunks", 8)):
        given = case(f"much is forgotten in {name}", both | {"chunk_size": chunk}, **small, steps=30, key="deep")
        yield given | {"g": -uniform(1, 30, 2, low=2.0, high=12.0)}
    given = case("all is forgotten now and then", both | {"chunk_size": 16}, steps=20, **small, key="deep")
    yield given | {"g": torch.where(uniform(1, 20, 2) < 0.2, -60.0, -0.02)}
    yield {"name": "experiment", "seed": seed % 1000}

    given = case("sums of thousands", both, **small, steps=70, key="deep", edge=True)
    yield given | {"g": -uniform(1, 70, 2, low=20.0, high=40.0)}
    given = case("one head forgets for some chunks", both | {"chunk_size": 8}, **small, steps=40, key="near", edge=True)
    yield given | {"g": -uniform(1, 40, 2, high=0.2) - torch.tensor([0.0, 60.0]) * (torch.arange(40) < 16).view(40, 1)}
    given = case("factors above one", both | {"chunk_size": 4}, **small, steps=10, key="far", edge=True)
    yield given | {"g": uniform(1, 10, 2, low=-0.5, high=0.8)}
    for scale in (0, -uniform(1).item() - 0.1):
        yield case(f"scale {'of 0' if scale == 0 else 'below 0'}", both | {"scale": scale, "chunk_size": 4}, edge=True)
    given = case("large values", both | {"chunk_size": 3}, key="far", edge=True)
    yield given | {"v": 100 * given["v"], "initial_state": 100 * given["initial_state"]}
    for dtype in (torch.bfloat16, torch.float16):
        given = case(
            f"{dtype}", both | {"chunk_size": 4, "scale": 0.6}, steps=20, state=dtype == torch.float16, edge=True
        )
        yield given | {name: given[name].to(dtype) for name in INPUTS}
    kinds = (torch.float32, torch.bfloat16, torch.float64, torch.float32)
    for place in range(2):
        given = case(f"several dtypes, {place}", both | {"chunk_size": 5}, edge=True)
        order = kinds[2 * place :] + kinds[: 2 * place]
        yield given | {name: given[name].to(kind) for name, kind in zip(INPUTS, order, strict=True)}
    yield case("without gradients", both | {"chunk_size": 3}, frozen=True, edge=True)
    yield case("without gradients and states", {"chunk_size": 3}, state=False, frozen=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.simple_gla.naive import naive_chunk_simple_gla

    options = case["options"]
    tensors = {name: case[name].clone() for name in (*INPUTS, "initial_state") if case[name] is not None}
    for item in tensors.values():
        item.requires_grad_(not case.get("frozen", False))
    if case.get("positional"):
        order = ("output_final_state", "chunk_size", "scale")
        results = [naive_chunk_simple_gla(*tensors.values(), *(options[name] for name in order))]
    elif "split" in case:
        place = case["split"]
        head = {name: tensors[name][:, :place] for name in INPUTS}
        results = [naive_chunk_simple_gla(**head, initial_state=tensors["initial_state"], **options)]
        tail = {name: tensors[name][:, place:] for name in INPUTS}
        results.append(naive_chunk_simple_gla(**tail, initial_state=results[0][1], **options))
    else:
        results = [naive_chunk_simple_gla(**tensors, **options)]
    outputs, state = torch.cat([result[0] for result in results], dim=1), results[-1][1]
    exact = {"outputs": outputs.detach(), "state": None if state is None else state.detach()}
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
