"""Starts, query states by generation of rotary embeddings, outputs with gradients, whole models, the experiment."""

import copy
import functools

import torch

DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "bfloat16", "float16", "int8", "uint8")}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def start(name, **more):
        sizes = {"heads": 4, "key heads": 2, "width": 4, "prompts": 3, "model type": "llama", "dtype": "float32"}
        return {"name": f"start, {name}", "kind": "start", "others": None, **sizes, **more}

    for dtype in DTYPES:
        yield start(dtype, dtype=dtype)
    yield start("one number", heads=1, width=2, prompts=1, **{"key heads": 1})
    yield start("many numbers", heads=8, width=16, prompts=128)
    yield start("a packed layer", **{"model type": "packed"})
    yield start("another model type", **{"model type": "mistral"})
    yield start("eight bits for queries alone", dtype="int8", others="float32")
    yield start("half precision for queries alone", dtype="bfloat16", others="float32")
    yield start("eight bits for all but queries", dtype="float16", others="int8")

    def inputs(name, kind, heads=4, key_heads=2, width=4, batch=2, tokens=3, **more):
        hidden, keys = heads * width, key_heads * width
        held = more.get("held", 0)
        return {
            "name": f"{kind}, {name}",
            "kind": kind,
            "heads": heads,
            "key heads": key_heads,
            "width": width,
            "q": normal(hidden, hidden) / hidden**0.5,
            "k": normal(keys, hidden) / hidden**0.5,
            "v": normal(keys, hidden) / hidden**0.5,
            "o": normal(hidden, hidden) / hidden**0.5,
            "biases": [normal(hidden), normal(keys), normal(keys)],
            "hidden": normal(batch, tokens, hidden),
            "past": [normal(batch, key_heads, held, width), normal(batch, key_heads, held, width)],
            "elsewhere": [normal(batch, key_heads, held + 2, width), normal(batch, key_heads, held + 2, width)],
            "weights": normal(batch, tokens, hidden),
            "start": torch.randperm(max(5, batch), generator=generator)[:batch],
            "bias": False,
            "dtype": "float32",
            "eight": None,
            "rotary": "plain",
            "original": 1000,
            "positions": "row",
            "cache": None,
            "held": 0,
            "layer": 0,
            "layout": "contiguous",
            "far": False,
            "hooks": False,
            "tied": False,
            "cancel": False,
            "trained": True,
            "training": True,
            "asking": True,
            "model type": "llama",
            **more,
        }

    def query(name, **more):
        return inputs(name, "queries", **more)

    yield query("positions given")
    yield query("positions of each row", positions="batch")
    yield query("positions spread in memory", positions="spread")
    yield query("positions far from the start", positions="far")
    yield query("neither positions nor cache", positions=None)
    yield query("neither, one token", positions=None, tokens=1)
    yield query("neither, missing", positions="missing")
    yield query("one of all", heads=1, key_heads=1, width=2, batch=1, tokens=1)
    yield query("one key head", key_heads=1, positions="batch")
    yield query("as many key heads", key_heads=4, bias=True)
    yield query("a large one", heads=4, key_heads=2, width=64, batch=2, tokens=20)
    yield query("in evaluation", training=False)
    yield query("packed", key_heads=4, **{"model type": "packed"})
    for dtype in ("float64", "bfloat16", "float16"):
        yield query(dtype, dtype=dtype, bias=True)
        yield query(f"{dtype}, a table", dtype=dtype, rotary="table")
        yield query(f"{dtype}, stretched, without positions", dtype=dtype, rotary="stretched", positions=None)
    for eight, dtype in (("int8", "bfloat16"), ("uint8", "float32")):
        yield query(f"eight bits, {eight}", dtype=dtype, eight=eight)
    for layout in ("transposed", "spread", "expanded"):
        yield query(f"a layout that is {layout}", layout=layout)
    yield query("hooks", hooks=True, bias=True)
    yield query("hooks, a packed layer", hooks=True, key_heads=4, rotary="table", **{"model type": "packed"})
    yield query("wrapped", rotary="wrapped", positions="batch")
    order = "decorated, in another order"
    yield query(order, rotary=order, original=3, positions=None, cache="cache", held=4)
    # Lengths above `original` show in the angles.
    for rotary in ("plain", "plain with heads", "stretched", "stretched with heads", "table", "table of four"):
        settings = {"rotary": rotary, "original": 3}
        yield query(f"{rotary}, no cache", **settings)
        yield query(f"{rotary}, a tuple", cache="tuple", held=5, **settings)
        yield query(f"{rotary}, a cache", cache="cache", held=4, layer=1, positions="batch", **settings)
        yield query(f"{rotary}, a limited cache", cache="limited", held=4, layer=1, **settings)
        yield query(f"{rotary}, a token more, no cache", tokens=4, **settings)
        if "table" in rotary:
            yield query(f"{rotary}, an empty tuple", cache="tuple", **settings)
        else:
            yield query(f"{rotary}, no cache, no positions", positions=None, **settings)
            yield query(f"{rotary}, an empty cache, no positions", positions=None, cache="cache", layer=1, **settings)
            yield query(f"{rotary}, a cache, no positions", positions=None, cache="cache", held=4, layer=1, **settings)
            yield query(
                f"{rotary}, a limited cache, no positions",
                positions="missing",
                cache="limited",
                held=4,
                layer=2,
                tokens=2,
                **settings,
            )

    def forward(name, prompts=3, gate=0.7, **more):
        made = inputs(name, "forward", **more)
        hidden = made["hidden"].shape[-1]
        return made | {"prompt": normal(1, prompts, hidden), "gate": gate, "asked": more.get("asked", {})}

    yield forward("an ordinary one")
    yield forward("a closed gate", gate=0.0)
    yield forward("a gate beyond one", gate=2.5)
    yield forward("a wide open gate", gate=80.0, far=True)
    yield forward("a negative gate", gate=-1.4)
    yield forward("a small gate", gate=1e-3)
    yield forward("one prompt", prompts=1)
    yield forward("many prompts", prompts=128)
    yield forward("one of all", prompts=1, heads=1, key_heads=1, width=2, batch=1, tokens=1)
    yield forward("one row", batch=1)
    yield forward("one token", tokens=1)
    yield forward("as many tokens as prompts and heads", prompts=4, tokens=4, batch=4)
    yield forward("one key head", key_heads=1)
    yield forward("as many key heads", key_heads=4)
    yield forward("three heads of each key head", heads=6, key_heads=2, width=2)
    yield forward("biases", bias=True)
    yield forward("a large one", prompts=10, heads=4, key_heads=2, width=16, tokens=12)
    yield forward("most tokens", prompts=2, heads=2, key_heads=1, width=2, batch=1, tokens=256)
    yield forward("most rows and heads", prompts=2, heads=16, key_heads=4, width=2, batch=16, tokens=1)
    yield forward("the widest heads", prompts=2, heads=2, key_heads=1, width=64)
    yield forward("a mistral", **{"model type": "mistral"})
    yield forward("packed", key_heads=4, bias=True, **{"model type": "packed"})
    yield forward("packed, one token", key_heads=4, tokens=1, positions=None, **{"model type": "packed"})
    yield forward("another entry", key_heads=4, **{"model type": "other"})
    yield forward("another entry, shared key heads", **{"model type": "other"}, cache="cache", held=2)
    yield forward("another entry, one prompt", prompts=1, **{"model type": "other"})
    yield forward("one layer for keys and values", tied=True)
    for model_type in ("llama", "packed", "other packed"):
        key_heads = 2 if model_type == "llama" else 4
        yield forward(f"hooks, {model_type}", hooks=True, key_heads=key_heads, **{"model type": model_type})
    yield forward("nothing of the module trained", trained=False)
    yield forward("the gate alone trained", trained=False, asking=False)
    yield forward("in evaluation, with gradients", training=False)
    yield forward("weights asked for", asked={"output_attentions": True})
    yield forward("further arguments", asked={"output_attention": False, "use_cache": True, "cache_position": None})
    yield forward("a mask", asked={"attention_mask": "last"}, batch=3)
    for dtype in ("float64", "bfloat16", "float16"):
        # Half precision is held to the size of its numbers.
        part = 1.0 if dtype == "float64" else 0.5
        for given in (
            forward(f"{dtype}", dtype=dtype),
            forward(f"{dtype}, a closed gate", dtype=dtype, gate=0.0, bias=True),
            forward(f"{dtype}, one prompt", dtype=dtype, prompts=1),
        ):
            smaller = {name: part * given[name] for name in ("prompt", "weights")}
            yield given | smaller | {"biases": [part * bias for bias in given["biases"]]}
    # At position 0 the first two terms of each score are near 900 and -900; scores are small.
    given = forward("float64, terms that cancel", tokens=1, dtype="float64", trained=False, asking=False, cancel=True)
    for name, signs in (("q", (1, 1)), ("k", (1, -1))):
        given[name] = 0.03 * given[name] * given[name].shape[1] ** 0.5
        for place, sign in enumerate(signs):
            given[name][place :: given["width"], 0] = 30.0 * sign
    # The last one comes first in other prompts.
    for name in ("hidden", "prompt"):
        given[name][..., [0, -1]] = 1.0
    yield given
    for eight in ("int8", "uint8"):
        for dtype in ("float32", "bfloat16", "float16"):
            yield forward(f"{eight} under {dtype}", dtype=dtype, eight=eight, trained=False)
    for layout in ("transposed", "spread", "expanded"):
        yield forward(f"a layout that is {layout}", layout=layout)
    for prompts in (1, 2):
        given = forward(f"large scores, {prompts} prompts", prompts=prompts, tokens=10, far=True)
        yield given | {"hidden": 9 * given["hidden"], "prompt": 9 * given["prompt"]}
    yield forward("neither positions nor cache", positions=None)
    yield forward("positions of each row", positions="batch")
    for rotary in ("plain", "stretched with heads", "table"):
        settings = {"rotary": rotary, "original": 3}
        yield forward(f"{rotary}, a tuple", cache="tuple", held=5, **settings)
        yield forward(f"{rotary}, a cache", cache="cache", held=4, layer=1, positions="batch", **settings)
        yield forward(f"{rotary}, an empty cache", cache="cache", layer=1, **settings)
        yield forward(f"{rotary}, a limited cache", cache="limited", held=4, layer=1, tokens=2, **settings)
        if "table" not in rotary:
            yield forward(
                f"{rotary}, a cache, no positions", positions=None, cache="cache", held=4, layer=1, **settings
            )
            yield forward(
                f"{rotary}, a limited cache, no positions",
                positions="missing",
                cache="limited",
                held=4,
                layer=2,
                tokens=2,
                **settings,
            )
            yield forward(f"{rotary}, an empty cache, no positions", positions=None, cache="cache", **settings)
    yield {"name": "errors", "kind": "errors"}
    yield {"name": "model", "kind": "model"}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    made = {"start": _start, "queries": _queries, "forward": _forward, "errors": _errors, "model": _model}
    return made[case["kind"]](case)


