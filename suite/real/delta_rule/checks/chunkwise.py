"""Delta rule in chunks: outputs, memories and gradients over sizes, chunks, values and layouts; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "beta")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def case(name, chunk_size=4, batch=2, heads=3, length=12, width=5, value_width=4, **more):
        sizes = (batch, heads, length)
        return {
            "name": name,
            "q": normal(*sizes, width),
            "k": torch.nn.functional.normalize(normal(*sizes, width), dim=-1),
            "v": normal(*sizes, value_width),
            "beta": uniform(*sizes),
            "weights": normal(*sizes, value_width),
            "memory_weights": normal(batch, heads, width, value_width),
            "dtype": "float32",
            "options": {} if chunk_size is None else {"chunk_size": chunk_size},
            "layout": "plain",
            "wanted": INPUTS,
            "far": False,
            "positional": False,
        } | more

    yield case("the usual chunks", None, length=32)
    yield case("several of the usual chunks", None, length=96, batch=1, heads=2)
    yield case("not a multiple of the usual chunks", None, length=33)
    yield case("fewer steps than in the usual chunks", None, length=16)
    for chunk_size in (1, 2, 3, 4, 6, 12):
        yield case(f"chunks of {chunk_size}", chunk_size)
    for chunk_size in (5, 7, 8, 13, 24):
        yield case(f"chunks of {chunk_size}, which do not fit", chunk_size)
    yield case("chunks of 64", 64, length=128, batch=1, heads=1)
    yield case("chunks of 10", 10, length=30)
    yield case("256 steps, chunks of 16", 16, length=256, batch=1, heads=1)
    yield case("64 steps, chunks of 1", 1, length=64, batch=1, heads=1)
    yield case("by position", 6, positional=True)
    # Sizes.
    yield case("one step", 1, length=1)
    yield case("one step, one row, one head", 1, length=1, batch=1, heads=1)
    yield case("one row", batch=1)
    yield case("one head", heads=1)
    yield case("keys of width one", width=1)
    yield case("values of width one", value_width=1)
    yield case("widths of one", width=1, value_width=1)
    yield case("keys as wide as values", width=4, value_width=4)
    yield case("values wider than keys", width=2, value_width=7)
    yield case("keys as wide as chunks", 4, width=4, value_width=3)
    yield case("all sizes alike", 4, batch=4, heads=4, length=4, width=4, value_width=4)
    yield case("as many heads as steps", 2, heads=12, length=12)
    yield case("widths as large as promised", 4, batch=1, heads=1, width=64, value_width=64)
    yield case("many heads", 2, batch=1, heads=64, length=4, width=2, value_width=2)
    yield case("many rows", 2, batch=64, heads=1, length=4, width=2, value_width=2)
    # Values.
    sizes = (2, 3, 12)
    yield case("strengths up to two", beta=uniform(*sizes, high=2.0))
    yield case("strengths of two", beta=torch.full(sizes, 2.0, dtype=torch.float64))
    yield case("strengths of one", beta=torch.ones(*sizes, dtype=torch.float64))
    yield case("strengths of zero", beta=torch.zeros(*sizes, dtype=torch.float64))
    yield case("strengths of zero now and then", beta=uniform(*sizes) * (uniform(*sizes) < 0.5))
    signs = torch.ones(12, dtype=torch.float64).index_fill(0, torch.tensor([1, 6]), -0.5)
    yield case("strengths below zero", beta=uniform(*sizes) * signs)
    norms = uniform(*sizes, low=0.1, high=3.0)
    given = case("keys of other norms")
    yield given | {"k": given["k"] * norms.unsqueeze(-1), "beta": (given["beta"] * 2 / norms**2).clamp(max=8.0)}
    given = case("short keys, large strengths", beta=uniform(*sizes, low=4.0, high=8.0))
    yield given | {"k": given["k"] * 0.4}
    given = case("one key again and again", beta=uniform(*sizes, high=2.0))
    yield given | {"k": given["k"][:, :, :1].expand(-1, -1, 12, -1).clone()}
    for name in ("q", "k", "v"):
        given = case(f"{name} of zero")
        yield given | {name: torch.zeros_like(given[name])}
    given = case("values in the hundreds", far=True)
    yield given | {"v": uniform(2, 3, 12, 4, low=-500.0, high=500.0)}
    given = case("queries in the hundreds", far=True)
    yield given | {"q": uniform(2, 3, 12, 5, low=-500.0, high=500.0)}
    # Double precision, layouts, and what needs a gradient.
    yield case("double precision", dtype="float64")
    yield case("double precision, the usual chunks", None, length=64, batch=1, heads=2, dtype="float64")
    yield case("double precision, chunks of one", 1, dtype="float64")
    yield case("double precision, one chunk", 12, dtype="float64", beta=uniform(*sizes, high=2.0))
    yield case("double precision, chunks that do not fit", 5, dtype="float64")
    for layout in ("strided", "steps", "expanded"):
        yield case(f"layout: {layout}", layout=layout)
        yield case(f"layout: {layout}, double precision", layout=layout, dtype="float64")
    for name in INPUTS:
        yield case(f"only {name} needs a gradient", wanted=(name,))
    yield case("no gradient is needed", wanted=())
    yield {"name": "experiment", "seed": seed % 1000}


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
    from fla.ops.delta_rule.naive import delta_rule_chunkwise as rule

    if "long" in case:
        outputs, memory = rule(**case["long"])
        return {"outputs": outputs[:, :, ::32].clone(), "memory": memory.mean(1)}
    bases, tensors = {}, {}
    for name in INPUTS:
        item = case[name].to(getattr(torch, case["dtype"]), copy=True)
        bases[name], tensors[name] = _laid_out(item, case["layout"], name)

    def call():
        if case["positional"]:
            return rule(*tensors.values(), *case["options"].values())
        return rule(**tensors, **case["options"])

    # An earlier call with the same tensors, which then get other values.
    values = {name: base.clone() for name, base in bases.items()}
    for base in bases.values():
        base.copy_(0.5 * base.flip(0, 1))
    try:
        earlier = call()
    except AssertionError:
        same = [bool(torch.equal(base, 0.5 * values[name].flip(0, 1))) for name, base in bases.items()]
        return {"refused": True, "unchanged": same}
    kept = [item.clone() for item in earlier]
    for name, base in bases.items():
        base.copy_(values[name])
    inputs = {name: tensors[name].requires_grad_() for name in INPUTS if name in case["wanted"]}
    before = {name: item.detach().clone() for name, item in tensors.items()}
    result = call()
    outputs, memory = result
    gradients = {}
    if inputs:
        loss = (outputs * case["weights"]).sum() + (memory * case["memory_weights"]).sum()
        found = torch.autograd.grad(loss, inputs.values(), allow_unused=True)
        for (name, item), gradient in zip(inputs.items(), found, strict=True):
            gradients[name] = (torch.zeros_like(item) if gradient is None else gradient).double()
    seen = {
        "outputs": outputs.detach().double(),
        "memory": memory.detach().double(),
        "gradients": gradients,
        "earlier": [item.double() for item in kept],
    }
    kind = "double" if case["dtype"] == "float64" else "far" if case["far"] else "near"
    return {
        kind: seen,
        "tuple": isinstance(result, tuple) and len(result) == 2,
        "facts": [[str(item.dtype), list(item.shape)] for item in result],
        "requires_grad": outputs.requires_grad,
        "unchanged": [bool(torch.equal(item, before[name])) for name, item in tensors.items()],
        "earlier": [bool(torch.equal(item, copy)) for item, copy in zip(earlier, kept, strict=True)],
    }


def _laid_out(item, layout, name):
    """A tensor that owns its memory, and the one that is handed over."""
    if layout == "strided":
        base = item.transpose(0, -1).contiguous()
        return base, base.transpose(0, -1)
    if layout == "steps":
        base = item.transpose(1, 2).contiguous()
        return base, base.transpose(1, 2)
    if layout == "expanded":
        # One head's values for all heads, and for strengths one row's for all rows.
        base = item[:1, :1].clone() if name == "beta" else item[:, :1].clone()
        return base, base.expand(item.shape)
    return item, item
