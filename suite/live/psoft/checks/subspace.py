"""Matrices of the subspace with gradients, over transforms and dtypes; factors of weights; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def uniform(low, high, *shape):
        return low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def matrix(
        name, size=None, orth=True, a=True, b=True, series=False, terms=5, eps=None, norm=0.8, dtype="float32", **more
    ):
        size = size or integer(3, 5)
        count = size * (size - 1) // 2
        weight = normal(count) if orth else normal(size, size)
        if orth:
            # Q has each entry of the weight twice.
            weight = weight / max(weight.norm().item(), 1e-9) * norm / 2**0.5
        return {
            "name": f"matrix, {name}",
            "settings": {
                "size": size,
                "orth": orth,
                "mag_a": a,
                "mag_b": b,
                "use_cayley_neumann": series,
                "num_cayley_neumann_terms": terms,
                "cayley_neumann_eps": eps,
            },
            "weight": weight,
            "vectors": [uniform(0.4, 2.0, size) * (1 - 2 * (uniform(0, 1, size) < 0.3)) for _ in range(2)],
            "weights": normal(size, size),
            "steps": [],
            "dtype": dtype,
            **more,
        }

    for dtype, series in product(("float32", "float64"), (False, True)):
        yield matrix(
            f"{'series' if series else 'exact'}, {dtype}", series=series, dtype=dtype, norm=uniform(0.4, 1.2).item()
        )
    for a, b in ((True, False), (False, True), (False, False)):
        yield matrix(f"vectors {a}, {b}", a=a, b=b, series=a, norm=1.5)
        yield matrix(f"free, vectors {a}, {b}", orth=False, a=a, b=b, dtype="float32" if a else "float64")
    yield matrix("free, both vectors", orth=False, dtype="float64")
    yield matrix("exact, far from the identity", norm=4.0, dtype="float64", a=False)
    for terms in (4, 6, integer(7, 9)):
        yield matrix(f"{terms if terms < 7 else 'many'} terms", series=True, terms=terms, dtype="float64", b=terms != 6)
    eps = uniform(0.3, 0.6).item()
    yield matrix("series, above the bound", series=True, eps=eps, norm=uniform(0.8, 1.5).item())
    yield matrix("series, above the bound, double", series=True, eps=eps, norm=2.0, terms=4, dtype="float64", a=False)
    yield matrix("series, just above the bound", series=True, eps=eps, norm=1.02 * eps, dtype="float64")
    yield matrix("series, within the bound", series=True, eps=eps, norm=0.95 * eps, dtype="float64")
    yield matrix("series, a bound of one", series=True, eps=1.0, norm=uniform(1.5, 2.0).item(), dtype="float64")
    yield matrix("exact, above the bound", eps=eps, norm=1.5)
    yield matrix("free, with a bound", orth=False, series=True, eps=eps, norm=1.5)
    yield matrix("size two", 2, series=False, norm=uniform(0.5, 2).item())
    yield matrix("size one", 1, series=integer(0, 1) == 1, norm=0.0)
    yield matrix("at the start", norm=0.0, series=integer(0, 1) == 1)
    yield matrix(
        "changes",
        series=False,
        eps=eps,
        norm=0.9,
        dtype="float64",
        steps=["weight", "vectors", "series", "terms", "eps", "exact"],
    )
    yield matrix(
        "changes from a series", series=True, eps=eps, norm=0.9, steps=["eps", "no eps", "terms", "exact", "weight"]
    )

    def factors(name, inputs=None, outputs=None, rank=None, start="psoft_init", svd="full", niter=2, **more):
        inputs, outputs = inputs or integer(7, 9), outputs or integer(4, 6)
        most = min(inputs, outputs)
        spread = 3 * 0.7 ** torch.arange(most, dtype=torch.float64) * uniform(0.95, 1.05, most)
        left, right = (torch.linalg.qr(normal(count, most)).Q for count in (outputs, inputs))
        rank = rank or integer(2, 3)
        return {
            "name": f"factors, {name}",
            "base": left * spread @ right.T,
            "probe": normal(inputs),
            "config": {
                "r": rank,
                "psoft_alpha": integer(3, 40) / 2,
                "ab_svd_init": start,
                "psoft_svd": svd,
                "psoft_svd_lowrank_niter": niter,
                "random_seed": integer(1, 999),
                "fan_in_fan_out": False,
            },
            "kind": "float32",
            "steps": [],
            **more,
        }

    for start, fan in product(("psoft_init", "pissa_init"), (False, True)):
        yield factors(f"{start}{', inputs first' * fan}", start=start, fan=fan)
        yield factors(
            f"{start}, randomised{', inputs first' * fan}", start=start, svd="lowrank", niter=integer(0, 1), fan=fan
        )
    yield factors("more outputs than inputs", 4, 7, start="pissa_init", fan=integer(0, 1) == 1)
    yield factors("a square weight", 5, 5, fan=True)
    yield factors("rank one", rank=1, start="pissa_init")
    yield factors("full rank", 5, 7, rank=5)
    for kind in ("bfloat16", "float16"):
        start = "psoft_init" if kind == "float16" else "pissa_init"
        yield factors(f"a weight in {kind}", kind=kind, start=start, steps=["again"])
    steps = ["again", "weight", "scaling", "rank", "pissa_init", "lowrank", "psoft_init", "seed", "niter"]
    yield factors("changes", steps=steps, niter=0)
    yield factors("two adapters", second="pissa_init", steps=["again"])
    yield {"name": "experiment", "seed": seed % 1000}
    terms = integer(12, 16)
    yield matrix("a long series", 3, series=True, terms=terms, dtype="float64", b=False, norm=1.2)
    yield matrix("a bounded series at the start", series=True, eps=eps, norm=0.0)
    yield matrix("a bounded series at the start, double", series=True, eps=eps, norm=0.0, dtype="float64", a=False)

    for name, more in (
        ("exact", {}),
        ("series", {"series": True, "eps": 0.5}),
        ("series without a bound", {"series": True, "a": False, "b": False}),
        ("exact, no vectors", {"a": False, "b": False}),
        ("free", {"orth": False}),
    ):
        yield matrix(f"bfloat16, {name}", dtype="bfloat16", edge=True, **more)
    yield factors("a weight in float64", edge=True, steps=["float64", "again", "weight"])
    yield factors("another start", edge=True, steps=["lora_init", "pissa_init", "PSOFT_INIT"])
    yield matrix("a bound of zero", series=True, eps=0.0, norm=uniform(0.4, 1.2).item(), edge=True)
    yield factors("a layer in a layer", nested=True, steps=["again"], edge=True)
    yield factors("how factors are stored", steps=["watch", "again", "pissa_init"], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _matrix(case) if "settings" in case else _factors(case)


def _matrix(case):
    from peft.tuners.psoft import OrthLayer

    dtype = getattr(torch, case["dtype"])
    layer = OrthLayer(**case["settings"])
    with torch.no_grad():
        layer.weight.copy_(case["weight"])
        for vector, given in zip((layer.vector_a, layer.vector_b), case["vectors"], strict=True):
            if vector is not None:
                vector.copy_(given)
    layer.to(dtype)
    results, facts = [], []
    for step in ("", *case["steps"]):
        with torch.no_grad():
            if step == "weight":
                layer.weight.mul_(0.6).add_(0.1)
            elif step == "vectors":
                layer.vector_a.add_(0.3)
                layer.vector_b.mul_(-1.2)
        if step in ("series", "exact"):
            layer.use_cayley_neumann = step == "series"
        elif step == "terms":
            layer.num_cayley_neumann_terms += 2
        elif step in ("eps", "no eps"):
            layer.cayley_neumann_eps = None if step == "no eps" else 0.2
        kept = [parameter.detach().clone() for parameter in layer.parameters()]
        found = layer.get_matrix()
        facts.append([str(found.dtype), list(found.shape), found.requires_grad])
        slopes = torch.autograd.grad(
            (found * case["weights"].to(dtype)).sum(), list(layer.parameters()), allow_unused=True
        )
        facts.append([slope is None for slope in slopes])
        results += [found.detach().double()] + [slope.double() for slope in slopes if slope is not None]
        facts.append([torch.equal(one, other.detach()) for one, other in zip(kept, layer.parameters(), strict=True)])
        facts.append(
            [layer.training, [parameter.requires_grad for parameter in layer.parameters()], sorted(layer.state_dict())]
        )
    if case["dtype"] == "bfloat16":
        return {"half": results[0], "finite": [bool(item.isfinite().all()) for item in results], "facts": facts}
    return {"double" if case["dtype"] == "float64" else "single": results, "facts": facts}


def _factors(case):
    from peft.tuners.psoft import Linear, PsoftConfig
    from transformers.pytorch_utils import Conv1D

    outputs, inputs = case["base"].shape
    fan = case.get("fan", False)
    base = Conv1D(outputs, inputs) if fan else torch.nn.Linear(inputs, outputs)
    base.to(getattr(torch, case["kind"]))
    with torch.no_grad():
        base.weight.copy_(case["base"].T if fan else case["base"])
    config = PsoftConfig(**(case["config"] | {"fan_in_fan_out": fan}))
    inner = Linear(base, "inner", PsoftConfig(**(case["config"] | {"r": 1}))) if "nested" in case else base
    layer = Linear(inner, "adapter 0", config)
    if "second" in case:
        other = PsoftConfig(**(case["config"] | {"r": 1, "psoft_alpha": 5.0, "ab_svd_init": case["second"]}))
        layer.update_layer("adapter 1", other)
    results, facts, start, stored = [], [], case["config"]["ab_svd_init"], []
    setter = layer._set_psoft_ab_cache_buffers

    def watched(*given, **more):
        stored.append(step)
        setter(*given, **more)

    for step in ("", *case["steps"]):
        with torch.no_grad():
            if step == "weight":
                base.weight.mul_(-1.3)
                base.weight[0, 0] += 0.05
        if step == "scaling":
            layer.scaling["adapter 0"] *= 1.7
        elif step == "rank":
            layer.r["adapter 0"] += 1
        elif step.endswith(("init", "INIT")):
            start = step
        elif step in ("full", "lowrank"):
            layer.psoft_svd["adapter 0"] = step
        elif step == "seed":
            layer.random_seed["adapter 0"] += 5
        elif step == "niter":
            layer.psoft_svd_lowrank_niter["adapter 0"] += 1
        elif step == "float64":
            base.double()
        elif step == "watch":
            layer._set_psoft_ab_cache_buffers = watched
        kept, state = base.weight.detach().clone(), torch.random.get_rng_state()
        try:
            if step:
                facts.append(layer._build_psoft_ab_cache_buffers("adapter 0", start) is None)
        except TypeError:
            facts.append("TypeError")
        except ValueError:
            facts.append("ValueError")
        for name in layer._psoft_A_cache:
            a, b = layer._psoft_A_cache[name], layer._psoft_B_cache[name]
            facts.append([str(a.dtype), str(b.dtype), list(a.shape), list(b.shape)])
            facts.append([a.is_contiguous(), b.is_contiguous(), a.requires_grad, b.requires_grad])
            signs = (a.double() @ case["probe"]).sign()
            results += [a.double() * signs[:, None], b.double() * signs]
        facts += [torch.equal(kept, base.weight.detach()), torch.equal(state, torch.random.get_rng_state())]
        tables = layer.r, layer.scaling, layer.psoft_svd, layer.psoft_svd_lowrank_niter, layer.random_seed
        facts.append([dict(table) for table in tables])
        facts += [
            list(stored),
            str(base.weight.dtype),
            base.weight.requires_grad,
            torch.is_grad_enabled(),
            layer.training,
            sorted(layer._psoft_B_cache),
        ]
    return {"single": results, "facts": facts}