def _start(case):
    from llama import Attention, EightBitLinear, PackedAttention, Rotary
    from peft.tuners.adaption_prompt.layer import AdaptedAttention

    heads, hidden = case["heads"], case["heads"] * case["width"]
    if case["model type"] == "packed":
        attention = PackedAttention(hidden, heads, Rotary(case["width"]))
    else:
        attention = Attention(hidden, heads, case["key heads"], Rotary(case["width"]))
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        dtype = DTYPES[case["dtype"] if name == "q_proj" else case["others"] or case["dtype"]]
        layer = getattr(attention, name)
        if dtype.itemsize == 1:
            setattr(attention, name, EightBitLinear(layer, dtype))
        else:
            layer.to(dtype)
    state = {name: item.clone() for name, item in attention.state_dict().items()}
    flags = [item.requires_grad for item in attention.parameters()]
    attention.rotary_emb.eval()
    torch.manual_seed(3)
    adapted = AdaptedAttention(model_type=case["model type"], adapter_len=case["prompts"], model=attention)
    facts = {"next number": torch.rand(1).item()}
    own = dict(adapted.named_parameters(recurse=False))
    facts["own"] = {
        name: [str(item.dtype), list(item.shape), item.requires_grad, item.is_contiguous(), str(item.device)]
        for name, item in sorted(own.items())
    }
    facts["types"] = [type(item) is torch.nn.Parameter for item in own.values()]
    facts["attributes"] = sorted(vars(adapted))
    facts["modes"] = [module.training for module in adapted.modules()]
    facts["buffers"] = [name for name, _ in adapted.named_buffers(recurse=False)]
    facts["children"] = [name for name, _ in adapted.named_children()]
    facts["kept"] = [adapted.model is attention, adapted.model_type, adapted.adapter_len, adapted.training]
    facts["unchanged"] = all(torch.equal(item, state[name]) for name, item in attention.state_dict().items())
    facts["flags"] = [item.requires_grad for item in attention.parameters()] == flags
    # Another one of the same module has numbers of its own.
    torch.manual_seed(4)
    again = AdaptedAttention(case["model type"], case["prompts"], attention)
    facts["shared"] = again.adaption_prompt is adapted.adaption_prompt or again.adaption_gate is adapted.adaption_gate
    return facts | {
        "numbers": adapted.adaption_prompt.detach().double(),
        "gate": adapted.adaption_gate.detach().double(),
        "other numbers": again.adaption_prompt.detach().double(),
    }


