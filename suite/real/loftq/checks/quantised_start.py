"""Levels, quantised tensors and blocks, low-rank factors and whole starts of LoftQ; then the experiment."""

from statistics import NormalDist

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}


def _middles(bits, method="normal"):
    """The levels, and where one passes into the next, so that no entry is drawn too near to it."""
    if method == "uniform":
        levels = torch.linspace(-1, 1, 2**bits, dtype=torch.float64)
    else:
        quantile, half, offset = NormalDist().inv_cdf, 2 ** (bits - 1), 0.9677083
        above = [quantile(offset + (0.5 - offset) * k / half) for k in range(half)]
        below = [-quantile(offset + (0.5 - offset) * k / (half - 1)) for k in range(half - 1)]
        levels = torch.tensor(sorted([*above, 0.0, *below]), dtype=torch.float64) / max(above)
    return levels, (levels[1:] + levels[:-1]) / 2


def _near(normed, middles, margin):
    return torch.searchsorted(middles, normed - margin) != torch.searchsorted(middles, normed + margin)


def _is_clear(weight, bits, rank, rounds):
    """Distances after each round, and the last change, if all rounds stay away from what rounding could change."""
    levels, middles = _middles(bits)
    weight = weight.float().double()
    rest, decoded, change, distances = weight, weight, 0.0, []
    for _ in range(rounds):
        blocks = rest.reshape(-1, 64)
        scale = blocks.abs().amax(dim=-1, keepdim=True)
        normed = blocks / scale
        if _near(normed, middles, 1e-5 if bits < 8 else 4e-6).any():
            return None
        before, decoded = decoded, (levels[torch.searchsorted(middles, normed)] * scale).reshape(weight.shape)
        change = ((decoded - before).norm() / weight.norm()).item()
        u, s, v = torch.linalg.svd(weight - decoded, full_matrices=False)
        kept = s[: rank + 1]
        if len(kept) > 1 and (kept[:-1] - kept[1:]).min() < 0.015 * s[0]:
            return None
        rest = weight - (u[:, :rank] * s[:rank]) @ v[:rank]
        distances.append((rest - decoded).norm().item())
    return distances, change


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def levels(name, edge=False, **arguments):
        return {"name": f"levels, {name}", "kind": "levels", "arguments": arguments, "edge": edge}

    yield levels("by default")
    for bits, symmetric in (
        (integer(2, 3), False),
        (4, False),
        (integer(5, 8), False),
        (integer(2, 3), True),
        (integer(4, 8), True),
    ):
        yield levels(
            f"{bits} bits{', symmetric' * symmetric}", num_bits=bits, symmetric=symmetric, offset=uniform(0.6, 0.999)
        )
    for symmetric in (False, True):
        yield levels(
            f"one bit{', symmetric' * symmetric}", True, num_bits=1, symmetric=symmetric, offset=uniform(0.6, 0.999)
        )

    def clear(weight, bits, method, block):
        """Moves what lies between two levels away from there; the scales stay or are taken anew."""
        middles = _middles(bits, method)[1]
        flat = weight.float().double().reshape(-1, block or weight.numel())
        for _ in range(60):
            scale = flat.abs().amax(dim=-1, keepdim=True)
            if method == "uniform" and block:
                scale = flat.mean(dim=-1, keepdim=True) + 2.5 * flat.std(dim=-1, keepdim=True)
            near = _near(flat / scale, middles, 1e-4 if bits < 8 else 2e-5)
            if not near.any():
                break
            flat = torch.where(near, flat + 4e-4 * scale, flat).float().double()
        return flat.reshape(weight.shape)

    def tensor(name, shape, bits, method="normal"):
        # The greatest magnitude of a matrix is that of an entry below zero.
        weight = uniform(0.1, 3) * normal(*shape)
        if len(shape) == 2 and weight.max() > -weight.min():
            weight = -weight
        weight = clear(weight, bits, method, 0)
        other = torch.randint(2**bits, shape, generator=generator)
        given = {"weight": weight, "other": other, "scale": uniform(0.1, 3), "bits": bits, "method": method}
        return {"name": f"tensor, {name}, {bits} bits", "kind": "tensor", **given}

    yield tensor("a matrix", (6, 5), 2)
    yield tensor("a vector", (integer(5, 20),), 4)
    yield tensor("three dimensions", (2, 3, integer(4, 7)), integer(3, 7))
    yield tensor("a matrix", (5, integer(4, 9)), 8)
    yield tensor("uniform", (4, integer(4, 9)), integer(2, 4), "uniform")

    def blocks(name, rows, columns, bits, block=64, method="normal", **more):
        weight = (normal(rows, columns) + more.pop("mean", 0)).reshape(-1, block)
        # Each block has a size of its own.
        weight = weight * torch.logspace(-1, 1, len(weight), dtype=torch.float64)[:, None]
        weight = clear(weight.reshape(rows, columns), bits, method, block)
        other = {
            "bytes": torch.randint(256, (rows * columns * bits // 8, 1), generator=generator, dtype=torch.uint8),
            "scales": normal(rows * columns // block, 1).abs().float() + 0.1,
        }
        given = {"weight": weight, "other": other, "bits": bits, "block": block, "method": method}
        return {"name": f"blocks, {name}, {bits} bits", "kind": "blocks", **given, **more}

    for method in ("normal", "uniform"):
        of = ", uniform" * (method == "uniform")
        for bits in (2, 4, 8):
            yield blocks(f"default{of}", 8, 8 * integer(2, 4), bits, method=method)
        yield blocks(f"small{of}", 4 * integer(1, 3), 6, integer(1, 2) * 2, block=8, method=method)
        yield blocks(f"beyond rows{of}", 12, 10, integer(1, 2) * 2, block=24, method=method)
    yield blocks("within rows", 3, 48, 4, block=16)
    yield blocks("uniform, a mean off 0", 8, 16, 4, method="uniform", mean=uniform(0.2, 0.6))
    yield blocks("a transposed view", 8, 16, 4, transposed=True, edge=True)
    yield {"name": "blocks, refused", "kind": "refused blocks", "edge": True}
    # Blocks of mean zero: as many of each value in every 32 entries.
    order = torch.rand(4, 32, generator=generator).argsort(dim=1)
    values = torch.tensor([-3.0, -1.0, 1.0, 3.0]).repeat(8)[order].reshape(8, 16)
    yield {"name": "settings that change", "kind": "settings", "values": values, "edge": True}

    def factors(name, rows, columns, rank=None, dtype="float32", **more):
        while True:
            weight = normal(rows, columns)
            if rank is None:
                u, s, v = torch.linalg.svd(weight, full_matrices=False)
                weight = u * torch.linspace(1, 0.02, len(s), dtype=torch.float64) @ v
                break
            values = torch.linalg.svdvals(weight)[: rank + 1]
            if len(values) < 2 or (values[:-1] - values[1:]).min() > 0.02 * values[0]:
                break
        given = {"weight": weight, "rank": rank, "dtype": dtype}
        return {"name": f"factors, {name}", "kind": "factors", **given, **more}

    yield factors("a wide matrix", 6, 11, integer(2, 4))
    yield factors("a tall matrix", 11, 6, integer(2, 4), "float64")
    yield factors("rank one of a square", 7, 7, 1)
    yield factors("all ranks", 5, 8, 5)
    yield factors("more than all", 4, 9, integer(5, 9), "float64")
    yield factors("more than all, tall", 9, 4, integer(5, 9))
    yield factors("a rank by default", 34, 36)
    yield {"name": "factors, refused", "kind": "refused factors", "edge": True}

    def start(name, rows=8, columns=16, bits=2, rank=2, rounds=1, dtype="float32", rises=False, **more):
        for _ in range(2000):
            size = uniform(0.05, 2)
            weight = (size * normal(rows, columns)).to(DTYPES[dtype])
            found = _is_clear(weight, bits, rank, rounds)
            if found and (rounds < 3 or found[1] > 1e-3) and (not rises or found[0][-1] > 1.005 * min(found[0])):
                break
        given = {"weight": weight.double(), "bits": bits, "rank": rank, "rounds": rounds, "dtype": dtype}
        return {"name": f"start, {name}, {bits} bits", "kind": "start", "parameter": rounds > 1, **given, **more}

    for bits in (2, 4, 8):
        yield start("one round", columns=8 * integer(1, 3), bits=bits, rank=integer(1, 3))
    yield start("two rounds", rank=integer(2, 3), rounds=2)
    yield start("two rounds", 4, 16, bits=8, rank=1, rounds=2)
    yield start("five rounds", rounds=5)
    yield start("five rounds", 8, 8, bits=4, rounds=5)
    yield start("a distance that grows at last", 8, 8, rank=1, rounds=4, rises=True)
    yield start("a tall weight", 32, 8, rank=3, rounds=2, bits=4)
    yield start("more than all ranks", 4, 16, rank=integer(5, 9))
    yield start("double precision", rounds=2, dtype="float64", bits=4)
    yield {"name": "experiment", "seed": seed % 1000}

    yield start("bfloat16", dtype="bfloat16", rounds=2, edge=True)
    yield start("float16", dtype="float16", bits=4, edge=True)
    yield {"name": "start, refused", "kind": "refused starts", "weight": normal(8, 16), "edge": True}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    kinds = {
        "levels": _levels,
        "tensor": _tensor,
        "blocks": _blocks,
        "refused blocks": _refused_blocks,
        "settings": _settings,
        "factors": _factors,
        "refused factors": _refused_factors,
        "start": _start,
        "refused starts": _refused_starts,
    }
    return kinds[case["kind"]](case)


def _levels(case):
    from peft.utils.loftq_utils import NFQuantizer

    found = NFQuantizer.create_normal_map(**case["arguments"])
    held = NFQuantizer(num_bits=4, device="cpu").norm_lookup_table
    facts = [str(found.dtype), list(found.shape), found.requires_grad]
    return {"levels": {"found": found, "held": held}, "facts": facts}


def _tensor(case):
    from peft.utils.loftq_utils import NFQuantizer

    quantizer = NFQuantizer(num_bits=case["bits"], device="cpu", method=case["method"])
    weight = case["weight"].float()
    kept = weight.clone()
    indices, scale = quantizer.quantize_tensor(weight)
    decoded = quantizer.dequantize_tensor(indices, scale)
    other = quantizer.dequantize_tensor(case["other"].clone(), torch.tensor(case["scale"]))
    facts = [list(scale.shape), str(decoded.dtype), list(decoded.shape), list(other.shape), torch.equal(weight, kept)]
    # Relative to the largest value.
    results = {"scale": scale / kept.abs().max(), "decoded": decoded / kept.abs().max(), "other": other}
    return {"indices": indices.long(), "facts": facts, "results": results}


def _blocks(case):
    from peft.utils.loftq_utils import NFQuantizer

    quantizer = NFQuantizer(num_bits=case["bits"], device="cpu", method=case["method"], block_size=case["block"])
    weight = case["weight"].float()
    if case.get("transposed"):
        weight = weight.T.contiguous().T
    kept = weight.clone()
    packed, scales, shape = quantizer.quantize_block(weight)
    copies = packed.clone(), scales.clone()
    decoded = quantizer.dequantize_block(packed, scales, shape)
    given = {name: item.clone() for name, item in case["other"].items()}
    other = quantizer.dequantize_block(given["bytes"], given["scales"], torch.Size(kept.shape))
    facts = [str(packed.dtype), str(scales.dtype), list(packed.shape), list(scales.shape), list(shape)]
    facts += [str(decoded.dtype), list(decoded.shape), list(other.shape), torch.equal(weight, kept)]
    facts += [torch.equal(packed, copies[0]), torch.equal(scales, copies[1])]
    facts += [torch.equal(item, case["other"][name]) for name, item in given.items()]
    # Relative to the largest value of each block.
    sizes = kept.reshape(-1, case["block"]).abs().amax(dim=1, keepdim=True)
    results = {"scales": copies[1] / sizes, "other": other}
    results["decoded"] = decoded.reshape(-1, case["block"]) / sizes
    return {"packed": copies[0], "facts": facts, "results": results}


def _settings(case):
    from peft.utils.loftq_utils import NFQuantizer

    exact, results = [], []
    quantizer = NFQuantizer(num_bits=4, device="cpu")
    changes = [
        {},
        {"norm_lookup_table": torch.linspace(-1, 1, 16) ** 3},
        {"block_size": 32},
        {"num_bits": 2, "norm_lookup_table": torch.linspace(-1, 1, 4) ** 3},
        {"method": "uniform"},
    ]
    for place, change in enumerate(changes):
        vars(quantizer).update(change)
        values = 2.0**place * case["values"]
        whole, block = quantizer.quantize_tensor(values), quantizer.quantize_block(values)
        exact.append([whole[0], block[0]])
        results.append([block[1], quantizer.dequantize_tensor(*whole), quantizer.dequantize_block(*block)])
    return {"exact": exact, "results": results}


def _errors(calls):
    found = []
    for call in calls:
        try:
            call()
        except NotImplementedError:
            found.append("NotImplementedError")
        except ValueError:
            found.append("ValueError")
        else:
            found.append("nothing")
    return found


def _refused_blocks(case):
    from peft.utils.loftq_utils import NFQuantizer

    quantizer, other = (NFQuantizer(num_bits=4, device="cpu", block_size=64) for _ in range(2))
    other.method = "another"
    shapes = ((64,), (2, 4, 8), (8, 9), (4, 8))
    calls = [lambda shape=shape: quantizer.quantize_block(torch.ones(shape)) for shape in shapes]
    return {"found": _errors([*calls, lambda: other.quantize_block(torch.ones(8, 8))])}


def _parts(a, b):
    """What is left of factors, whose columns and rows are free in their sign."""
    parts = {"product": b @ a, "left": b @ b.mT, "right": a.mT @ a}
    return parts | {"between columns": b.mT @ b, "between rows": a @ a.mT}


def _factors(case):
    from peft.utils.loftq_utils import _low_rank_decomposition

    weight = case["weight"].to(DTYPES[case["dtype"]])
    kept = weight.clone()
    found = _low_rank_decomposition(weight, *([] if case["rank"] is None else [case["rank"]]))
    results = _parts(found["R"], found["L"])
    u, s, v = found["U"], found["S"], found["Vh"]
    results |= {"whole": u * s @ v, "values": s, "across U": u.mT @ u, "across V": v @ v.mT}
    facts = [sorted(found), found["reduced_rank"], torch.equal(weight, kept)]
    facts += [[str(found[name].dtype), list(found[name].shape)] for name in ("L", "R", "U", "S", "Vh")]
    return {"double" if case["dtype"] == "float64" else "results": results, "facts": facts}


def _refused_factors(case):
    from peft.utils.loftq_utils import _low_rank_decomposition

    shapes = ((4,), (2, 3, 4))
    return {"found": _errors([lambda shape=shape: _low_rank_decomposition(torch.ones(shape)) for shape in shapes])}


def _start(case):
    from peft.utils.loftq_utils import loftq_init

    weight = case["weight"].to(DTYPES[case["dtype"]])
    kept = weight.clone()
    weight = torch.nn.Parameter(weight) if case["parameter"] else weight
    size = kept.double().abs().max()
    rounds = {} if case["rounds"] == 1 else {"num_iter": case["rounds"]}
    decoded, a, b = loftq_init(weight, num_bits=case["bits"], reduced_rank=case["rank"], **rounds)
    facts = [[str(item.dtype), list(item.shape), item.requires_grad] for item in (decoded, a, b)]
    facts += [torch.equal(weight.detach(), kept), weight.requires_grad]
    results = {name: item.double() / size for name, item in _parts(a.detach(), b.detach()).items()}
    half = case["dtype"] in ("bfloat16", "float16")
    return {
        "results": results,
        "half" if half else "decoded": {"decoded": decoded.detach().double() / size},
        "facts": facts,
    }


def _refused_starts(case):
    from peft.utils import loftq_utils

    start, weight = loftq_utils.loftq_init, case["weight"].float()
    refused = ((3, 2, 1), (1, 2, 1), (0, 2, 1), (4, 2, 0), (2, 2, -1))
    found = _errors([lambda given=given: start(weight, *given) for given in refused])
    kept = loftq_utils.is_bnb_available
    loftq_utils.is_bnb_available = lambda: False
    try:
        found += _errors([lambda bits=bits: start(weight, bits, 2) for bits in (2, 4, 8)])
    finally:
        loftq_utils.is_bnb_available = kept
    return {"found": found}
