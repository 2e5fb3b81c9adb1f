"""Starts, query states by generation of rotary embeddings, outputs with gradients, the model, the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def pick(*values):
        return values[torch.randint(len(values), (), generator=generator).item()]

    def inputs(kind, name, **more):
        made = {
            "kind": kind,
            "name": f"{kind}, {name}",
            "heads": 4,
            "key heads": 2,
            "width": pick(4, 6, 8),
            "batch": pick(2, 3),
            "tokens": pick(3, 4, 5),
            "prompts": pick(2, 3, 5),
            "dtype": torch.float32,
            "eight": None,
            "model type": "llama",
            "bias": pick(True, False),
            "rotary": "plain",
            "original": 1000,
            "positions": pick("row", "rows"),
            "cache": None,
            "held": 0,
            "layer": pick(0, 1, 2),
            "training": pick(True, False),
            "frozen": pick(True, False),
            "gate": pick(-1.0, 1.0) * (0.3 + torch.rand((), generator=generator).item()),
            "options": {},
            **more,
        }
        if "acked" in made["model type"]:
            made["key heads"] = made["heads"]
        hidden, keys = made["heads"] * made["width"], made["key heads"] * made["width"]
        batch, tokens = made["batch"], made["tokens"]
        rows = {"q": hidden, "k": keys, "v": keys, "o": hidden}
        past = [(batch, made["key heads"], made["held"], made["width"])] * 2
        first = made["held"] + torch.randint(5, (batch,), generator=generator)
        if "table" in made["rotary"]:
            first = torch.randint(made["held"] + 1, (batch,), generator=generator)
        if made["positions"] == "row":
            first = torch.tensor([made["held"]])
        return made | {
            "projections": {name: normal(count, hidden) / hidden**0.5 for name, count in rows.items()},
            "biases": {name: normal(count) for name, count in rows.items() if name != "o"},
            "hidden": normal(batch, tokens, hidden),
            "past": [normal(*shape) for shape in past],
            "weights": normal(batch, tokens, hidden),
            "ids": None if made["positions"] is None else first[:, None] + torch.arange(tokens),
            "prompt": made.get("scale", 1.0) * normal(1, made["prompts"], hidden),
        }

    def queries(name, **more):
        return inputs("queries", name, **more)

    def forward(name, **more):
        return inputs("forward", name, **more)

    for name, heads, prompts, dtype in (("float32", 16, 128, torch.float32), ("float64", 8, 100, torch.float64)):
        yield {"kind": "start", "name": f"start, {name}", "heads": heads, "width": 16, "prompts": prompts} | {
            "dtype": dtype,
            "eight": None,
            "training": dtype == torch.float32,
        }

    for dtype in (torch.float32, torch.float64):
        yield queries(f"{dtype}", dtype=dtype, positions="rows")
        yield queries(
            f"{dtype}, positions without a cache", dtype=dtype, positions="row", rotary="stretched", original=2
        )
    # Lengths above `original` show in the angles.
    for rotary in ("plain", "plain with heads", "stretched", "stretched with heads"):
        settings = {"rotary": rotary, "original": 3, "dtype": pick(torch.float32, torch.float64)}
        yield queries(f"{rotary}, positions", **settings, positions="rows")
        yield queries(f"{rotary}, a cache", **settings, positions=None, cache="cache", held=pick(4, 6), layer=1)
    yield queries("an empty cache", positions=None, cache="cache")
    yield queries("a limited cache", positions=None, cache="limited", held=6, layer=2, rotary="stretched", original=3)
    yield queries("positions and a cache", positions="rows", cache="cache", held=4)
    for rotary in ("table", "table of four"):
        settings = {"rotary": rotary, "original": 3, "positions": "rows"}
        yield queries(f"{rotary}, no cache", **settings)
        yield queries(f"{rotary}, a tuple", **settings, cache="tuple", held=pick(4, 5))
        yield queries(f"{rotary}, a cache", **settings, cache="cache", held=pick(4, 5), layer=1)
    yield queries("a packed layer", **{"model type": "packed"})

    for dtype in (torch.float32, torch.float64):
        yield forward(f"{dtype}", dtype=dtype, frozen=False)
        yield forward(f"{dtype}, a closed gate", dtype=dtype, gate=0.0)
        yield forward(f"{dtype}, shared key heads", dtype=dtype, heads=6, frozen=False)
        yield forward(f"{dtype}, large scores", dtype=dtype, scale=40.0, prompts=5)
    yield forward("one key head", dtype=pick(torch.float32, torch.float64), **{"key heads": 1})
    yield forward("packed", dtype=pick(torch.float32, torch.float64), **{"model type": "packed"})
    yield forward("a gate beyond one", gate=2.5)
    yield forward("a negative gate", gate=-1.7)
    yield forward("a small gate", gate=0.02)
    yield forward("one prompt token", prompts=1)
    yield forward("one token", tokens=1, batch=1)
    yield forward("as many tokens as prompts and heads", tokens=4, prompts=4, heads=4, batch=4)
    yield forward("many prompt tokens", prompts=60)
    yield forward("a mask", options={"attention_mask": True, "use_cache": True}, batch=3)
    yield forward("the module's weights", options={"output_attentions": True})
    yield forward("one layer by two names", **{"model type": "other"})
    yield forward("another packed layer", **{"model type": "other packed"})
    for rotary in ("plain with heads", "stretched", "table"):
        yield forward(f"{rotary}, no cache", rotary=rotary)
        cache = pick("tuple", "cache")
        yield forward(f"{rotary}, a {cache}", rotary=rotary, cache=cache, held=4, layer=1)
    for number in range(6):
        chosen = {
            "heads": pick(4, 8),
            "dtype": pick(torch.float32, torch.float64),
            "rotary": pick("plain", "plain with heads", "stretched", "table", "table of four"),
            "cache": pick(None, "tuple", "cache"),
            "model type": pick("llama", "mistral", "packed", "other"),
        }
        yield forward(f"combination {number}", **chosen, held=3 if chosen["cache"] else 0)
    yield {"kind": "model", "name": "model", "seed": seed % 1000}
    yield {"kind": "experiment", "name": "experiment", "seed": seed % 1000}

    for dtype in (torch.int8, torch.uint8):
        start = {"kind": "start", "heads": 16, "width": 16, "prompts": 128, "dtype": torch.float32, "eight": dtype}
        yield start | {"name": f"start, {dtype}", "training": dtype == torch.uint8, "edge": True}
    yield queries("float16", dtype=torch.float16) | {"edge": True}
    for dtype in (torch.bfloat16, torch.float16):
        yield forward(f"{dtype}", dtype=dtype, scale=0.5) | {"edge": True}
    yield forward("eight bits", dtype=torch.bfloat16, eight=torch.int8, frozen=True) | {"edge": True}
    yield {"kind": "twice", "name": "wrapped twice", "edge": True}


def observe(case):
    if case["kind"] == "experiment":
        from experiment import run

        return {"experiment": run(case["seed"])}
    made = {"start": _start, "queries": _queries, "forward": _forward, "twice": _twice, "model": _model}
    return made[case["kind"]](case)


def _start(case):
    from llama import Attention, EightBitLinear, Rotary
    from peft.tuners.adaption_prompt.layer import AdaptedAttention

    hidden = case["heads"] * case["width"]
    attention = Attention(hidden, case["heads"], case["heads"], Rotary(case["width"])).to(case["dtype"])
    if case["eight"]:
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(attention, name, EightBitLinear(getattr(attention, name), case["eight"]))
    attention.train(case["training"])
    adapted = AdaptedAttention(model_type="llama", adapter_len=case["prompts"], model=attention)
    own = sorted(adapted.named_parameters(recurse=False))
    numbers = adapted.adaption_prompt.detach().double()
    return {
        "own": [[name, str(item.dtype), list(item.shape), item.requires_grad] for name, item in own],
        "kept": [adapted.model is attention, adapted.model_type, adapted.adapter_len],
        "wrapped": _state(attention),
        "gate": adapted.adaption_gate.detach(),
        # Normal numbers may be drawn in any way. Fourth powers tell them from uniform ones.
        "moments": [numbers.mean().item(), numbers.square().mean().item(), numbers.pow(4).mean().item() / 3],
    }


def _state(module):
    """The modes of a module and its parts, and what its parameters are."""
    parameters = [[name, str(item.dtype), item.requires_grad] for name, item in module.named_parameters()]
    return [[part.training for part in module.modules()], parameters]


def _attention(case):
    from llama import Attention, EightBitLinear, PackedAttention, Rotary, StretchedRotary, TableRotary

    kind, width, original = case["rotary"], case["width"], case["original"]
    if kind.startswith("plain"):
        rotary = Rotary(width, heads_axis="heads" in kind)
    elif kind.startswith("stretched"):
        rotary = StretchedRotary(width, original, heads_axis="heads" in kind)
    else:
        rotary = TableRotary(width, original, four_axes="four" in kind)
    hidden, projections, biases = case["heads"] * width, case["projections"], case["biases"]
    if "packed" in case["model type"]:
        attention = PackedAttention(hidden, case["heads"], rotary, case["layer"], case["bias"])
        projections = {"qkv": torch.cat([projections[name] for name in "qkv"])}
        biases = {"qkv": torch.cat([biases[name] for name in "qkv"])}
    else:
        attention = Attention(hidden, case["heads"], case["key heads"], rotary, case["layer"], case["bias"])
    attention.to(case["dtype"])
    with torch.no_grad():
        for name, weight in projections.items():
            layer = getattr(attention, f"{name}_proj")
            layer.weight.copy_(weight)
            if layer.bias is not None:
                layer.bias.copy_(biases[name])
            if case["eight"]:
                setattr(attention, f"{name}_proj", EightBitLinear(layer, case["eight"]))
    if case["model type"] == "other packed":
        attention.mixed = torch.nn.Linear(hidden, 3 * hidden, dtype=case["dtype"])
        with torch.no_grad():
            attention.mixed.weight.copy_(projections["qkv"].flip(0))
            attention.mixed.bias.copy_(biases["qkv"])
    return attention.requires_grad_(not case["frozen"]).train(case["training"])


def _named(case, hidden):
    """The keyword arguments of a call."""
    from llama import Cache

    named = {"hidden_states": hidden, "position_ids": case["ids"], **case["options"]}
    if case["options"].get("attention_mask"):
        # All but the first row ignore their first token.
        batch, tokens = hidden.shape[:2]
        mask = torch.full((tokens, tokens), -1e4, dtype=hidden.dtype).triu(1).repeat(batch, 1, 1, 1)
        mask[1:, :, 1:, 0] = -1e4
        named["attention_mask"] = mask
    past = [item.to(hidden.dtype) for item in case["past"]]
    if case["cache"] == "tuple":
        named["past_key_value"] = tuple(past)
    elif case["cache"]:
        cache = Cache(limit=case["held"] + 1 if case["cache"] == "limited" else None)
        if case["held"]:
            for layer in range(3):
                # The other layers hold one token more.
                longer = [torch.cat([item, item[:, :, :1]], dim=2) for item in past]
                cache.update(*(past if layer == case["layer"] else longer), layer)
        named["past_key_value"] = cache
    return named


def _queries(case):
    from peft.tuners.adaption_prompt.utils import llama_compute_query_states

    attention = _attention(case)
    hidden = case["hidden"].to(case["dtype"]).requires_grad_()
    output = llama_compute_query_states(attention, **_named(case, hidden))
    facts = {"output": [str(output.dtype), list(output.shape)], "model": _state(attention)}
    if case["dtype"].itemsize == 2:
        return facts | {"finite": output.isfinite().all().item()}
    wave = case["weights"].unflatten(2, (-1, case["width"])).movedim(2, 1).to(case["dtype"])
    (output * wave).sum().backward()
    gradients = {name: item.grad for name, item in attention.named_parameters() if item.grad is not None}
    return facts | {"values" if case["dtype"] == torch.float32 else "double": [output, hidden.grad, gradients]}


def _forward(case):
    import llama  # noqa: F401  # brings the entry of packed layers
    from peft.tuners.adaption_prompt.config import TRANSFORMERS_MODEL_CONFIG, ModelTypeConfig
    from peft.tuners.adaption_prompt.layer import AdaptedAttention

    def compute(*, model, hidden_states, **kwargs):
        return model.q_proj(hidden_states.flip(1)).unflatten(2, (-1, model.head_dim)).movedim(2, 1)

    TRANSFORMERS_MODEL_CONFIG["other"] = ModelTypeConfig(compute, "self_attn", "v_proj", "k_proj", None)
    TRANSFORMERS_MODEL_CONFIG["other packed"] = ModelTypeConfig(compute, "self_attn", "mixed", "mixed", "q_proj")
    attention = _attention(case)
    adapted = AdaptedAttention(case["model type"], case["prompts"], attention)
    with torch.no_grad():
        adapted.adaption_prompt.copy_(case["prompt"])
        adapted.adaption_gate.fill_(case["gate"])
    adapted.train(case["training"])
    hidden = case["hidden"].to(case["dtype"]).requires_grad_()
    returned = adapted(**_named(case, hidden))
    output, second, past = returned
    facts = {"output": [str(output.dtype), list(output.shape)], "second": second, "wrapped": _state(attention)}
    facts["past"] = None
    if past is not None:
        facts["past"] = [list(item.shape) for item in (past if isinstance(past, tuple) else past.held[case["layer"]])]
    if case["dtype"].itemsize == 2 or case["eight"]:
        return facts | {"finite": output.isfinite().all().item()}
    (output * case["weights"].to(case["dtype"])).sum().backward()
    gradients = {name: item.grad for name, item in adapted.named_parameters() if item.grad is not None}
    values = [output, hidden.grad, gradients]
    # Settings are read at each call.
    with torch.no_grad():
        adapted.adaption_gate.data.mul_(-0.5).add_(0.3)
        adapted.adaption_prompt.data.copy_(adapted.adaption_prompt.flip(1).roll(1, 2))
        values.append(adapted(**_named(case, hidden))[0])
    if "scale" in case:
        return facts | {"far": values}
    return facts | {"values" if case["dtype"] == torch.float32 else "finer": values}


def _twice(case):
    from llama import Attention, Rotary
    from peft.tuners.adaption_prompt.layer import AdaptedAttention

    adapted = AdaptedAttention("llama", 2, Attention(8, 2, 1, Rotary(4)))
    try:
        AdaptedAttention("llama", 2, adapted)
        return {"raised": None}
    except Exception as error:
        return {"raised": isinstance(error, AssertionError)}


def _model(case):
    from llama import Cache, Llama
    from peft.tuners.adaption_prompt import AdaptionPromptConfig, AdaptionPromptModel

    torch.manual_seed(case["seed"])
    model = Llama(7, 8, 4, 2, 3, "mistral")
    tokens = torch.randint(7, (2, 6))
    with torch.no_grad():
        before = model(tokens)
    adapted = AdaptionPromptModel(model, {"a": AdaptionPromptConfig(adapter_len=3, adapter_layers=2)}, "a")
    own = {name: item for name, item in sorted(adapted.named_parameters()) if item.requires_grad}
    values = {"start": adapted(tokens).detach() - before}
    generator = torch.Generator().manual_seed(case["seed"])
    with torch.no_grad():
        for item in own.values():
            item.copy_(torch.randn(item.shape, generator=generator))
        values["prompted"] = adapted(tokens)
        cache = Cache()
        parts = [adapted(tokens[:, :4], past_key_value=cache)]
        parts += [adapted(tokens[:, place : place + 1], past_key_value=cache) for place in (4, 5)]
        values["token by token"] = torch.cat(parts, dim=1)
    adapted(tokens).square().mean().backward()
    return {"values": values | {name: item.grad for name, item in own.items()}, "trained": sorted(own)}