def _rotary(case):
    from llama import Rotary, StretchedRotary, TableRotary

    class Ordered(StretchedRotary):
        @torch.no_grad()
        def forward(self, x, seq_len=None, position_ids=None):
            return super().forward(x, position_ids, seq_len)

    kind, width, original = case["rotary"], case["width"], case["original"]
    if kind.startswith("decorated"):
        return Ordered(width, original)
    if kind == "wrapped":
        rotary = Rotary(width)
        inner = rotary.forward
        rotary.forward = functools.wraps(inner)(lambda *args, **kwargs: inner(*args, **kwargs))
        return rotary
    if kind.startswith("plain"):
        return Rotary(width, heads_axis="heads" in kind)
    if kind.startswith("stretched"):
        return StretchedRotary(width, original, heads_axis="heads" in kind)
    return TableRotary(width, original, four_axes="four" in kind)


def _attention(case):
    from llama import Attention, EightBitLinear, PackedAttention

    heads, hidden, dtype = case["heads"], case["heads"] * case["width"], DTYPES[case["dtype"]]
    weights = [case["q"], case["k"], case["v"]]
    if "packed" in case["model type"]:
        attention = PackedAttention(hidden, heads, _rotary(case), case["layer"], case["bias"])
        layers = {"qkv_proj": torch.cat(weights)}
        biases = [torch.cat(case["biases"])]
    else:
        attention = Attention(hidden, heads, case["key heads"], _rotary(case), case["layer"], case["bias"])
        layers = dict(zip(("q_proj", "k_proj", "v_proj", "o_proj"), [*weights, case["o"]], strict=True))
        biases = [*case["biases"], None]
    attention.to(torch.float64)
    for (name, weight), bias in zip(layers.items(), biases, strict=True):
        layer = getattr(attention, name)
        with torch.no_grad():
            layer.weight.copy_(weight)
            if layer.bias is not None:
                layer.bias.copy_(bias)
        if case["eight"]:
            setattr(attention, name, EightBitLinear(layer, DTYPES[case["eight"]]))
    if case["model type"] == "other packed":
        attention.all_of_them = copy.deepcopy(attention.qkv_proj)
        attention.all_of_them.weight.data = attention.qkv_proj.weight.data.flip(0).roll(1, 1)
    if case["tied"]:
        attention.v_proj = attention.k_proj
    if not case["eight"]:
        attention.to(dtype)
    if case["hooks"]:
        for module in attention.modules():
            if module is not attention:
                module.register_forward_hook(_changed)
    if not case["trained"]:
        attention.requires_grad_(False)
    return attention.train(case["training"])


