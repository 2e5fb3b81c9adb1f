"""PaTH attention: outputs and gradients over sizes, chunks, heads, transformations, gates, layouts; the experiment."""

import torch
from torch.nn import functional as F

INPUTS = ("q", "k", "v", "w", "beta", "g")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def attention(name, rows=2, steps=9, heads=2, query_heads=4, width=5, value_width=3, scale=0.4, chunk=4, **more):
        given = {
            "q": normal(rows, steps, query_heads, width),
            "k": normal(rows, steps, heads, width),
            "v": normal(rows, steps, heads, value_width),
            "w": F.normalize(normal(rows, steps, heads, width), dim=-1),
            "beta": uniform(rows, steps, heads, high=2.0),
            "g": -uniform(rows, steps, query_heads),
        }
        usual = {"dtype": "float32", "layout": "plain", "wanted": None, "key": "near", "positional": False}
        weights = normal(rows, steps, query_heads, value_width)
        return {"name": name, **given, "weights": weights, "scale": scale, "chunk": chunk, **usual} | more

    yield attention("usual sizes")
    yield attention("by place", positional=True)
    for steps in (1, 2, 3, 4, 5, 8, 12, 13):
        yield attention(f"{steps} steps in chunks of 4", steps=steps)
    for chunk in (1, 2, 3, 6, 7, 8, 64, 200):
        yield attention(f"7 steps in chunks of {chunk}", steps=7, chunk=chunk)
    yield attention("the usual chunks", steps=70, rows=1, heads=1, query_heads=1, chunk=None)
    yield attention("the usual chunks, all at once", steps=20, rows=1, chunk=None)
    yield attention(
        "many steps",
        steps=120,
        rows=1,
        heads=1,
        query_heads=1,
        chunk=64,
        g=-uniform(1, 120, 1, high=0.2),
        wanted=["v", "beta"],
    )
    yield attention(
        "many steps, one chunk", steps=60, rows=1, heads=1, query_heads=1, chunk=60, g=-uniform(1, 60, 1, high=0.2)
    )
    yield attention("many steps, chunks of one", steps=25, rows=1, chunk=1)
    yield attention("one row", rows=1)
    yield attention("one head", heads=1, query_heads=1)
    yield attention("one head of keys", heads=1, query_heads=3)
    yield attention("as many heads of keys", heads=3, query_heads=3)
    yield attention("three heads of queries for each", heads=2, query_heads=6)
    yield attention("rows, steps and heads alike", rows=4, steps=4, heads=4, query_heads=4, width=4, value_width=4)
    yield attention("four rows", rows=4, steps=6)
    yield attention("width of one", width=1, w=torch.ones(2, 9, 2, 1, dtype=torch.float64))
    yield attention("values wider than keys", width=2, value_width=7)
    yield attention("values of one", value_width=1)
    yield attention("wide", width=64, value_width=64, scale=0.125, chunk=8)
    yield attention("all of size one", rows=1, steps=1, heads=1, query_heads=1, width=1, value_width=1, chunk=1)

    sizes = (2, 9, 2)
    yield attention("reflections", beta=torch.full(sizes, 2.0).double())
    yield attention("projections", beta=torch.ones(sizes).double())
    yield attention("identities", beta=torch.zeros(sizes).double())
    yield attention("no directions", w=torch.zeros(2, 9, 2, 5).double())
    yield attention("one reflection", beta=2.0 * torch.eye(9)[4].view(1, 9, 1).expand(sizes).double())
    yield attention("a reflection at the first step", beta=2.0 * torch.eye(9)[0].view(1, 9, 1).expand(sizes).double())
    yield attention("a reflection at the last step", beta=2.0 * torch.eye(9)[8].view(1, 9, 1).expand(sizes).double())
    yield attention("one direction for all", w=F.normalize(normal(1, 1, 1, 5), dim=-1).expand(2, 9, 2, 5))
    yield attention(
        "one direction over many steps",
        steps=80,
        rows=1,
        heads=1,
        query_heads=1,
        w=F.normalize(normal(1, 1, 1, 5), dim=-1).expand(1, 80, 1, 5),
        beta=uniform(1, 80, 1, low=1.8, high=2.0),
    )
    given = attention("directions of other lengths")
    length = uniform(*sizes, low=0.1, high=2.0)
    yield given | {"w": given["w"] * length.unsqueeze(-1), "beta": (given["beta"] / length**2).clamp(max=4.0)}
    given = attention("short directions", beta=torch.full(sizes, 4.0).double())
    yield given | {"w": given["w"] * 0.7}
    swaps = F.normalize(torch.eye(5)[torch.randint(4, sizes, generator=generator)] - torch.eye(5)[4], dim=-1)
    yield attention("exchanges", steps=9, w=swaps.double(), beta=torch.full(sizes, 2.0).double(), scale=2)
    yield attention(
        "exchanges over many steps",
        steps=60,
        rows=1,
        heads=1,
        query_heads=2,
        chunk=16,
        beta=torch.full((1, 60, 1), 2.0).double(),
        g=torch.zeros(1, 60, 2).double(),
    )

    gates = (2, 9, 4)
    yield attention("gates open", g=torch.zeros(gates).double())
    yield attention("gates nearly open", g=-1e-3 * uniform(*gates))
    yield attention("one gate shut", g=-20.0 * torch.eye(9)[5].view(1, 9, 1).expand(gates).double())
    yield attention("gates shut at the first step", g=-20.0 * torch.eye(9)[0].view(1, 9, 1).expand(gates).double())
    yield attention("gates of all sizes", g=-20.0 * uniform(*gates) ** 4, key="sharp")
    yield attention("all gates shut", g=torch.full(gates, -20.0).double(), key="sharp")
    yield attention(
        "gates that add up to hundreds",
        steps=40,
        rows=1,
        heads=1,
        query_heads=2,
        chunk=16,
        g=-uniform(1, 40, 2, low=10.0, high=20.0),
        scale=0.6,
        key="sharp",
    )
    yield attention("gates by head", g=-torch.tensor([0.0, 0.3, 1.0, 5.0]).double().expand(gates))

    for scale in (1, 2, 0.01, 0.05, 0.9, 5**-0.5):
        yield attention(f"scale of {scale!r}", scale=scale)
    yield attention("a large scale", scale=6.0, g=-uniform(*gates, high=0.1), key="sharp")
    given = attention("large queries and keys", scale=0.1, key="sharp")
    yield given | {"q": 25.0 * F.normalize(given["q"], dim=-1), "k": 25.0 * F.normalize(given["k"], dim=-1)}
    given = attention("queries and keys at the bound", scale=0.11, key="sharp", wanted=["v"])
    yield given | {"q": 30.0 * F.normalize(given["q"], dim=-1), "k": 30.0 * F.normalize(given["k"], dim=-1)}
    # Exponentials of these scores are too large, or too small, for single precision.
    for sign, name, scale in ((1, "for", 0.11), (-1, "against", 0.11), (-1, "against", 0.01)):
        name = f"keys at the bound all {name} the queries, a scale of {scale}"
        given = attention(name, heads=1, query_heads=2, scale=scale, key="sharp")
        toward = F.normalize(normal(1, 1, 1, 5), dim=-1)
        away = F.normalize(given["k"], dim=-1) * (torch.arange(9) % 4 == 3).view(1, 9, 1, 1)
        keys = 30.0 * F.normalize(20 * toward + away, dim=-1)
        more = {"q": sign * 30.0 * toward.expand(2, 9, 2, 5), "k": keys, "w": 0 * given["w"], "g": 0 * given["g"]}
        yield given | more | {"wanted": ["v", "g"]}
    # The first key is ahead of the others by 200, and gates leave 80 of that at least.
    given = attention("a faded key that is far ahead", heads=1, query_heads=2, scale=1, key="sharp")
    signs = torch.full((1, 9, 1, 1), -1.0).double().index_fill(1, torch.tensor(0), 1.0)
    more = {"q": 10.0 * toward.expand(2, 9, 2, 5), "k": signs * 10.0 * toward.expand(2, 9, 1, 5), "w": 0 * given["w"]}
    yield given | more | {"g": -uniform(2, 9, 2, low=10.0, high=15.0), "wanted": ["v", "g"]}
    yield attention("values in the hundreds", v=uniform(2, 9, 2, 3, low=-500.0, high=500.0), key="far")
    for name in ("q", "k", "v"):
        given = attention(f"{name} of zero")
        yield given | {name: torch.zeros_like(given[name])}
    given = attention("some steps of zero")
    keep = (torch.arange(9) % 3 != 1).double().view(1, 9, 1, 1)
    yield given | {name: given[name] * keep for name in ("q", "k", "v", "w")}

    yield attention("double precision", dtype="float64")
    yield attention("double precision, a head of keys for each", dtype="float64", query_heads=2, wanted=["v"])
    yield attention("double precision, many steps", dtype="float64", steps=40, chunk=16, g=-uniform(2, 40, 4, high=0.2))
    for layout in ("strided", "heads first", "expanded", "every other entry"):
        yield attention(f"layout: {layout}", layout=layout)
    for name in INPUTS:
        yield attention(f"only {name} needs a gradient", wanted=[name])
    yield attention("no gradient is needed", wanted=[])
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.path_attn import naive

    owners, tensors = {}, {}
    for name in INPUTS:
        item = case[name].to(getattr(torch, case["dtype"]), copy=True).contiguous()
        owners[name], tensors[name] = _laid_out(item, case["layout"], name)

    def call(scale=case["scale"], chunk=case["chunk"]):
        options = {} if chunk is None else {"chunk_size": chunk}
        if case["positional"]:
            return naive.naive_path_attn(*tensors.values(), scale, *options.values())
        return naive.naive_path_attn(**tensors, scale=scale, **options)

    # The same tensors hold other values at first: nothing may be kept of that call, and its result stays.
    values = {name: owner.clone() for name, owner in owners.items()}
    for owner in owners.values():
        owner.mul_(0.5)
    before = {name: item.clone() for name, item in tensors.items()}
    earlier = call(scale=0.3, chunk=3)
    kept = earlier.clone()
    facts = {"unchanged at first": [bool(torch.equal(item, before[name])) for name, item in tensors.items()]}
    for name, owner in owners.items():
        owner.copy_(values[name])
    wanted = [name for name in INPUTS if case["wanted"] is None or name in case["wanted"]]
    for name in wanted:
        tensors[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in tensors.items()}
    result = call()
    facts |= {"result": [str(result.dtype), list(result.shape)], "needs a gradient": result.requires_grad}
    gradients = [None] * len(wanted)
    if result.requires_grad:
        loss = (result.double() * case["weights"]).sum()
        gradients = torch.autograd.grad(loss, [tensors[name] for name in wanted], allow_unused=True)
    seen = {"result": result.detach().clone(), "earlier": kept}
    for name, gradient in zip(wanted, gradients, strict=True):
        # Where nothing depends on an input, there may be no gradient.
        seen[f"gradient of {name}"] = torch.zeros_like(tensors[name]) if gradient is None else gradient
    with torch.no_grad():
        result.fill_(7.0)
    facts["unchanged"] = [bool(torch.equal(item, before[name])) for name, item in tensors.items()]
    facts["earlier result stays"] = bool(torch.equal(earlier, kept))
    return {case["key"]: seen, **facts}


def _laid_out(item, layout, name):
    """A tensor that owns its memory, and the view of it that is handed over."""
    if layout == "strided":
        owner = item.transpose(0, -1).contiguous()
        return owner, owner.transpose(0, -1)
    if layout == "heads first":
        owner = item.transpose(1, 2).contiguous()
        return owner, owner.transpose(1, 2)
    if layout == "expanded":
        # One head's vectors for all heads; for strengths and gates one row's for all rows.
        owner = item[:, :, :1].clone() if item.dim() == 4 else item[:1].clone()
        return owner, owner.expand(item.shape)
    if layout == "every other entry":
        owner = torch.stack([item, item + 0.1], dim=-1)
        return owner, owner[..., 0]
    return item, item
