"""VB-LoRA: sub-vectors, factors and updates with their gradients; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def logits(*shape, step=0.3):
        # No two logits of a sub-vector are nearly alike.
        order = torch.rand(*shape, generator=generator).argsort(dim=-1)
        return step * (order - shape[-1] / 2 + 0.3 * torch.rand(shape, generator=generator, dtype=torch.float64))

    def mixed(name, shape=None, vectors=None, topk=None, dtype="float64", step=0.3, **more):
        shape = shape or (integer(2, 4), integer(2, 4))
        vectors, length = vectors or integer(5, 9), integer(2, 5)
        return {
            "name": f"sub-vectors, {name}",
            "logits": logits(*shape, vectors, step=step),
            "bank": normal(vectors, length),
            "weights": normal(*shape, length),
            "topk": topk or integer(2, 4),
            "dtype": dtype,
            **more,
        }

    for dtype in ("float32", "float64"):
        for topk in (1, 2, integer(3, 5)):
            yield mixed(f"{'some' if topk > 2 else topk} of the bank, {dtype}", topk=topk, dtype=dtype)
    yield mixed("all of the bank", vectors=5, topk=5)
    yield mixed("one dimension ahead", shape=(4,))
    yield mixed("three dimensions ahead", shape=(2, 3, 2))
    yield mixed("as many as sub-vectors", shape=(4, 4), vectors=4, topk=4)
    yield mixed("a large bank", vectors=integer(90, 120), step=0.02)
    yield mixed("tensors that are not contiguous", shape=(3, 2), transposed=True)

    def layer(name, adapters=1, sizes=None, dtype="float64", turned=False, scale=1.0, **more):
        length = integer(2, 4)
        inputs, outputs, length = sizes or (length * integer(2, 3), length * integer(4, 5), length)
        held = []
        for number in range(adapters):
            rank, vectors = integer(2, 3) + number, integer(5, 7) + number
            a, b = logits(rank, inputs // length, vectors), logits(outputs // length, rank, vectors)
            given = {"a": a, "b": b, "bank": scale * normal(vectors, length), "topk": integer(2, 3) + number}
            held.append(given | {"weights": [normal(rank, inputs), normal(outputs, rank), normal(outputs, inputs)]})
        sizes = {"inputs": inputs, "outputs": outputs, "length": length}
        given = {"sizes": sizes, "adapters": held, "dtype": dtype, "turned": turned, "cast": False, "training": True}
        return {"name": f"layer, {name}", **given, **more}

    for dtype, turned, training in product(("float32", "float64"), (False, True), (False, True)):
        name = f"{dtype}{', inputs before outputs' * turned}{', training' * training}"
        yield layer(name, dtype=dtype, turned=turned, training=training)
    for turned in (False, True):
        yield layer(f"square{', inputs before outputs' * turned}", sizes=(6, 6, 2), turned=turned)
    for dtype in ("float32", "float64"):
        yield layer(f"cast, {dtype}", dtype=dtype, cast=True)
    yield layer("two adapters", adapters=2)
    yield layer("three adapters", adapters=3, training=False)
    yield layer("one piece each", sizes=(3, 3, 3))
    yield layer("pieces of one", sizes=(3, 4, 1))
    yield layer("float16", dtype="float16", cast=True, scale=0.5)
    yield layer("float16, inputs before outputs", dtype="float16", cast=True, turned=True, scale=0.5)
    for training in (True, False):
        name = f"resumed, {'training' if training else 'evaluation'}"
        given = layer(name, training=training, refused=training)
        logit = given["adapters"][0]["a"]
        # The first logit itself stays finite.
        logit[0, 0, 0] = 9.0
        for row in (*logit.flatten(0, 1), *given["adapters"][0]["b"].flatten(0, 1)):
            row[row.topk(len(row) - given["adapters"][0]["topk"], largest=False)[1]] = -torch.inf
        yield given
    yield {"name": "experiment", "seed": seed % 1000}

    for kept in (1, 2):
        given = mixed(f"{kept} finite", topk=3, edge=True)
        for row in given["logits"].flatten(0, 1):
            row[row.topk(len(row) - kept, largest=False)[1]] = -torch.inf
        yield given
    for offset in (-integer(995, 998), integer(800, 950)):
        given = mixed(f"logits {'below' if offset < 0 else 'above'} hundreds", topk=3, edge=True)
        yield given | {"logits": given["logits"] + offset}
    given = mixed("hundreds apart", shape=(3, 4), topk=3, edge=True)
    yield given | {"logits": given["logits"] + torch.linspace(-900, 900, 12, dtype=torch.float64).reshape(3, 4, 1)}
    yield mixed("logits far apart", step=150.0, topk=3, edge=True)
    for dtype in ("bfloat16", "float16"):
        yield mixed(f"in {dtype}", dtype=dtype, edge=True)
    yield layer("bfloat16", dtype="bfloat16", scale=0.5, edge=True)
    yield layer("bfloat16, cast", dtype="bfloat16", cast=True, scale=0.5, edge=True)
    places = {"the second of A": ("a", 0, 1), "another row of A": ("a", 1, 0), "the first of B": ("b", 0, 0)}
    for name, (which, *place) in places.items():
        given = layer(f"infinite in training: {name}", edge=True)
        row = given["adapters"][0][which][tuple(place)]
        row[row.argmin()] = -torch.inf
        yield given
    yield layer("changes", adapters=2, changes=["topk", "logits", "bank", "evaluation"], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _mixed(case) if "logits" in case else _layer(case)


def _sorted(dtype, results, facts):
    name = {2: "half", 4: "single", 8: "double"}[dtype.itemsize]
    return {name: [item.detach().double() for item in results], "facts": facts}


def _made(case, dtype):
    from peft.tuners.vblora import Linear
    from torch import nn
    from transformers.pytorch_utils import Conv1D

    sizes = case["sizes"]
    shape = sizes["inputs"], sizes["outputs"]
    base = Conv1D(*shape[::-1]) if case["turned"] else nn.Linear(*shape)
    # The layer gives the bank the dtype of the weight.
    base = base.to(dtype)
    banks, layer = nn.ParameterDict(), None
    for number, given in enumerate(case["adapters"]):
        name = f"adapter {number}"
        banks[name] = nn.Parameter(given["bank"].to(dtype))
        shape = {"r": len(given["a"]), "topk": given["topk"], "num_vectors": len(given["bank"])}
        shape |= {"vector_length": sizes["length"]}
        if layer is None:
            layer = Linear(base, banks, name, **shape, fan_in_fan_out=case["turned"])
        else:
            layer.update_layer(name, banks, **shape)
        layer.vblora_logits_A[name] = nn.Parameter(given["a"].to(dtype))
        layer.vblora_logits_B[name] = nn.Parameter(given["b"].to(dtype))
    # Adapters that are not active are not trained, unless told to.
    return layer.train(case["training"]).requires_grad_(True)


def _mixed(case):
    from peft.tuners.vblora import Linear
    from torch import nn

    dtype = getattr(torch, case["dtype"])
    layer = Linear(nn.Linear(2, 2), nn.ParameterDict({"a": torch.zeros(2, 2)}), "a", 1, 2, 2)
    given = [case[name].to(dtype, copy=True) for name in ("logits", "bank")]
    if "transposed" in case:
        given = [item.transpose(0, 1).contiguous().transpose(0, 1) for item in given]
    given = [item.requires_grad_() for item in given]
    before = [item.detach().clone() for item in given]
    found = layer._get_low_rank_matrix(*given, case["topk"])
    results = [found, *torch.autograd.grad((found * case["weights"].to(found.dtype)).sum(), given)]
    facts = [str(found.dtype), list(found.shape)]
    facts.append([torch.equal(item.detach(), kept) for item, kept in zip(given, before, strict=True)])
    return _sorted(dtype, results, facts)


def _left(layer):
    """What a call leaves of a layer's settings, and of the modes of its parts."""
    parts = [layer.vblora_logits_A, layer.vblora_logits_B, layer.vblora_vector_bank]
    modes = [[part.training, [[str(item.dtype), item.requires_grad] for item in part.values()]] for part in parts]
    return [layer.training, layer.fan_in_fan_out, dict(layer.topk), modes]