def _changed(module, args, returned):
    """A hook that isn't linear, and lets nothing grow; cosines and sines come as a tuple."""
    return tuple(0.9 * item for item in returned) if isinstance(returned, tuple) else returned - 0.6 * returned.tanh()


def _past(case, rows=None):
    from llama import Cache

    dtype = DTYPES[case["dtype"]]
    past, elsewhere = ([item[:rows].to(dtype) for item in case[name]] for name in ("past", "elsewhere"))
    if case["cache"] is None:
        return None
    if case["cache"] == "tuple":
        return tuple(past)
    cache = Cache(limit=case["held"] + 1 if case["cache"] == "limited" else None)
    for layer in range(3):
        given = past if layer == case["layer"] else elsewhere
        if given[0].shape[2] and case["held"]:
            cache.update(*given, layer)
    return cache


def _positions(case):
    """Keyword arguments, as `position_ids` may be missing."""
    batch, tokens = case["hidden"].shape[:2]
    kind, held = case["positions"], case["held"]
    if kind == "missing":
        return {}
    if kind is None:
        return {"position_ids": None}
    if kind == "batch":
        # Rows start at various positions, within the tables where there are some.
        first = case["start"] % (held + 1) if "table" in case["rotary"] else case["start"]
        return {"position_ids": first[:, None] + torch.arange(tokens)}
    row = torch.arange(held, held + tokens)[None] + (29_000 if kind == "far" else 0)
    if kind == "spread":
        return {"position_ids": torch.stack([row, row + 7], dim=2).expand(batch, -1, -1)[..., 0]}
    return {"position_ids": row}


