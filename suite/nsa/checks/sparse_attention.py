"""All three branches, the choice of blocks, and the layer: outputs and gradients, in double precision throughout.

What `nsa` computes has the precision of float32, and so has what the layer makes of it.
"""

from contextlib import contextmanager

import torch
from torch.nn import functional as F

PACKED = torch.tensor([0, 6, 9, 19])


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    for key_heads in (1, 2, 6):
        yield {"name": f"groups of {6 // key_heads}", "function": "group", "q": normal(2, 3, 6, 2), "heads": key_heads}
    seen = torch.rand(4, 7, generator=generator) < 0.5
    seen[0], seen[1, 2:], seen[2] = False, True, True
    for name, size in (("softmax", 1.0), ("softmax of scores far apart", 300.0)):
        yield {"name": name, "function": "softmax", "scores": size * normal(2, 3, 4, 7), "mask": seen}
    yield {"name": "softmax, a mask as large", "function": "softmax", "scores": normal(4, 7), "mask": seen}

    for length, block_size in ((13, 4), (12, 3), (3, 4), (5, 1)):
        given = {"states": normal(2, length, 2, 5), "weight": normal(block_size), "place": normal(block_size, 5)}
        yield {"name": f"{length} states in blocks of {block_size}", "function": "blocks", **given}
    for length, block_size, rows, scale in ((13, 4, 2, None), (12, 3, 1, 0.7), (3, 4, 2, None), (6, 1, 2, 0.3)):
        whole = length // block_size
        given = {"q": normal(rows, length, 6, 5), "k": normal(rows, whole, 2, 5), "v": normal(rows, whole, 2, 3)}
        given |= {"block_size": block_size, "options": {} if scale is None else {"scale": scale}}
        yield {"name": f"{length} queries, {whole} compressed keys", "function": "compressed", **given}
    for length, block_size, local in ((22, 4, None), (20, 4, 2), (23, 3, 3), (21, 4, 0), (3, 4, None), (7, 1, 2)):
        ends = (torch.arange(length // block_size) + 1) * block_size
        past = ends <= torch.arange(length)[:, None] + 1
        weights = torch.rand(2, length, 2, 3, len(ends), generator=generator, dtype=torch.float64)
        weights = weights * past[:, None, None]
        given = {"probabilities": weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9), "length": length}
        given |= {"block_size": block_size, "options": {} if local is None else {"local": local}}
        yield {"name": f"{length} keys in blocks of {block_size}, {local} local", "function": "rank", **given}

    def selected(name, rows=2, heads=4, key_heads=2, length=19, indices=3, lowest=0, more=0, block_size=4, **options):
        blocks = -(-length // block_size) - lowest + more
        chosen = torch.rand(rows, length, key_heads, max(blocks, indices), generator=generator).argsort(dim=-1)
        options = {"block_size": block_size, **options}
        return {
            "name": f"nsa, {name}",
            "function": "nsa",
            "q": 2 * normal(rows, length, heads, 6),
            "k": normal(rows, length, key_heads, 6),
            "v": normal(rows, length, key_heads, 5),
            "g_slc": normal(rows, length, heads),
            "g_swa": normal(rows, length, heads) if options.get("window_size") else None,
            "block_indices": options.pop("block_indices", chosen[..., :indices] + lowest),
            "options": options,
        }

    def counts(rows=2, length=19, most=3):
        return torch.randint(0, most + 1, (rows, length, 2), generator=generator)

    yield selected("selected blocks")
    yield selected("a window", window_size=5)
    yield selected("a window of one", window_size=1, length=8)
    yield selected("a scale", scale=0.7, window_size=3, heads=6)
    yield selected("some indices stand for no block", lowest=-3, more=2, indices=6)
    yield selected("no block at all", block_indices=torch.full((2, 19, 2, 2), -1), window_size=3)
    yield selected("no key at all", block_indices=torch.full((2, 19, 2, 2), -1))
    yield selected("a number of blocks", indices=5, block_counts=2, window_size=3)
    yield selected("counts", block_counts=counts(most=5), lowest=-1)
    twice = torch.randint(0, 5, (2, 19, 2, 1), generator=generator).expand(-1, -1, -1, 2)
    yield selected("a block twice", block_indices=twice, key_heads=2)
    yield selected("packed", rows=1, cu_seqlens=PACKED, window_size=4)
    yield selected("packed, with counts", rows=1, cu_seqlens=PACKED, block_counts=counts(1), block_size=3)
    yield selected("two rows packed", cu_seqlens=PACKED)
    yield selected("heads first", head_first=True, block_counts=counts(), window_size=5)
    yield selected("heads first, a number of blocks", head_first=True, block_counts=2)
    yield selected("heads first, packed", rows=1, head_first=True, cu_seqlens=PACKED, window_size=4)
    given = selected("defaults", rows=1, heads=2, key_heads=1, length=66, indices=1, block_size=64)
    yield given | {"options": {}}

    for name, rows, bounds in (("two rows", 2, None), ("one row", 1, None), ("packed", 1, PACKED)):
        given = {"states": normal(rows, 19, 10), "bounds": bounds, "seed": seed % 1000}
        yield {"name": f"layer, {name}", "function": "layer", **given, "selected": 3 - (rows == 2), "window": 4}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    functions = (group, softmax, blocks, compressed, rank, nsa, layer)
    with double_precision():
        found = {function.__name__: function for function in functions}[case["function"]](case)
    return found if case["function"] in ("nsa", "layer") else {"exact": found}


def weighted(output):
    """A sum in which every entry has a weight of its own."""
    return (output * torch.linspace(0.5, 1.5, output.numel()).view(output.shape).cos()).sum()


def gradients(total, inputs):
    if not total.requires_grad:
        return [torch.zeros_like(item) for item in inputs]
    return list(torch.autograd.grad(total, inputs, materialize_grads=True))


def leaves(case, names):
    return [case[name].clone().requires_grad_() for name in names]


def group(case):
    from ops import group_heads

    return group_heads(case["q"], case["heads"])


def softmax(case):
    from ops import masked_softmax

    [scores] = leaves(case, ["scores"])
    weights = masked_softmax(scores, case["mask"])
    return {"weights": weights, "gradient": gradients(weighted(weights), [scores])}


def blocks(case):
    from compression import BlockCompression

    block_size, width = case["place"].shape
    module = BlockCompression(block_size, width)
    with torch.no_grad():
        module.weight.copy_(case["weight"])
        module.place.copy_(case["place"])
    [states] = leaves(case, ["states"])
    compressed = module(states)
    inputs = [states, module.weight, module.place]
    return {"blocks": compressed, "gradients": gradients(weighted(compressed), inputs)}


def compressed(case):
    from compression import compressed_attention

    inputs = leaves(case, "qkv")
    output, probabilities = compressed_attention(*inputs, case["block_size"], **case["options"])
    found = gradients(weighted(output) + weighted(probabilities), inputs)
    return {"output": output, "probabilities": probabilities, "gradients": found}


def rank(case):
    from selection import rank_blocks

    found = rank_blocks(case["probabilities"], case["length"], case["block_size"], **case["options"])
    local = case["options"].get("local", 1)
    return unordered(found, torch.arange(case["length"]), case["block_size"], local)


def unordered(ranked, places, block_size, local):
    """The lists (B, T, H, S), with those blocks in ascending order that come before all others."""
    own = (places // block_size).tolist()
    ranked = ranked.clone()
    for query, last in enumerate(own):
        forced = len({0} | set(range(max(last - local + 1, 0), last + 1)))
        ranked[:, query, :, :forced] = ranked[:, query, :, :forced].sort(dim=-1).values
    return ranked


def nsa(case):
    from NSA import nsa

    options, first = dict(case["options"]), case["options"].get("head_first", False)

    def turned(item):
        return item.transpose(1, 2).contiguous() if first and torch.is_tensor(item) else item

    names = ["q", "k", "v", "g_slc", *(["g_swa"] if case["g_swa"] is not None else [])]
    inputs = [turned(case[name]).clone().requires_grad_() for name in names]
    given = {"g_swa": None, **dict(zip(names, inputs, strict=True)), "block_indices": turned(case["block_indices"])}
    if "block_counts" in options:
        options["block_counts"] = turned(options["block_counts"])
    try:
        output = nsa(**given, **options)
    except ValueError:
        return {"refused": True}
    return {"output": output, "gradients": gradients(weighted(output), inputs)}


def layer(case):
    from layer import NativeSparseAttention

    module = NativeSparseAttention(10, 4, 2, 6, 4, case["selected"], case["window"])
    generator = torch.Generator().manual_seed(case["seed"])
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / parameter.shape[-1] ** 0.5)
    [states], bounds = leaves(case, ["states"]), case["bounds"]
    q, k, v = (part(states).unflatten(2, (-1, 6)) for part in (module.query, module.key, module.value))
    output, listed = module.compress(q, k, v, bounds)
    starts = torch.tensor([0, 19] if bounds is None else bounds).diff()
    places = torch.cat([torch.arange(length) for length in starts.tolist()])
    listed = unordered(listed, places, 4, 1)
    # How far the lists are filled up is left open.
    named = F.pad(listed, (0, 5 - listed.shape[-1]), value=-1)
    inputs = [states, *module.parameters()]
    found = {"compressed": output, "blocks": named, "slopes": gradients(weighted(output), inputs)}
    for name, read in (("heads", module.attend(states, bounds)), ("output", module(states, bounds))):
        found |= {name: read, f"gradients of {name}": gradients(weighted(read), inputs)}
    return found
