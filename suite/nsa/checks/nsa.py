"""nsa: outputs and gradients of both branches under every option, and what is refused; then the experiment."""

from functools import partial

import torch

INPUTS = ("q", "k", "v", "g_slc", "g_swa")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    case, blocks = partial(_case, generator), partial(_blocks, generator)

    def counts(batch=2, length=19, key_heads=2, most=3):
        return torch.randint(0, most + 1, (batch, length, key_heads), generator=generator)

    yield case("selected blocks")
    yield case("selected blocks and a window", window_size=5)
    yield case("a gate that is not needed", spare_gate=torch.full((2, 19, 4), torch.inf))
    yield case("tensors that are not contiguous", strided=True, window_size=5)
    for closed in (["g_slc"], ["g_swa"], ["g_slc", "g_swa"]):
        given = case(f"closed gates: {closed}", window_size=5)
        yield given | {name: torch.zeros_like(given[name]) for name in closed}
    yield case("whole blocks", length=16, window_size=3)
    yield case("a key head for each head", heads=3, key_heads=3, window_size=4)
    yield case("one key head", heads=4, key_heads=1, window_size=4)
    yield case("three heads to a key head", heads=6, key_heads=2, window_size=4)
    yield case("one query", length=1, indices=1, window_size=2)
    yield case("one row", batch=1, window_size=6)
    yield case("widths of one", width=1, value_width=1, window_size=6)
    yield case("a window of one", window_size=1)
    yield case("a window beyond the start", window_size=40)
    yield case("blocks of one", block_size=1, indices=7)
    yield case("a block beyond the end", block_size=32, indices=1)
    yield case("blocks of three", block_size=3, indices=4, window_size=2)
    yield case("some indices stand for no block", lowest=-3, indices=5)
    yield case("indices far below zero", lowest=-9, indices=8, window_size=2)
    yield case("indices beyond the last block", more=4, indices=5)
    first = blocks(2, 19, 2, 3, 4)
    yield case("a block twice", block_indices=torch.cat([first, first[..., :2]], dim=-1), window_size=3)
    again = torch.cat([first[..., :1], first], dim=-1)
    yield case("a block twice among those that count", block_indices=again, block_counts=2)
    yield case("a block twice, with counts", block_indices=again, block_counts=counts(most=4), window_size=3)
    yield case("no indices", block_indices=first[..., :0], window_size=3)
    yield case("no block at all", block_indices=torch.full((2, 19, 2, 2), -1), window_size=3)
    yield case("no key at all", block_indices=torch.full((2, 19, 2, 2), -1))
    yield case("blocks to come", block_indices=torch.full((2, 19, 2, 1), 2))
    for bits in (32, 64):
        far, whole = 10**6, getattr(torch, f"int{bits}")
        beyond = torch.cat([first[..., :1], torch.full_like(first, far), first[..., 1:]], dim=-1).to(whole)
        yield case(f"indices far beyond the last block, {bits} bits", block_indices=beyond, window_size=3)
        some = counts(most=6).to(whole)
        yield case(f"counts of {bits} bits", block_indices=beyond.sub(far).neg(), block_counts=some, window_size=3)
    yield case("a number of blocks", indices=5, block_counts=2, window_size=3)
    yield case("no blocks counted", indices=2, block_counts=0, window_size=3)
    yield case("more blocks counted than there are", indices=2, block_counts=9)
    yield case("counts", block_counts=counts(), window_size=3, strided=True)
    yield case("counts beyond the indices", block_counts=counts(most=9))
    yield case("counts of one row", batch=1, block_counts=counts(1), indices=4, lowest=-2)
    yield case("a scale", scale=0.7, window_size=4)
    yield case("a tiny scale", scale=1e-9, window_size=4)
    yield case("a scale of one", scale=1.0, sharpness=0.5)
    yield case("a scale of zero", scale=0.0, window_size=4)
    yield case("a negative scale", scale=-0.5)
    yield case("scores far apart", sharpness=12.0, window_size=4, far=True)
    # On a grid, so that no order of the sums rounds these scores.
    given = case("scores hundreds apart", scale=0.5, window_size=4, far=True)
    given |= {"q": (16 * given["q"]).round(), "k": (8 * given["k"]).round() / 8}
    yield given
    yield given | {"name": "scores hundreds apart, turned round", "options": {**given["options"], "scale": -0.5}}
    sequences = torch.tensor([0, 6, 13, 19])
    yield case("packed", batch=1, cu_seqlens=sequences)
    yield case("packed, with a window", batch=1, cu_seqlens=sequences, window_size=5)
    for window in (13, 19, 40):
        yield case(f"packed, with a window of {window}", batch=1, cu_seqlens=sequences, window_size=window)
    yield case("packed, with counts", batch=1, cu_seqlens=sequences, block_counts=counts(1), window_size=2)
    yield case("packed, with an empty sequence", batch=1, cu_seqlens=torch.tensor([0, 0, 7, 7, 19, 19]), window_size=5)
    between = torch.tensor([0, 4, 4, 8, 19])
    yield case("packed, with an empty sequence between", batch=1, cu_seqlens=between, window_size=5)
    yield case("packed, bounds of 32 bits", batch=1, cu_seqlens=sequences.int(), window_size=3)
    yield case("one sequence packed", batch=1, cu_seqlens=torch.tensor([0, 19]), window_size=3)
    yield case("packed otherwise than before", batch=1, cu_seqlens=sequences, before=torch.tensor([0, 9, 10, 19]))
    yield case("two rows packed", cu_seqlens=sequences)
    yield case("two rows packed as one sequence", cu_seqlens=torch.tensor([0, 19]), head_first=True)
    yield case("heads first", head_first=True)
    yield case("heads first, with a window", head_first=True, window_size=5)
    yield case("heads first, with counts", head_first=True, block_counts=counts(), window_size=5)
    yield case("heads first, a number of blocks", head_first=True, block_counts=2)
    yield case("heads first, packed", batch=1, head_first=True, cu_seqlens=sequences, window_size=5)
    square = {"heads": 8, "key_heads": 8, "length": 8, "head_first": True, "window_size": 3}
    yield case("heads first, as many as queries", **square)
    yield case("heads first, as many as queries, with counts", **square, block_counts=counts(length=8, key_heads=8))
    yield case("double precision", dtype="float64", window_size=5)
    yield case("half precision", dtype="bfloat16", sharpness=20.0, window_size=5)
    yield case("half precision, selected blocks", dtype="float16", sharpness=20.0, head_first=True)
    # There are more of them than half precision has whole numbers for.
    long = {"length": 300, "heads": 2, "key_heads": 1, "width": 4, "value_width": 3, "block_size": 64}
    yield case("half precision, many positions", batch=1, **long, window_size=2, dtypes={"q": "bfloat16"})
    # Both branches read the same keys, and what is left of their sum is a hundredth of each.
    every = torch.arange(5).expand(2, 19, 2, -1)
    alike = case("half precision, branches that cancel", block_indices=every, window_size=19, dtype="bfloat16")
    alike["dtypes"] |= {"g_slc": "float32", "g_swa": "float32"}
    yield alike | {"g_swa": -0.99 * alike["g_slc"]}
    mixed = {"k": "bfloat16", "v": "float16", "g_slc": "float64", "g_swa": "bfloat16"}
    yield case("dtypes of all kinds", dtypes=mixed, window_size=5)
    yield case("half precision among others", dtypes={"q": "bfloat16"}, window_size=5)
    small = case("defaults", batch=1, length=66, heads=2, key_heads=1, indices=1, block_size=64, sharpness=1.0)
    yield {**small, "options": {}}
    yield {"name": "experiment", "seed": seed % 1000}