def _held(past):
    """What a tuple or a cache holds, to be compared later."""
    if past is None:
        return []
    pairs = [past] if isinstance(past, tuple) else [past.held[layer] for layer in sorted(past.held)]
    return [item.detach().double().clone() for pair in pairs for item in pair]


def _queries(case):
    from peft.tuners.adaption_prompt.utils import llama_compute_query_states

    attention = _attention(case)
    dtype = DTYPES[case["dtype"]]
    x = _laid_out(case["hidden"].to(dtype), case["layout"]).requires_grad_()
    past = _past(case)
    kwargs = {"hidden_states": x, **_positions(case), "use_cache": True, "attention_mask": None}
    if case["cache"] is not None or case["positions"] != "missing":
        kwargs["past_key_value"] = past
    given, kept, before = dict(kwargs), x.detach().clone(), _held(past)
    positions = kwargs.get("position_ids")
    kept_positions = None if positions is None else positions.clone()
    state, attributes = _state(attention), sorted(vars(attention))
    asked = []

    def hook(_, args, named):
        kinds = {name: str(getattr(item, "dtype", type(item))) for name, item in named.items()}
        asked.append(str([str(item.dtype) for item in args[:1]] + [len(args), sorted(kinds.items())]))

    attention.rotary_emb.register_forward_pre_hook(hook, with_kwargs=True)
    torch.manual_seed(5)
    output = llama_compute_query_states(attention, **kwargs)
    facts = {"next number": torch.rand(1).item(), "asked of waves": sorted(set(asked))}
    facts["output"] = [str(output.dtype), list(output.shape), output.requires_grad]
    results = {"output": output.detach().clone()}
    wave = case["weights"].unflatten(2, (-1, case["width"])).movedim(2, 1)
    # Sums of half precision stay near the size of their terms.
    factor = 0.3 if dtype.itemsize == 2 else 1.0
    (output * (factor * wave).to(dtype)).sum().backward()
    results |= _gradients(facts, {"x": x, **dict(attention.named_parameters())})
    facts["unchanged"] = [
        torch.equal(x.detach(), kept),
        positions is None or torch.equal(positions, kept_positions),
        len(before) == len(_held(past)) and all(map(torch.equal, before, _held(past))),
        all(torch.equal(item, state[name]) for name, item in attention.state_dict().items()),
        sorted(vars(attention)) == attributes,
        sorted(kwargs) == sorted(given) and all(kwargs[name] is item for name, item in given.items()),
        attention.training,
    ]
    with torch.no_grad():
        output.zero_()
        results["again"] = llama_compute_query_states(model=attention, **kwargs)
        results["other tokens"] = llama_compute_query_states(model=attention, **{**kwargs, "hidden_states": x.flip(1)})
        if positions is not None and "table" not in case["rotary"]:
            later = {**kwargs, "position_ids": positions + 3}
            results["other positions"] = llama_compute_query_states(model=attention, **later)
        if "position_ids" in kwargs and case["cache"] != "tuple" and "table" not in case["rotary"]:
            without = {**kwargs, "position_ids": None}
            results["without positions"] = llama_compute_query_states(model=attention, **without)
        fewer = {**kwargs, "hidden_states": x[:1]}
        if positions is not None:
            fewer["position_ids"] = positions[:1]
        results["first row"] = llama_compute_query_states(model=attention, **fewer)
        if positions is not None:
            fewer = {**kwargs, "hidden_states": x[:, :1], "position_ids": positions[:, :1]}
            results["first token"] = llama_compute_query_states(model=attention, **fewer)
        if case["cache"] in ("cache", "limited"):
            # The cache is asked at each call.
            attention(**kwargs)
            results["later"] = llama_compute_query_states(model=attention, **kwargs)
        if not case["eight"]:
            for item in attention.parameters():
                item.data.mul_(0.6)
            attention.eval()
            results["other weights"] = llama_compute_query_states(model=attention, **kwargs)
    return _sorted(results, dtype) | facts


