"""nsa: outputs and gradients of both branches, under all combinations of the options; then the experiment."""

from functools import partial
from itertools import product

import torch

INPUTS = ("q", "k", "v", "g_slc", "g_swa")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    case = partial(_case, generator)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def bounds(length):
        first, second = integer(4, 7), integer(9, 12)
        return torch.tensor([0, first, second, length], dtype=torch.int32)

    def counts(batch, length, key_heads=2, most=3):
        return torch.randint(0, most + 1, (batch, length, key_heads), generator=generator)

    every = product((False, True), (False, True), ("no", "a short", "a wide"), ("all", "some", "as many"))
    for number, (packed, head_first, window, counted) in enumerate(every):
        length, block_size, scaled = integer(16, 20), integer(2, 4), number % 2
        batch, key_heads = 1 if packed else integer(1, 2), integer(1, 2)
        options = {"block_size": block_size, "head_first": head_first}
        options["window_size"] = {"no": 0, "a short": integer(2, 4), "a wide": length + integer(0, 9)}[window]
        if packed:
            options["cu_seqlens"] = bounds(length)
        if counted != "all":
            options["block_counts"] = 2 if counted == "some" else counts(batch, length, key_heads)
        if scaled:
            options["scale"] = 0.4 + 0.01 * integer(0, 20)
        words = [f"{window} window", f"{counted} blocks", *["packed"] * packed, *["heads first"] * head_first]
        yield case(
            ", ".join(words + ["scaled"] * scaled),
            batch=batch,
            length=length,
            key_heads=key_heads,
            dtype=("float32", "float64")[integer(0, 1)],
            **options,
        )
    yield case("as many heads as queries", batch=1, length=8, heads=8, key_heads=8, head_first=True, window_size=3)
    square = {"length": 8, "heads": 8, "key_heads": 8, "block_counts": counts(2, 8, 8)}
    yield case("as many heads as queries, counted", **square, head_first=True)
    yield case("three heads to a key head", heads=6, window_size=4)
    yield case("one query", length=1, indices=1, window_size=2)
    yield case("blocks of one", block_size=1, indices=7, window_size=1)
    yield case("blocks to come", lead=1)
    yield case("a scale of one", scale=1.0, window_size=4)
    long = case("the default options", batch=1, length=integer(66, 72), heads=2, key_heads=1, indices=1, block_size=64)
    yield long | {"options": {}}
    yield {"name": "experiment", "seed": seed % 1000}

    edge = partial(case, edge=True)
    yield edge("no blocks counted", block_counts=0, window_size=3)
    yield edge("more blocks counted than there are", block_counts=counts(2, 19, most=9))
    yield edge("indices and counts of 32 bits", whole=torch.int32, block_counts=counts(2, 19).int())
    # On a grid, so that no order of the sums rounds these scores.
    far = edge("scores hundreds apart", scale=0.5, window_size=4, far=True)
    yield far | {"q": (100 * far["q"]).round(), "k": (8 * far["k"]).round() / 8}
    first, second = integer(3, 7), integer(9, 14)
    for name, empty in (
        ("at the ends", [0, 0, first, first, 19, 19]),
        ("in a row", [0, first, first, first, second, 19]),
    ):
        yield edge(f"empty sequences {name}", batch=1, cu_seqlens=torch.tensor(empty), window_size=5)
    yield edge("two rows packed", cu_seqlens=bounds(19), head_first=bool(integer(0, 1)))
    for dtype, packed in product(("bfloat16", "float16"), (False, True)):
        options = {"batch": 1, "cu_seqlens": bounds(19)} if packed else {}
        name = f"{dtype}{', packed' * packed}"
        yield edge(name, dtype=dtype, sharpness=10.0, window_size=5, head_first=not packed, **options)


def timed(seed):
    generator = torch.Generator().manual_seed(seed)
    sizes = {"batch": 1, "length": 256, "heads": 16, "key_heads": 2, "width": 32, "value_width": 32}
    options = {"indices": 4, "block_size": 16, "window_size": 64}
    for _ in range(2):
        yield _case(generator, "256 tokens", **sizes, **options)
    yield _case(generator, "256 tokens, packed", **sizes, **options, cu_seqlens=torch.tensor([0, 100, 256]))


def _case(
    generator,
    name,
    batch=2,
    length=19,
    heads=4,
    key_heads=2,
    width=6,
    value_width=5,
    indices=4,
    block_size=4,
    dtype="float32",
    sharpness=1.0,
    lead=0,
    whole=torch.int64,
    far=False,
    edge=False,
    **options,
):
    """A case whose blocks stand in any order; each place of the list has no block with a chance of a quarter."""
    normal = partial(torch.randn, generator=generator, dtype=torch.float64)
    if "cu_seqlens" in options:
        sizes = options["cu_seqlens"].diff()
        sizes = sizes.repeat_interleave(sizes)
    else:
        sizes = torch.full((length,), length)
    blocks = -(-sizes // block_size)[:, None, None]
    most = max(int(blocks.max()), indices)
    chosen = torch.rand(batch, length, key_heads, most, generator=generator).argsort(dim=-1)[..., :indices] + lead
    chosen = torch.where(chosen < blocks, chosen, -1)
    chosen = torch.where(torch.rand(chosen.shape, generator=generator) < 0.25, -1, chosen)
    return {
        "name": name,
        "edge": edge,
        "q": sharpness * 2 * normal(batch, length, heads, width),
        "k": normal(batch, length, key_heads, width),
        "v": normal(batch, length, key_heads, value_width),
        "g_slc": torch.rand(batch, length, heads, generator=generator),
        "g_swa": torch.rand(batch, length, heads, generator=generator) if options.get("window_size") else None,
        "block_indices": chosen.to(whole),
        "weights": normal(batch, length, heads, value_width),
        "dtype": dtype,
        "far": far,
        "options": {"block_size": block_size, **options},
    }


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from NSA import nsa

    options, head_first = dict(case["options"]), case["options"].get("head_first")

    def turned(item):
        return item.transpose(1, 2) if head_first and torch.is_tensor(item) else item

    if "block_counts" in options:
        options["block_counts"] = turned(options["block_counts"])
    dtype = getattr(torch, case["dtype"])
    inputs = {name: case[name].to(dtype).requires_grad_() for name in INPUTS if case[name] is not None}
    given = {"g_swa": None} | {name: turned(item) for name, item in inputs.items()}
    given["block_indices"] = turned(case["block_indices"])
    tensors = [item for item in (given | options).values() if torch.is_tensor(item)]
    before = [item.detach().clone() for item in tensors]
    try:
        output = nsa(**given, **options)
    except ValueError:
        return {"refused": True}
    # Where no query has a key, nothing needs a gradient.
    if output.requires_grad:
        (output.double() * turned(case["weights"])).sum().backward()
    facts = {
        "dtype": str(output.dtype),
        "shape": list(output.shape),
        "inputs_unchanged": all(torch.equal(item, kept) for item, kept in zip(tensors, before, strict=True)),
    }
    if dtype.itemsize < 4:
        # Gradients in half precision are rounded by each order of the sums in its own way.
        return {"half": output.detach().double(), **facts}
    zeros = {name: torch.zeros_like(item) for name, item in inputs.items()}
    gradients = {name: (zeros[name] if item.grad is None else item.grad).double() for name, item in inputs.items()}
    observed = {"output": output.detach().double(), "gradients": gradients}
    # Large scores leave fewer digits after the point, so they have a tolerance of their own.
    return {**({"far": observed} if case["far"] else observed), **facts}