def timed(seed):
    generator = torch.Generator().manual_seed(seed)
    sizes = {"batch": 1, "length": 256, "heads": 16, "key_heads": 2, "width": 32, "value_width": 32}
    options = {"indices": 4, "block_size": 16, "window_size": 64}
    for _ in range(2):
        yield _case(generator, "256 tokens", **sizes, **options)
    yield _case(generator, "256 tokens, packed", **sizes, **options, cu_seqlens=torch.tensor([0, 100, 256]))


def _blocks(generator, batch, length, key_heads, indices, block_size, lowest=0, more=0):
    """Different blocks for each query and key head, in any order."""
    count = -(-length // block_size) - lowest + more
    keys = torch.rand(batch, length, key_heads, max(count, indices), generator=generator)
    return keys.argsort(dim=-1)[..., :indices] + lowest


def _case(
    generator,
    name,
    batch=2,
    length=19,
    heads=4,
    key_heads=2,
    width=6,
    value_width=5,
    indices=3,
    block_size=4,
    window_size=0,
    dtype="float32",
    sharpness=2.0,
    lowest=0,
    more=0,
    **options,
):
    normal = partial(torch.randn, generator=generator, dtype=torch.float64)
    chosen = _blocks(generator, batch, length, key_heads, indices, block_size, lowest, more)
    return {
        "name": name,
        "q": sharpness * normal(batch, length, heads, width),
        "k": normal(batch, length, key_heads, width),
        "v": normal(batch, length, key_heads, value_width),
        "g_slc": normal(batch, length, heads),
        "g_swa": normal(batch, length, heads) if window_size else options.pop("spare_gate", None),
        "block_indices": options.pop("block_indices", chosen),
        "weights": normal(batch, length, heads, value_width),
        "dtypes": dict.fromkeys(INPUTS, dtype) | options.pop("dtypes", {}),
        "far": options.pop("far", False),
        "strided": options.pop("strided", False),
        "before": options.pop("before", None),
        "options": {"block_size": block_size, "window_size": window_size, **options},
    }


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from NSA import nsa

    options = dict(case["options"])
    turned, strided = options.get("head_first"), case["strided"]

    def laid_out(item):
        item = item.transpose(1, 2) if turned else item
        return item.transpose(0, -1).contiguous().transpose(0, -1) if strided else item.contiguous()

    if torch.is_tensor(options.get("block_counts")):
        options["block_counts"] = laid_out(options["block_counts"])
    inputs = {
        name: laid_out(case[name]).to(getattr(torch, case["dtypes"][name])).requires_grad_()
        for name in INPUTS
        if case[name] is not None
    }
    given = {"g_swa": None, **inputs, "block_indices": laid_out(case["block_indices"])}
    if case["before"] is not None:
        # The same tensors with other values in them.
        packed = {**options, "cu_seqlens": case["before"].clone()}
        nsa(**given, **packed)
        options["cu_seqlens"] = packed["cu_seqlens"].copy_(options["cu_seqlens"])
    tensors = [item for item in (given | options).values() if torch.is_tensor(item)]
    before = [item.detach().clone() for item in tensors]
    try:
        output = nsa(**given, **options)
    except ValueError:
        return {"refused": True}
    # Where no query has a key, nothing needs a gradient.
    if output.requires_grad:
        (output.double() * (case["weights"].transpose(1, 2) if turned else case["weights"])).sum().backward()
    facts = {
        "dtype": str(output.dtype),
        "shape": list(output.shape),
        "unchanged": all(torch.equal(item, kept) for item, kept in zip(tensors, before, strict=True)),
    }
    if output.dtype.itemsize < 4:
        return {"half": output.detach().double(), **facts}
    gradients = {
        name: (torch.zeros_like(item) if item.grad is None else item.grad).double()
        for name, item in inputs.items()
        # Gradients in half precision are rounded by each order of the sums in its own way.
        if item.dtype.itemsize >= 4
    }
    observed = {"output": output.detach().double(), "gradients": gradients}
    # Large scores leave fewer digits after the point, so they have a tolerance of their own.
    return {**({"far": observed} if case["far"] else observed), **facts}