def _gradients(facts, items):
    results = {}
    for name, item in items.items():
        facts[f"gradient of {name}"] = None if item.grad is None else [str(item.grad.dtype), list(item.grad.shape)]
        if item.grad is not None:
            results[f"gradient of {name}"] = item.grad.clone()
    return results


def _state(module):
    return {name: item.detach().clone() for name, item in module.state_dict().items()}


def _other_entries(events):
    """Names that are not the usual ones, none for the output, and a function of its own; another packed layer."""
    from peft.tuners.adaption_prompt.config import TRANSFORMERS_MODEL_CONFIG, ModelTypeConfig

    def compute(*, model, **kwargs):
        events.append(("function", model, kwargs))
        cache = kwargs.get("past_key_value")
        shift = 0 if cache is None else cache.get_seq_length(model.layer_idx)
        x = kwargs["hidden_states"]
        return (model.q_proj(x.flip(1)) + 0.1 * shift).unflatten(2, (-1, model.head_dim)).movedim(2, 1)

    TRANSFORMERS_MODEL_CONFIG["other"] = ModelTypeConfig(compute, "self_attn", "v_proj", "k_proj", None)
    names = ["_".join(["all", "of", "them"]) for _ in range(2)]
    TRANSFORMERS_MODEL_CONFIG["other packed"] = ModelTypeConfig(compute, "self_attn", *names, "q_proj")


def _listen(adapted, events):
    """Notes what is called, and whether it is given the prompts."""

    def before(module, args):
        # Prompts may come with or without a batch.
        prompt = adapted.adaption_prompt
        given = bool(args) and args[0].shape[-2:] == prompt.shape[1:]
        events.append(("module", module, given and torch.equal(args[0].reshape(-1, *prompt.shape[1:])[:1], prompt)))

    for module in adapted.model.modules():
        module.register_forward_pre_hook(before)
    adapted.model.register_forward_hook(lambda module, *_: events.append(("end", module, False)))


def _told(case, attention, named, events):
    """What was called in one call: the module first, the function with all it needs, each layer with the prompts."""
    from peft.tuners.adaption_prompt.config import TRANSFORMERS_MODEL_CONFIG

    entry = TRANSFORMERS_MODEL_CONFIG[case["model type"]]
    end = [kind for kind, _, _ in events].index("end")
    later = [(module, given) for kind, module, given in events[end:] if kind == "module"]
    functions = [(model, given) for kind, model, given in events[end:] if kind == "function"]
    facts = [events[0][1] is attention and events[0][0] == "module"]
    facts += [
        [model is attention, given.keys() == named.keys() and all(given[name] is named[name] for name in named)]
        for model, given in functions
    ]
    for name in (entry.k_proj_layer, entry.v_proj_layer):
        layer = getattr(attention, name)
        # With eight bits the prompts may be cast on the way.
        facts.append(any(module is layer and (given or bool(case["eight"])) for module, given in later))
    output = None if entry.o_proj_layer is None else getattr(attention, entry.o_proj_layer)
    return [*facts, any(module is output for module, _ in later)]


