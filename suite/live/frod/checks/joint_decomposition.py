"""Bases of lists of weights, up to signs, and factors of single weights; both in layers; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def apart(matrices, alpha, least):
        """Whether eigenvalues, or singular values of few rows, are clearly different, and none is tiny."""
        stacked = torch.cat(matrices)
        values = torch.linalg.svdvals(stacked)
        if values.min() < 0.05 * values.max():
            return False
        if len(stacked) >= stacked.shape[1]:
            inverse = torch.linalg.inv(torch.linalg.qr(stacked).R)
            halves = [matrix @ inverse for matrix in matrices]
            eye = torch.eye(stacked.shape[1], dtype=torch.float64)
            terms = [torch.linalg.inv(half.T @ half + alpha * eye) for half in halves]
            values = torch.linalg.eigvalsh(sum(terms) / len(terms))
        return len(values) == 1 or values.sort().values.diff().min() > least * values.max()

    def basis(name, rows, width, alpha=None, dtype="float32", known=True, **more):
        alpha = alpha or 0.05 + 0.4 * torch.rand((), generator=generator).item()
        least = 0.03 if dtype == "float32" else 1e-3
        for _ in range(500):
            common = normal(max(rows), width)
            # Layers of a category have something in common, and differ in scale.
            scales = [0.5 + torch.rand((), generator=generator).item() for _ in rows]
            matrices = [
                scale * (normal(row, width) + 0.5 * common[:row]) for row, scale in zip(rows, scales, strict=True)
            ]
            if not known or apart(matrices, alpha, least):
                break
        else:
            raise RuntimeError(f"no unambiguous weights for {name}")
        return {"name": f"basis, {name}", "matrices": matrices, "alpha": alpha, "dtype": dtype, "known": known, **more}

    for dtype in ("float32", "float64"):
        yield basis(f"three weights, {dtype}", [integer(5, 7)] * 3, 4, dtype=dtype)
        yield basis(
            f"weights of several heights, {dtype}", [integer(4, 5), integer(6, 8), integer(4, 8)], 4, dtype=dtype
        )
        yield basis(f"two weights, {dtype}", [integer(5, 7)] * 2, 3, dtype=dtype)
        yield basis(f"low weights, {dtype}", [2, 3, 3, integer(2, 3)], 4, dtype=dtype)
        yield basis(f"few rows, {dtype}", [2, 1], integer(5, 6), dtype=dtype)
        yield basis(f"one row less, {dtype}", [2, 1], 4, dtype=dtype)
        yield basis(f"few rows of one weight, {dtype}", [3], 5, dtype=dtype)
        yield basis(f"one weight, {dtype}", [integer(5, 7)], 4, dtype=dtype, known=False)
        yield basis(f"as many rows as columns, {dtype}", [2, 3], 5, dtype=dtype, known=False)
    yield basis("five weights", [integer(3, 5) for _ in range(5)], 3)
    yield basis("width one", [2, 3], 1)
    yield basis("the usual ridge", [integer(5, 7)] * 3, 4, 1e-3, "float64")
    yield basis("a large ridge", [integer(5, 7)] * 3, 3, 1.0 + integer(0, 2), "float64")

    def factors(name, rows=None, width=None, dtype="float32", **more):
        rows, width = rows or integer(3, 7), width or integer(3, 5)
        v = torch.linalg.qr(normal(width, width)).Q * torch.logspace(-0.5, 0.5, width, dtype=torch.float64)
        v = v + 0.1 * normal(width, width)
        dtypes = {"v_dtype": dtype, "w_dtype": dtype}
        return {"name": f"factors, {name}", "v": v, "w": normal(rows, width), **dtypes, **more}

    yield factors("a high weight", integer(6, 8), 4)
    yield factors("a low weight", 3, 5)
    yield factors("a square weight", 4, 4)
    yield factors("one row", 1, integer(3, 4))
    yield factors("width one", integer(2, 4), 1)
    yield factors("float64", dtype="float64")
    given = factors("an orthogonal basis", 5, 4)
    yield given | {"v": torch.linalg.qr(given["v"]).Q}
    for size in (1e-5, 1e4):
        given = factors(f"a weight of size {size}")
        yield given | {"w": size * given["w"]}
    # Conditions for which single precision is too coarse.
    for number in range(2):
        given = factors(f"an ill-conditioned basis {number}", 5, 4)
        left, right = torch.linalg.qr(normal(4, 4)).Q, torch.linalg.qr(normal(4, 4)).Q
        yield given | {"v": left @ torch.diag(torch.tensor([1.0, 0.1, 1e-2, 1e-4], dtype=torch.float64)) @ right}
    given = factors("columns without a direction", 5, 4, "float64")
    powers = torch.diag(2.0 ** torch.randint(-3, 4, (4,), generator=generator).double())
    order = torch.randperm(4, generator=generator)
    unit = torch.nn.functional.normalize(given["w"], dim=0)
    # Scales on both sides of the bound, and zero, without rounding errors in between.
    lengths = torch.tensor([1.7, 3e-12, 4e-13, 0.0], dtype=torch.float64)[order]
    yield given | {"v": powers, "w": unit * lengths @ powers}
    yield {"name": "experiment", "seed": seed % 1000}

    def layers(name, rows, dtype="float32", **more):
        return basis(name, rows, 4, dtype=dtype, **more) | {"name": f"layers, {name}", "x": normal(integer(2, 4), 4)}

    yield layers("of one height", [integer(4, 6)] * 3)
    yield layers("of two heights", [4, integer(5, 7), 5], "float64")

    given = factors("a singular basis", 5, 4, "float64", edge=True)
    # The second singular value is above the tolerance, the third below it.
    sizes = torch.tensor([1.0, 1.4e-6, 8e-7, 0.0], dtype=torch.float64)[order]
    yield given | {"v": torch.diag(sizes)}
    given = factors("a singular basis of rank two", 5, 3, edge=True)
    yield given | {"v": torch.cat([given["v"][:, :2], torch.zeros(3, 1, dtype=torch.float64)], dim=1)}
    for dtypes in (("float64", "float32"), ("float32", "float64"), ("bfloat16", "float32"), ("float32", "bfloat16")):
        yield factors(f"{dtypes[0]} and {dtypes[1]}", edge=True) | dict(
            zip(("v_dtype", "w_dtype"), dtypes, strict=True)
        )
    yield factors("a parameter", edge=True, parameter=True)

    for dtype in ("float32", "float64"):
        # Singular values so different that their squares are beyond single precision.
        given = basis(f"few rows of different size, {dtype}", [3], 6, dtype=dtype)
        left, right = torch.linalg.qr(normal(3, 3)).Q, torch.linalg.qr(normal(6, 3)).Q.T
        sizes = torch.tensor([1.0, 0.01, 0.001], dtype=torch.float64)
        yield given | {"matrices": [left @ torch.diag(sizes) @ right]}
    given = factors("a basis that is nearly singular", 5, 4, "float64")
    left, right = torch.linalg.qr(normal(4, 4)).Q, torch.linalg.qr(normal(4, 4)).Q
    v = left @ torch.diag(torch.tensor([1.0, 1.0, 1.0, 1e-7], dtype=torch.float64)) @ right
    yield given | {"v": v, "w": normal(5, 4) @ v.T}
    given = factors("scales below the bound alone", 4, 3, "float64")
    yield given | {"v": torch.eye(3, dtype=torch.float64), "w": 1e-13 * given["w"]}
    given = factors("columns of very different scales", 5, 4, "float64")
    yield given | {"v": torch.diag(torch.tensor([1e-6, 1.0, 1.0, 1e7], dtype=torch.float64))}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "v" in case:
        return _factors(case)
    from peft.tuners.frod.model import _projection_from_weights

    dtype = getattr(torch, case["dtype"])
    matrices = [item.to(dtype) for item in case["matrices"]]
    found = _projection_from_weights(matrices, case["alpha"])
    facts = [str(found.dtype), list(found.shape), len(matrices)]
    facts += [torch.equal(item, given.to(dtype)) for item, given in zip(matrices, case["matrices"], strict=True)]
    rows = sum(len(item) for item in matrices)
    if "x" in case:
        values = _layers(case, matrices, found)
    elif not case["known"]:
        values = [found @ found.T]
    else:
        # Products of each column with itself, which do not depend on its sign, and of the null space as a whole.
        columns = found[:, :rows] if rows < len(found) else found
        values = [torch.einsum("ik,jk->kij", columns, columns), found @ found.T]
        values += [found.T @ found] if rows < len(found) else []
    exact = dtype == torch.float64 and "x" not in case
    return {"double" if exact else "near": values, "facts": facts}


def _made(weight, v):
    """A layer with the basis, and with two trained entries."""
    from peft.tuners._buffer_dict import BufferDict
    from peft.tuners.frod.config import FrodConfig
    from peft.tuners.frod.layer import Linear

    base = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
    with torch.no_grad():
        base.weight.copy_(weight)
        base.bias.fill_(0.5)
    places = torch.tensor([[0], [len(v) - 1]])
    shared = [BufferDict({"default": item}) for item in (v, places, torch.tensor([len(v), len(v)]))]
    return Linear(base, *shared, "default", FrodConfig())


def _layers(case, matrices, v):
    values = []
    for matrix in matrices:
        layer = _made(matrix, v)
        u, scales = layer.frod_U["default"].to(v.dtype), layer.frod_lambda_l["default"].detach()
        # Factors are kept in single precision.
        values += [torch.einsum("ik,k,jk->kij", u, scales, v).float(), scales.float()]
        values.append(layer(case["x"].to(v.dtype)).detach().float())
    return values


def _factors(case):
    width = len(case["v"])
    layer = _made(torch.ones(2, width), torch.eye(width))
    v, w = case["v"].to(getattr(torch, case["v_dtype"])), case["w"].to(getattr(torch, case["w_dtype"]))
    if case.get("parameter"):
        v, w = torch.nn.Parameter(v), torch.nn.Parameter(w)
    kept = v.detach().clone(), w.detach().clone()
    values, facts = [], []
    for weight in (w, w.detach().flip(0) * 0.5):
        for item in layer._calculate_frod_u_and_lambda(v, weight):
            values.append(item.detach())
            facts.append([str(item.dtype), list(item.shape), item.requires_grad])
    facts += [torch.equal(v.detach(), kept[0]), torch.equal(w.detach(), kept[1])]
    return {"factors": values, "facts": facts}
