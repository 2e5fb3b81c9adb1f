"""Levels, quantised tensors and blocks, low-rank factors and whole starts of LoftQ; then the experiment."""

from statistics import NormalDist

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}


def _middles(bits, method="normal"):
    """Where one level passes into the next, so that no entry is drawn too near to it."""
    if method == "uniform":
        levels = torch.linspace(-1, 1, 2**bits, dtype=torch.float64)
    else:
        quantile, half, offset = NormalDist().inv_cdf, 2 ** (bits - 1), 0.9677083
        above = [quantile(offset + (0.5 - offset) * k / half) for k in range(half)]
        below = [-quantile(offset + (0.5 - offset) * k / (half - 1)) for k in range(half - 1)]
        levels = torch.tensor(sorted([*above, 0.0, *below]), dtype=torch.float64) / max(above)
    return levels, (levels[1:] + levels[:-1]) / 2


def _near(normed, middles, margin):
    return (normed.unsqueeze(-1) - middles).abs().amin(dim=-1) < margin


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def levels(name, **arguments):
        return {"name": f"levels, {name}", "arguments": arguments}

    yield levels("by default")
    for bits in range(1, 9):
        yield levels(f"{bits} bits", num_bits=bits)
        yield levels(f"{bits} bits, symmetric", num_bits=bits, symmetric=True)
    for offset in (0.6, 0.75, 0.95, 0.999):
        yield levels(f"offset {offset}", num_bits=3, offset=offset)
        yield levels(f"offset {offset}, symmetric", num_bits=4, offset=offset, symmetric=True)

    def clear(weight, bits, method, block):
        """Moves what lies between two levels away from there; the scales stay."""
        middles = _middles(bits, method)[1]
        flat = weight.float().double().reshape(-1, block) if block else weight.float().double().reshape(1, -1)
        for _ in range(60):
            if method == "normal" or not block:
                scale = flat.abs().amax(dim=-1, keepdim=True)
            else:
                scale = flat.mean(dim=-1, keepdim=True) + 2.5 * flat.std(dim=-1, keepdim=True)
            near = _near(flat / scale, middles, 1e-4 if bits < 8 else 2e-5)
            if not near.any():
                break
            flat = torch.where(near, flat + 4e-4 * scale, flat).float().double()
        return flat.reshape(weight.shape)

    def tensor(name, shape=(6, 5), bits=2, method="normal", factor=1.0, **more):
        weight = clear(factor * normal(*shape), bits, method, 0)
        return {
            "name": f"tensor, {name}",
            "kind": "tensor",
            "weight": weight,
            "bits": bits,
            "method": method,
            "layout": "contiguous",
            **more,
        }

    yield tensor("a matrix")
    for bits in (1, 3, 4, 5, 6, 7, 8):
        yield tensor(f"{bits} bits", bits=bits)
    yield tensor("a vector", (7,))
    yield tensor("one entry", (1, 1))
    yield tensor("three dimensions", (2, 3, 4), bits=4)
    yield tensor("five dimensions", (2, 1, 3, 1, 4), bits=3)
    yield tensor("of small entries", factor=1e-3)
    yield tensor("of large entries", factor=1e3, bits=4)
    for bits in (2, 4):
        yield tensor(f"uniform, {bits} bits", bits=bits, method="uniform")
    for layout in ("transposed", "spread", "columns"):
        yield tensor(f"a layout that is {layout}", bits=4, layout=layout)
    yield tensor("a parameter", parameter=True)
    given = tensor("zeros among the entries", bits=4)
    yield given | {"weight": given["weight"] * (torch.rand(6, 5, generator=generator) < 0.6)}
    given = tensor("the smallest scale", bits=4)
    yield given | {"weight": given["weight"] * (1.2e-4 / given["weight"].abs().max())}
    given = tensor("a greatest entry below zero")
    yield given | {
        "weight": torch.where(
            given["weight"].abs() == given["weight"].abs().max(), -given["weight"].abs(), given["weight"]
        )
    }

    def blocks(name, shape=(8, 16), bits=2, block=64, method="normal", factor=1.0, **more):
        weight = factor * normal(*shape)
        if more.pop("varied", False):
            weight = (
                weight.reshape(-1, block) * 10.0 ** torch.linspace(-2, 2, weight.numel() // block).double()[:, None]
            ).reshape(shape)
        return {
            "name": f"blocks, {name}",
            "kind": "blocks",
            "weight": clear(weight, bits, method, block),
            "bits": bits,
            "block": block,
            "method": method,
            "layout": "contiguous",
            **more,
        }

    for bits in (1, 2, 4, 8):
        yield blocks(f"{bits} bits", bits=bits)
        yield blocks(f"{bits} bits, one block", (8, 8), bits=bits)
    for bits in (1, 2, 4, 8):
        yield blocks(f"uniform, {bits} bits", bits=bits, method="uniform")
    yield blocks("small blocks", (4, 6), block=8, bits=4)
    yield blocks("one byte", (2, 4), block=8, bits=1)
    yield blocks("large blocks", (16, 32), block=256)
    yield blocks("blocks within rows", (3, 48), block=16, bits=4)
    yield blocks("blocks beyond rows", (12, 10), block=24, bits=2)
    yield blocks("a row", (1, 64), bits=4)
    yield blocks("a column", (64, 1), bits=4)
    yield blocks("the largest weight", (64, 64), bits=4)
    yield blocks("scales far apart", (16, 32), bits=4, varied=True)
    yield blocks("uniform, scales far apart", (16, 32), bits=4, varied=True, method="uniform", block=128)
    yield blocks("small entries", factor=1e-3, bits=4)
    yield blocks("large entries", factor=1e3, bits=4)
    for layout in ("transposed", "spread", "columns"):
        yield blocks(f"a layout that is {layout}", bits=4, layout=layout)
    yield blocks("a parameter", parameter=True)
    given = blocks("zeros among the entries", bits=4)
    yield given | {"weight": given["weight"] * (torch.rand(8, 16, generator=generator) < 0.6)}
    given = blocks("uniform, off the middle", bits=4, method="uniform")
    yield given | {"weight": clear(given["weight"] + 0.5, 4, "uniform", 64)}
    given = blocks("one entry beyond the others", bits=4)
    given["weight"][0, 3] *= 30
    yield given | {"weight": clear(given["weight"], 4, "normal", 64)}
    given = blocks("uniform, one entry beyond the others", bits=4, method="uniform")
    given["weight"][0, 3] = 30.0
    yield given | {"weight": clear(given["weight"], 4, "uniform", 64)}
    given = blocks("uniform, nearly constant", bits=4, method="uniform")
    yield given | {"weight": 100 + 0.01 * given["weight"]}
    given = blocks("the smallest scales", (4, 64), bits=4)
    yield given | {"weight": given["weight"] * (1.2e-4 / given["weight"].abs().amax(dim=1, keepdim=True))}
    given = blocks("uniform, small scales", (4, 64), bits=4, method="uniform")
    yield given | {"weight": given["weight"] * (2e-4 / given["weight"].abs().amax(dim=1, keepdim=True))}
    yield {"name": "refused blocks", "kind": "refused"}
    # Blocks of mean zero: as many of each value in every 32 entries.
    order = torch.rand(4, 32, generator=generator).argsort(dim=1)
    values = torch.tensor([-3.0, -1.0, 1.0, 3.0]).repeat(8)[order].reshape(8, 16)
    yield {"name": "settings that change", "kind": "settings", "values": values}
    middles = _middles(8, "uniform")[1]
    middles = middles[torch.randperm(255, generator=generator)] + 3e-6 * torch.randn(255, generator=generator).sign()
    near = torch.cat([middles, middles[:1]]).reshape(4, 64)
    near[:, 0] = 1
    yield {"name": "entries near the middle of two levels", "kind": "near", "weight": 2 * near}
    yield {"name": "entries near the middle, the smallest scale", "kind": "near", "weight": 1.2e-4 * near}

    def factors(name, rows, columns, rank, dtype="float32", **more):
        while True:
            weight = more.get("factor", 1.0) * normal(rows, columns)
            if more.get("low"):
                weight = normal(rows, more["low"]) @ normal(more["low"], columns)
            if more.get("even"):
                u, s, v = torch.linalg.svd(weight, full_matrices=False)
                weight = u * torch.linspace(1, 0.02, len(s), dtype=torch.float64) @ v
                break
            values = torch.linalg.svdvals(weight)
            kept = values[: rank + 1][: more.get("low")]
            if len(kept) < 2 or ((kept[:-1] - kept[1:]) > 0.02 * values[0]).all():
                break
        return {
            "name": f"factors, {name}",
            "kind": "factors",
            "weight": weight,
            "rank": rank,
            "dtype": dtype,
            "layout": "contiguous",
            **more,
        }

    yield factors("a wide matrix", 6, 11, 3)
    yield factors("a tall matrix", 11, 6, 3)
    yield factors("a square", 7, 7, 2)
    yield factors("rank one", 5, 8, 1)
    yield factors("all ranks", 5, 8, 5)
    yield factors("more than all", 4, 9, 7)
    yield factors("more than all, tall", 9, 4, 64)
    yield factors("a rank by default", 36, 40, 32, default=True, even=True)
    yield factors("all of many ranks", 64, 64, 64, even=True)
    yield factors("a row", 1, 6, 1)
    yield factors("a column", 6, 1, 2)
    yield factors("one entry", 1, 1, 1)
    yield factors("large entries", 6, 8, 3, factor=100.0)
    yield factors("small entries", 6, 8, 3, factor=0.01)
    yield factors("double precision", 8, 6, 3, "float64")
    yield factors("double precision, more than all", 3, 6, 5, "float64")
    yield factors("of low rank", 8, 7, 2, low=2)
    yield factors("of low rank, beyond", 8, 7, 4, "float64", low=2)
    for layout in ("transposed", "spread", "columns"):
        yield factors(f"a layout that is {layout}", 6, 8, 3, layout=layout)
    given = factors("zeros", 4, 5, 2)
    yield given | {"weight": 0 * given["weight"]}
    yield {"name": "refused factors", "kind": "refused factors"}

    def start(name, shape=(8, 16), bits=2, rank=2, rounds=1, factor=1.0, **more):
        for _ in range(400):
            weight = factor * normal(*shape)
            if more.get("strong"):
                weight = weight + 2 * factor * normal(shape[0], 1) @ normal(1, shape[1])
            weight = weight.to(DTYPES[more.get("dtype", "float32")])
            if _is_clear(weight, bits, rank, rounds):
                break
        else:
            # No rounds but the first, which can be cleared.
            raise RuntimeError(f"nothing to draw for {name}")
        return {
            "name": f"start, {name}",
            "kind": "start",
            "weight": weight.double(),
            "bits": bits,
            "rank": rank,
            "rounds": rounds,
            "dtype": "float32",
            "layout": "contiguous",
            **more,
        }

    yield start("2 bits")
    yield start("4 bits", bits=4)
    yield start("8 bits", (8, 8), bits=8)
    yield start("two rounds", rounds=2)
    yield start("three rounds", rounds=3)
    yield start("five rounds", rounds=5)
    yield start("five rounds of 4 bits", (8, 8), bits=4, rounds=5)
    yield start("two rounds of 8 bits", (4, 16), bits=8, rounds=2)
    yield start("rank one", rank=1, rounds=2)
    yield start("a high rank", (8, 16), rank=5, rounds=2)
    yield start("all ranks", (4, 16), rank=4, rounds=2)
    yield start("more than all ranks", (4, 16), rank=6)
    yield start("more than all ranks, tall", (16, 4), rank=64)
    yield start("a tall weight", (32, 8), rank=3, rounds=2)
    yield start("a wide weight", (4, 64), rank=2, bits=4)
    yield start("a row", (1, 64), rank=1)
    yield start("a column", (64, 1), rank=1)
    yield start("by default", default=True)
    yield start("with a strong direction", (16, 16), strong=True, rounds=3)
    yield start("small entries", factor=0.01, rounds=2)
    yield start("large entries", factor=100.0, rounds=2)
    yield start("double precision", dtype="float64", rounds=2)
    yield start("bfloat16", dtype="bfloat16", rounds=2)
    yield start("float16", dtype="float16", bits=4)
    for layout in ("transposed", "spread", "columns"):
        yield start(f"a layout that is {layout}", layout=layout, rounds=2)
    yield start("the largest weight", (64, 64), rounds=2)
    # The distance of the third round is that of the second to 1e-6, grows in the fourth, and goes on changing.
    given = start("six rounds of slow change", (8, 8), rank=1, rounds=6)
    slow = torch.randn(8, 8, generator=torch.Generator().manual_seed(649), dtype=torch.float64).float().double()
    rows, columns = (torch.randperm(8, generator=generator) for _ in range(2))
    yield given | {"weight": slow[rows][:, columns]}
    yield start("a parameter", parameter=True, rounds=2)
    yield {"name": "refused starts", "kind": "refused starts"}
    yield {"name": "experiment", "seed": seed % 1000}


def _is_clear(weight, bits, rank, rounds):
    """Whether all rounds stay away from what rounding could change."""
    levels, middles = _middles(bits)
    weight = weight.float().double()
    rest = weight
    for _ in range(rounds):
        blocks = rest.reshape(-1, 64)
        scale = blocks.abs().amax(dim=-1, keepdim=True)
        normed = blocks / scale
        if _near(normed, middles, 1e-5 if bits < 8 else 4e-6).any() or scale.min() < 1e-3 * scale.max():
            return False
        decoded = (levels[(normed.unsqueeze(-1) - levels).abs().argmin(dim=-1)] * scale).reshape(weight.shape)
        u, s, v = torch.linalg.svd(weight - decoded, full_matrices=False)
        kept = s[: rank + 1]
        if len(kept) > 1 and (kept[:-1] - kept[1:]).min() < 0.015 * s[0]:
            return False
        rest = weight - (u[:, :rank] * s[:rank]) @ v[:rank]
    return True


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "arguments" in case:
        return _levels(case["arguments"])
    kinds = {
        "tensor": _tensor,
        "blocks": _blocks,
        "refused": _refused,
        "settings": _settings,
        "near": _near_levels,
        "factors": _factors,
        "refused factors": _refused_factors,
        "start": _start,
        "refused starts": _refused_starts,
    }
    return kinds[case["kind"]](case)


def _levels(arguments):
    from peft.utils.loftq_utils import NFQuantizer

    found = NFQuantizer.create_normal_map(**arguments)
    kept = found.clone()
    found.zero_()
    again = NFQuantizer.create_normal_map(
        *[arguments[name] for name in ("offset",) if name in arguments],
        **{k: v for k, v in arguments.items() if k != "offset"},
    )
    quantizer = NFQuantizer(num_bits=4, device="cpu")
    return {
        "levels": {
            "found": kept,
            "again": again,
            "of an object": quantizer.create_normal_map(num_bits=3),
            "held": quantizer.norm_lookup_table,
        },
        "facts": [str(kept.dtype), list(kept.shape), kept.requires_grad, kept.max().item() == 1.0],
    }


def _laid_out(item, layout):
    if item.dim() == 0:
        return item.clone()
    if layout == "transposed":
        return item.mT.contiguous().mT if item.dim() > 1 else item
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    if layout == "columns":
        return item.new_zeros(*item.shape[:-1], item.shape[-1] + 3)[..., 2:-1].copy_(item)
    return item.clone()


def _given(case, dtype=torch.float32):
    weight = _laid_out(case["weight"].to(dtype), case["layout"])
    return torch.nn.Parameter(weight) if case.get("parameter") else weight


def _tensor(case):
    from peft.utils.loftq_utils import NFQuantizer

    quantizer = NFQuantizer(num_bits=case["bits"], device="cpu", method=case["method"])
    table, before = quantizer.norm_lookup_table.clone(), sorted(vars(quantizer))
    weight = _given(case)
    kept = weight.detach().clone()
    pair = quantizer.quantize_tensor(weight)
    indices, scale = pair
    copy = indices.clone()
    decoded = quantizer.dequantize_tensor(indices, scale)
    facts = [
        type(pair) is tuple,
        str(indices.dtype),
        str(scale.dtype),
        list(scale.shape),
        str(decoded.dtype),
        list(decoded.shape),
    ]
    facts += [
        torch.equal(indices, copy),
        torch.equal(weight.detach(), kept),
        torch.equal(table, quantizer.norm_lookup_table),
        sorted(vars(quantizer)) == before,
    ]
    size = kept.abs().max()
    results = {"scale": scale.detach() / size, "decoded": decoded.detach() / size}
    # Indices in another layout, another scale, and another table.
    turned = _laid_out(indices.flip(0) if indices.dim() else indices, "transposed")
    results["another scale"] = quantizer.dequantize_tensor(qweight=turned, max_abs=torch.tensor(-0.5))
    quantizer.norm_lookup_table = table * 0.5 - 0.25
    results["another table"] = quantizer.dequantize_tensor(indices, torch.tensor(2.0))
    quantizer.norm_lookup_table = table
    scales = [scale.detach().double().log()]
    with torch.no_grad():
        weight.mul_(0.5)
    again = quantizer.quantize_tensor(weight)
    scales.append(again[1].detach().double().log())
    facts.append(torch.equal(indices, copy))
    return {"indices": [indices.clone(), again[0]], "facts": facts, "results": results, "scales": scales}


def _blocks(case):
    from peft.utils.loftq_utils import NFQuantizer

    quantizer = NFQuantizer(num_bits=case["bits"], device="cpu", method=case["method"], block_size=case["block"])
    table, before = quantizer.norm_lookup_table.clone(), sorted(vars(quantizer))
    weight = _given(case)
    kept = weight.detach().clone()
    with torch.no_grad():
        found = quantizer.quantize_block(weight)
        packed, scales, shape = found
        copies = packed.clone(), scales.clone()
        decoded = quantizer.dequantize_block(packed, scales, shape)
    facts = [
        type(found) is tuple,
        str(packed.dtype),
        str(scales.dtype),
        list(packed.shape),
        list(scales.shape),
        list(shape),
    ]
    facts += [isinstance(shape, tuple), str(decoded.dtype), list(decoded.shape), decoded.requires_grad]
    facts += [torch.equal(packed, copies[0]), torch.equal(scales, copies[1]), torch.equal(weight.detach(), kept)]
    facts += [torch.equal(table, quantizer.norm_lookup_table), sorted(vars(quantizer)) == before]
    size = scales.abs().max()
    sizes = scales.expand(-1, case["block"]).reshape(kept.shape)
    results = {"scales": scales / scales.abs(), "sizes": scales / size, "decoded": decoded / sizes}
    logarithms = [scales.abs().double().log()]
    # What was packed, decoded in another shape and with other scales.
    rows, columns = kept.shape
    other = torch.linspace(0.5, 2.0, len(scales))[:, None]
    with torch.no_grad():
        results["another shape"] = quantizer.dequantize_block(
            qweight=packed, weight_max=other, weight_shape=(columns, rows)
        )
        packed.bitwise_xor_(129)
        results["other bytes"] = quantizer.dequantize_block(
            _laid_out(packed, "spread"), _laid_out(other, "spread"), torch.Size([rows, columns])
        )
        packed.bitwise_xor_(129)
        # Settings are read at each call.
        quantizer.norm_lookup_table = table * 0.5 - 0.25
        results["another table"] = quantizer.dequantize_block(packed, other, shape)
        quantizer.norm_lookup_table = table
        weight.mul_(0.5)
        again = quantizer.quantize_block(weight)
        logarithms.append(again[1].abs().double().log())
        facts.append([torch.equal(packed, copies[0]), torch.equal(scales, copies[1])])
        later = []
        if case["method"] == "normal" and kept.numel() % 16 == 0 and case["bits"] > 1 and case["block"] != 16:
            quantizer.block_size = 16
            later = list(
                quantizer.quantize_block(torch.cat([kept.reshape(-1, 16)[:1]] * 2).reshape(2, 16).abs() * 0 + 1.0)[0]
                .flatten()
                .tolist()
            )
    return {
        "packed": [copies[0], again[0]],
        "facts": facts,
        "results": results,
        "scales": logarithms,
        "later": later,
    }


def _settings(case):
    """What is set after a quantiser was made, or changed in place."""
    from peft.utils.loftq_utils import NFQuantizer

    values, exact, results = case["values"], [], []

    def look():
        with torch.no_grad():
            whole, block = quantizer.quantize_tensor(values), quantizer.quantize_block(values)
            exact.append([whole[0], block[0]])
            results.append(
                [block[1], quantizer.dequantize_tensor(*whole), quantizer.dequantize_block(block[0], *block[1:])]
            )

    for method, other in (("normal", "uniform"), ("uniform", "normal")):
        quantizer = NFQuantizer(num_bits=4, device="cpu", method=method)
        look()
        quantizer.norm_lookup_table.copy_(torch.linspace(-1, 1, 16) ** 3)
        look()
        quantizer.norm_lookup_table = torch.linspace(0, 1, 16)
        look()
        quantizer.block_size = 32
        look()
        quantizer.num_bits, quantizer.norm_lookup_table = 2, torch.linspace(-1, 1, 4) ** 3
        look()
        quantizer.method = other
        look()
    return {"exact": exact, "results": results}


def _near_levels(case):
    from peft.utils.loftq_utils import NFQuantizer

    quantizer = NFQuantizer(num_bits=8, device="cpu")
    quantizer.norm_lookup_table = quantizer.create_uniform_map(num_bits=8)
    weight = case["weight"].float()
    with torch.no_grad():
        return {"tensor": quantizer.quantize_tensor(weight)[0], "blocks": quantizer.quantize_block(weight)[0]}


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


def _refused(case):
    from peft.utils.loftq_utils import NFQuantizer

    quantizer = NFQuantizer(num_bits=4, device="cpu", block_size=64)
    other = NFQuantizer(num_bits=4, device="cpu", block_size=64)
    other.method = "another"
    return {
        "found": _errors(
            [
                lambda: quantizer.quantize_block(torch.ones(64)),
                lambda: quantizer.quantize_block(torch.ones(2, 4, 8)),
                lambda: quantizer.quantize_block(torch.tensor(1.0)),
                lambda: quantizer.quantize_block(torch.ones(1, 1, 8, 8)),
                lambda: quantizer.quantize_block(torch.ones(8, 9)),
                lambda: quantizer.quantize_block(torch.ones(4, 8)),
                lambda: quantizer.quantize_block(torch.ones(64, 1)),
                lambda: quantizer.quantize_block(torch.ones(3, 32)),
                lambda: other.quantize_block(torch.ones(8, 8)),
            ]
        )
    }


def _parts(a, b):
    """What is left of factors, whose columns and rows are free in their sign."""
    return {
        "product": b @ a,
        "left": b @ b.mT,
        "right": a.mT @ a,
        "of columns": b.square().sum(dim=0),
        "of rows": a.square().sum(dim=1),
        "between columns": b.mT @ b,
        "between rows": a @ a.mT,
    }


def _factors(case):
    from peft.utils.loftq_utils import _low_rank_decomposition

    dtype = DTYPES[case["dtype"]]
    factor = case.get("factor", 1.0)
    weight = _given(case, dtype)
    kept = weight.detach().clone()
    found = (
        _low_rank_decomposition(weight)
        if case.get("default")
        else _low_rank_decomposition(weight, reduced_rank=case["rank"])
    )
    results = {name: item / factor for name, item in _parts(found["R"], found["L"]).items()}
    u, s, v = found["U"], found["S"], found["Vh"]
    results |= {
        "whole": u @ torch.diag(s) @ v / factor,
        "values": s / factor,
        "across U": u.mT @ u,
        "across V": v @ v.mT,
    }
    facts = [
        sorted(found),
        type(found) is dict,
        found["reduced_rank"],
        type(found["reduced_rank"]) is int,
        torch.equal(weight, kept),
    ]
    facts += [[str(found[name].dtype), list(found[name].shape)] for name in ("L", "R", "U", "S", "Vh")]
    again = _low_rank_decomposition(0.5 * weight.T, 1)
    results["again"] = again["L"] @ again["R"] / factor
    return {
        "double" if dtype == torch.float64 else "results": {name: item.double() for name, item in results.items()},
        "facts": facts,
    }


def _refused_factors(case):
    from peft.utils.loftq_utils import _low_rank_decomposition

    return {
        "found": _errors(
            [
                lambda: _low_rank_decomposition(torch.ones(4)),
                lambda: _low_rank_decomposition(torch.ones(2, 3, 4)),
                lambda: _low_rank_decomposition(torch.tensor(1.0), 2),
                lambda: _low_rank_decomposition(torch.ones(1, 2, 3, 4), 1),
                lambda: _low_rank_decomposition(torch.ones(2, 3), 1),
            ]
        )
    }


def _start(case):
    from peft.utils.loftq_utils import loftq_init

    dtype = DTYPES[case["dtype"]]
    weight = _given(case, dtype)
    kept = weight.detach().clone()
    size = kept.double().abs().max()
    if case.get("default"):
        found = loftq_init(weight, case["bits"], case["rank"])
    else:
        found = loftq_init(weight, num_bits=case["bits"], reduced_rank=case["rank"], num_iter=case["rounds"])
    decoded, a, b = found
    facts = [type(found) is tuple, str(decoded.dtype), str(a.dtype), str(b.dtype)]
    facts += [
        list(decoded.shape),
        list(a.shape),
        list(b.shape),
        decoded.requires_grad,
        a.requires_grad,
        b.requires_grad,
    ]
    facts += [torch.equal(weight.detach(), kept), weight.requires_grad, torch.is_grad_enabled()]
    results = {name: item.double() / size for name, item in _parts(a, b).items()}
    one = decoded.double() / size
    results["left is"] = (kept.double() - b.double() @ a.double()) / size if dtype.itemsize > 2 else one * 0
    copies = [item.clone() for item in found]
    with torch.no_grad():
        weight.mul_(0.5)
    again = loftq_init(weight, case["bits"], case["rank"], 1)
    facts.append([torch.equal(item, copy) for item, copy in zip(found, copies, strict=True)])
    results["first round"] = again[2].double() @ again[1].double() / size
    low = {"decoded": one, "first": again[0].double() / size}
    return {"results": results, "half" if dtype.itemsize == 2 else "decoded": low, "facts": facts}


def _refused_starts(case):
    from peft.utils import loftq_utils

    loftq_init = loftq_utils.loftq_init
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(8, 16, generator=generator)
    found = _errors(
        [
            lambda: loftq_init(weight, 3, 2),
            lambda: loftq_init(weight, 1, 2),
            lambda: loftq_init(weight, 16, 2),
            lambda: loftq_init(weight, 0, 2),
            lambda: loftq_init(weight, 4, 2, 0),
            lambda: loftq_init(weight, 4, 2, -1),
            lambda: loftq_init(weight, 4, 2, num_iter=-3),
            lambda: loftq_init(weight[:, :15], 4, 2),
            lambda: loftq_init(weight[:4, :8], 2, 2),
            lambda: loftq_init(weight[None], 2, 2),
            lambda: loftq_init(weight.flatten(), 2, 2),
            lambda: loftq_init(weight, 2, 2, 2),
        ]
    )
    kept = loftq_utils.is_bnb_available
    loftq_utils.is_bnb_available = lambda: False
    try:
        # Whatever the number of bits.
        found += _errors([lambda bits=bits: loftq_init(weight, bits, 2) for bits in (2, 4, 8)])
    finally:
        loftq_utils.is_bnb_available = kept
    return {"found": found}