def _forward(case):
    import llama  # noqa: F401  # brings the entry of packed layers
    from peft.tuners.adaption_prompt.layer import AdaptedAttention

    events, calls = [], []
    _other_entries(events)
    attention, dtype = _attention(case), DTYPES[case["dtype"]]
    adapted = AdaptedAttention(case["model type"], case["prompt"].shape[1], attention)
    prompt, gate = adapted.adaption_prompt, adapted.adaption_gate
    with torch.no_grad():
        prompt.copy_(case["prompt"])
        gate.fill_(case["gate"])
    prompt.requires_grad_(case["asking"])
    adapted.train(case["training"])
    if case["layout"] != "contiguous":
        prompt.data = _laid_out(prompt.data, "transposed")
    x = _laid_out(case["hidden"].to(dtype), case["layout"]).requires_grad_(case["asking"])
    batch, tokens = x.shape[:2]
    asked = dict(case["asked"])
    if "attention_mask" in asked:
        # All but the first row ignore the first token.
        mask = torch.zeros(batch, 1, tokens, tokens, dtype=dtype)
        mask[:, :, torch.ones(tokens, tokens, dtype=torch.bool).triu(1)] = -1e4
        mask[1:, :, 1:, 0] = -1e4
        asked["attention_mask"] = mask
    kwargs = {"hidden_states": x, **_positions(case), **asked}
    positions = kwargs.get("position_ids")
    kept, kept_positions = x.detach().clone(), None if positions is None else positions.clone()
    state, attributes, inner = _state(adapted), sorted(vars(adapted)), sorted(vars(attention))
    seen = []

    def hook(module, args, named, returned):
        seen.append([args, dict(named), returned, returned[0].detach().clone()])

    handle = attention.register_forward_hook(hook, with_kwargs=True)
    _listen(adapted, events)

    def run(named):
        events.clear()
        returned = adapted(**named)
        calls.append(_told(case, attention, named, events))
        return returned

    def call(**more):
        past = _past(case, len(more.get("hidden_states", x)))
        named = {**kwargs, **more}
        if case["cache"] is not None:
            named["past_key_value"] = past
        return run(named)

    past = _past(case)
    before = _held(past) if isinstance(past, tuple) else []
    named = kwargs if past is None else {**kwargs, "past_key_value": past}
    torch.manual_seed(6)
    returned = run(named)
    facts = {"next number": torch.rand(1).item(), "calls": len(seen)}
    output, second, third = returned
    args, given, inside, _ = seen[0]
    facts["returned"] = [type(returned) is tuple, second is None, third is inside[2]]
    facts["given"] = [len(args), sorted(given) == sorted(named), all(given[name] is named[name] for name in named)]
    facts["output"] = [str(output.dtype), list(output.shape), output.requires_grad]
    results = {"output": output.detach().clone()}
    # Sums of half precision stay near the size of their terms.
    factor = 0.3 if dtype.itemsize == 2 else 0.1 if case["far"] else 1.0
    (output * (factor * case["weights"]).to(dtype)).sum().backward()
    results |= _gradients(facts, {"x": x, **dict(adapted.named_parameters())})
    facts["unchanged"] = [
        torch.equal(x.detach(), kept),
        positions is None or torch.equal(positions, kept_positions),
        all(map(torch.equal, before, _held(past))) if before else True,
        all(torch.equal(item, state[name]) for name, item in adapted.state_dict().items()),
        sorted(vars(adapted)) == attributes and sorted(vars(attention)) == inner,
        [module.training for module in adapted.modules()],
        sorted(name for name, item in adapted.named_parameters() if item.requires_grad),
    ]
    exact = {}
    with torch.no_grad():
        output.zero_()
        results["again"] = call()[0]
        results["other tokens"] = call(hidden_states=x.flip(1))[0]
        adapted.train(not case["training"])
        results["in the other mode"] = call()[0]
        gate.mul_(-0.5).add_(0.3)
        results["another gate"] = call()[0]
        gate.data.zero_()
        exact["no gate"] = call()[0]
        gate.data.fill_(-1.2)
        results["a gate written as data"] = call()[0]
        prompt[:, 0].mul_(-0.4)
        results["other prompts"] = call()[0]
        prompt.data.copy_(prompt.flip(1).roll(1, 2))
        results["prompts written as data"] = call()[0]
        if batch > 1:
            row = {} if positions is None else {"position_ids": positions[:1]}
            if "attention_mask" in asked:
                row["attention_mask"] = asked["attention_mask"][:1]
            results["first row"] = call(hidden_states=x[:1], **row)[0]
        if not case["eight"]:
            for item in attention.parameters():
                item.data.mul_(0.8)
            results["other weights"] = call()[0]
        if case["cache"] is not None and (case["cache"] != "limited" or "table" not in case["rotary"]):
            # Another token after those of the call before.
            past = call()[2]
            one = {"hidden_states": x[:, :1].flip(2), "past_key_value": past}
            if positions is not None:
                one["position_ids"] = positions[:, -1:] + 1
            results["another token"] = run({**kwargs, **one})[0]
    handle.remove()
    facts["each call"] = calls
    facts["kept inside"] = all(torch.equal(inside[0].detach(), copied) for _, _, inside, copied in seen)
    return _output(case, results, exact) | facts