def _layer(case):
    dtype = getattr(torch, case["dtype"])
    layer = _made(case, dtype)
    kept = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    results, facts = [], []
    if case.get("refused"):
        return {"refused": [_refused(layer._get_lora_matrices), _refused(layer.get_delta_weight)]}
    for number, given in enumerate(case["adapters"]):
        name = f"adapter {number}"
        held = [layer.vblora_logits_A[name], layer.vblora_logits_B[name], layer.vblora_vector_bank[name]]
        update = layer.get_delta_weight(name)
        facts.append(_left(layer))
        options = {"cast_to_fp32": True} if case["cast"] else {}
        found = [*layer._get_lora_matrices(name, **options), update.T if case["turned"] else update]
        facts.append(_left(layer))
        facts.append([[str(item.dtype), list(item.shape)] for item in (*found, update)])
        loss = sum((a * b.to(a.dtype)).sum().double() for a, b in zip(found, given["weights"], strict=True))
        results += [*found, *torch.autograd.grad(loss, held)]
    facts.append([torch.equal(item, kept[name]) for name, item in layer.state_dict().items()])
    for change in case.get("changes", ()):
        with torch.no_grad():
            if change == "topk":
                layer.topk["adapter 0"] = 4
            elif change == "evaluation":
                layer.eval().vblora_logits_A["adapter 0"][0, 0, 0] = -torch.inf
            elif change == "logits":
                layer.vblora_logits_A["adapter 0"].neg_()
            else:
                layer.vblora_vector_bank["adapter 0"].mul_(2)
        results += [*layer._get_lora_matrices("adapter 0"), layer.get_delta_weight("adapter 0")]
        facts.append(_left(layer))
    # What is cast is as exact as single precision.
    return _sorted(torch.float32 if case["cast"] and dtype == torch.float64 else dtype, results, facts)


def _refused(call):
    try:
        call("adapter 0")
    except Exception as error:
        return isinstance(error, RuntimeError)
    return "nothing is raised"
