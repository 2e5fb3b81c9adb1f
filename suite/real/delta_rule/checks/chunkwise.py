"""Outputs, memories and gradients over sizes, chunks, strengths and dtypes; then the experiment."""

from itertools import product

import torch

INPUTS = ("q", "k", "v", "beta")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, chunk_size=None, chunks=1, double=False, rows=None, heads=None, length=None, width=None, **more):
        rows, heads, length = rows or integer(1, 3), heads or integer(2, 4), length or (chunk_size or 32) * chunks
        width, value_width = width or integer(2, 6), more.pop("value_width", None) or integer(2, 6)
        given = {
            "q": normal(rows, heads, length, width),
            "k": torch.nn.functional.normalize(normal(rows, heads, length, width), dim=-1),
            "v": normal(rows, heads, length, value_width),
            "beta": uniform(rows, heads, length),
        }
        given["k"] = given["k"] * uniform(rows, heads, length, 1, low=0.6, high=1.2)
        if not double:
            given = {name: item.float() for name, item in given.items()}
        return given | {
            "name": name,
            "weights": normal(rows, heads, length, value_width),
            "memory_weights": normal(rows, heads, width, value_width),
            "options": {} if chunk_size is None else {"chunk_size": chunk_size},
            "key": "double" if double else "near",
            **more,
        }

    for double, chunks in product((False, True), (1, 2, 3)):
        kind = "double" if double else "single"
        yield case(f"{chunks} of the usual chunks, {kind}", None, chunks, double, rows=1)
        for chunk_size in (1, 2, integer(3, 5), integer(6, 9)):
            yield case(
                f"{chunks} chunks of {'some' if chunk_size > 2 else chunk_size} steps, {kind}, {chunk_size > 5}",
                chunk_size,
                chunks,
                double,
            )
    yield case("by position", integer(3, 5), 2, positional=True)
    yield case("one chunk longer than usual", 40, rows=1, heads=2)
    yield case("one row and head", 3, 3, rows=1, heads=1)
    yield case("keys of width one", 3, 3, width=1)
    yield case("values of width one", 3, 3, value_width=1)
    yield case("all sizes alike", 2, rows=4, heads=4, length=4, width=4, value_width=4)
    for name, strength in (("zero", 0.0), ("one", 1.0)):
        given = case(f"strengths of {name}", 3, 3, length=9)
        yield given | {"beta": torch.full_like(given["beta"], strength)}
    given = case("some steps are not written", 4, 3)
    yield given | {"beta": given["beta"] * (uniform(*given["beta"].shape) < 0.5)}
    given = case("one key again and again", 4, 3)
    yield given | {"k": given["k"][:, :, :1].expand_as(given["k"]).clone()}
    yield {"name": "experiment", "seed": seed % 1000}

    for name, low, high in (("above one", 1.1, 1.9), ("below zero", -0.4, 0.0)):
        given = case(f"strengths {name}", 3, 3, edge=True)
        keys = torch.nn.functional.normalize(given["k"], dim=-1)
        yield given | {"k": keys, "beta": uniform(*given["beta"].shape, low=low, high=high).float()}
    for name in ("q", "v"):
        given = case(f"{name} in the hundreds", 3, 3, edge=True, key="far")
        yield given | {name: 100 * given[name]}
    for name, chunk_size, length in (
        ("steps left over", 4, 4 * integer(1, 3) + integer(1, 3)),
        ("a chunk too long", 9, integer(2, 8)),
        ("steps left over, usual chunks", None, integer(33, 60)),
        ("usual chunks too long", None, integer(5, 20)),
    ):
        yield case(name, chunk_size, length=length, edge=True)
    yield case("without gradients", 4, 2, edge=True, frozen=True)
    yield case("without gradients, double", 4, 2, True, edge=True, frozen=True)


def timed(seed):
    generator = torch.Generator().manual_seed(seed)
    sizes = (8, 32, 256)
    k = torch.randn(*sizes, 64, generator=generator)
    yield {
        "name": "256 steps, 8 rows, 32 heads of width 64",
        "long": {
            "q": torch.randn(*sizes, 64, generator=generator),
            "k": torch.nn.functional.normalize(k, dim=-1),
            "v": torch.randn(*sizes, 64, generator=generator),
            "beta": torch.rand(*sizes, generator=generator),
        },
    }


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.delta_rule.naive import delta_rule_chunkwise

    if "long" in case:
        outputs, memory = delta_rule_chunkwise(**case["long"])
        return {"outputs": outputs[:, :, ::32].clone(), "memory": memory.mean(1)}
    inputs = [case[name].clone().requires_grad_(not case.get("frozen", False)) for name in INPUTS]
    try:
        if case.get("positional"):
            outputs, memory = delta_rule_chunkwise(*inputs, case["options"]["chunk_size"])
        else:
            outputs, memory = delta_rule_chunkwise(*inputs, **case["options"])
    except AssertionError:
        return {"refused": True}
    seen = {"outputs": outputs.detach(), "memory": memory.detach()}
    if not case.get("frozen"):
        loss = (outputs * case["weights"]).sum() + (memory * case["memory_weights"]).sum()
        seen["gradients"] = list(torch.autograd.grad(loss, inputs, materialize_grads=True))
    unchanged = [torch.equal(item.detach(), case[name]) for name, item in zip(INPUTS, inputs, strict=True)]
    return {case["key"]: seen} | ({"unchanged": unchanged} if case.get("edge") else {})