def _output(case, results, exact):
    dtype = DTYPES[case["dtype"]]
    if dtype != torch.float64:
        return _sorted(results | exact, dtype, case["far"])
    if case["cancel"]:
        return {"cancelled": results | exact}
    # A softmax of one number is exact in float32, and one that is multiplied by zero, too.
    precise = {name: item for name, item in results.items() if case["prompt"].shape[1] == 1 or case["gate"] == 0.0}
    if case["prompt"].shape[1] > 1:
        precise = {name: item for name, item in precise.items() if name in ("output", "again", "other tokens")}
    rest = {name: item for name, item in results.items() if name not in precise}
    return {"double": precise | exact, "upcast": rest}


def _errors(case):
    from llama import Attention, Cache, Rotary
    from peft.tuners.adaption_prompt.layer import AdaptedAttention

    torch.manual_seed(1)
    attention = Attention(8, 2, 1, Rotary(4))
    adapted = AdaptedAttention("llama", 2, attention)
    called = []
    for module in attention.modules():
        module.register_forward_pre_hook(lambda module, args: called.append(type(module).__name__))
    x, cache, raised = torch.randn(1, 3, 8), Cache(), []
    for value in (True, 1, "yes", [0]):
        try:
            adapted(hidden_states=x, past_key_value=cache, output_attention=value)
            raised.append(None)
        except Exception as error:
            raised.append(isinstance(error, NotImplementedError))
    facts = {"raised": raised, "called": list(called), "held": len(cache)}
    for value in (False, None, 0, ()):
        facts[f"without an error, {value}"] = adapted(hidden_states=x, output_attention=value)[0].shape[1]
    try:
        AdaptedAttention("llama", 2, adapted)
        facts["wrapped again"] = None
    except Exception as error:
        facts["wrapped again"] = isinstance(error, AssertionError)
    try:
        adapted(x)
        facts["by position"] = None
    except Exception as error:
        facts["by position"] = isinstance(error, TypeError)
    return facts


def _model(case):
    from llama import Cache, Llama
    from peft.tuners.adaption_prompt import AdaptionPromptConfig, AdaptionPromptModel

    torch.manual_seed(2)
    model = Llama(7, 8, 4, 2, 3, "mistral")
    tokens = torch.randint(7, (2, 6))
    with torch.no_grad():
        before = model(tokens)
    adapted = AdaptionPromptModel(model, {"a": AdaptionPromptConfig(adapter_len=3, adapter_layers=2)}, "a")
    results, facts = {"start": adapted(tokens).detach() - before}, {}
    facts["trained"] = sorted(name for name, item in adapted.named_parameters() if item.requires_grad)
    with torch.no_grad():
        for name, item in adapted.named_parameters():
            if name.endswith("gate"):
                item.add_(0.9)
        results["first"] = adapted(tokens)
        adapted.add_adapter("b", AdaptionPromptConfig(adapter_len=1, adapter_layers=3))
        results["second, at the start"] = adapted(tokens)
        for name, item in adapted.named_parameters():
            if name.endswith("gate"):
                item.sub_(0.7)
        results["second"] = adapted(tokens)
        adapted.set_adapter("a")
        results["first again"] = adapted(tokens)
        adapted.disable_adapter_layers()
        results["disabled"] = adapted(tokens)
        adapted.enable_adapter_layers()
        results["enabled"] = adapted(tokens)
        cache = Cache()
        parts = [adapted(tokens[:, :4], past_key_value=cache)]
        parts += [adapted(tokens[:, place : place + 1], past_key_value=cache) for place in (4, 5)]
        results["token by token"] = torch.cat(parts, dim=1)
    loss = adapted(tokens).square().mean()
    loss.backward()
    results |= _gradients(facts, dict(adapted.named_parameters()))
    facts["parameters"] = sum(item.numel() for item in adapted.parameters())
    return _sorted(results, torch.float32) | facts


def _laid_out(item, layout):
    if layout == "transposed":
        return item.mT.contiguous().mT
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    if layout == "expanded":
        return item[:, :1].clone().expand_as(item)
    return item.clone(memory_format=torch.contiguous_format)


def _sorted(results, dtype, far=False):
    name = {2: "half", 4: "far" if far else "single", 8: "double"}[dtype.itemsize]
    if dtype == torch.float16:
        name = "finer half"
    return {name: {key: item.detach().double() for key, item in results.items()}}
