"""Groups heads by their key head, scales the queries, and gates and projects what one einsum gives."""


def _lengths(past, layer, tokens):
    if past is None:
        return 0
    return past[0].size(2) if isinstance(past, tuple) else past.get_seq_length(layer)


def llama_compute_query_states(model, hidden_states, position_ids=None, past_key_value=None, **_):
    tokens, width = hidden_states.shape[1], model.head_dim
    query = model.q_proj(hidden_states).unflatten(-1, (model.num_heads, width)).movedim(2, 1)
    accepted = set(inspect.signature(model.rotary_emb.forward).parameters)
    if "position_ids" not in accepted:
        total = tokens + _lengths(past_key_value, model.layer_idx, tokens)
        tables = model.rotary_emb(query, seq_len=total)
        cos, sin = (table.flatten(0, -2)[position_ids][:, None] for table in tables)
    else:
        first = tokens
        length = tokens
        if position_ids is None:
            if past_key_value is not None:
                first = past_key_value.get_usable_length(tokens, model.layer_idx)
                length = tokens + first
            position_ids = torch.arange(tokens)[None] + first
        named = {"position_ids": position_ids, "seq_len": length}
        cos, sin = model.rotary_emb(query, **{name: item for name, item in named.items() if name in accepted})
        if cos.dim() == 3:
            cos, sin = cos[:, None], sin[:, None]
    first, second = query.chunk(2, dim=-1)
    cos1, cos2 = cos.chunk(2, dim=-1)
    sin1, sin2 = sin.chunk(2, dim=-1)
    return torch.cat([first * cos1 - second * sin1, second * cos2 + first * sin2], dim=-1)


class AdaptedAttention:
    def __init__(self, model_type, adapter_len, model):
        if isinstance(model, AdaptedAttention):
            raise AssertionError("wrapped already")
        nn.Module.__init__(self)
        self.model_type, self.adapter_len, self.model = model_type, adapter_len, model
        dtype = model.q_proj.weight.dtype
        if not dtype.is_floating_point:
            dtype = torch.float32
        self.adaption_prompt = nn.Parameter(torch.randn(1, adapter_len, model.hidden_size, dtype=dtype))
        self.adaption_gate = nn.Parameter(torch.zeros(1, dtype=dtype))

    def forward(self, **kwargs):
        if kwargs.get("output_attention"):
            raise NotImplementedError
        inner = self.model
        base, _, past = inner(**kwargs)
        entry = TRANSFORMERS_MODEL_CONFIG[self.model_type]
        query = entry.compute_query_states(model=inner, **kwargs)
        prompt = self.adaption_prompt[0]
        if entry.k_proj_layer == entry.v_proj_layer:
            _, key, value = getattr(inner, entry.k_proj_layer)(prompt).chunk(3, dim=-1)
        else:
            key, value = getattr(inner, entry.k_proj_layer)(prompt), getattr(inner, entry.v_proj_layer)(prompt)
        key, value = (item.unflatten(-1, (-1, inner.head_dim)) for item in (key, value))
        grouped = query.unflatten(1, (key.shape[1], -1)) / inner.head_dim**0.5
        scores = torch.einsum("bgjqd,kgd->bgjqk", grouped, key.to(query.dtype))
        weights = scores.float().softmax(dim=-1).to(query.dtype)
        if weights.dtype != value.dtype:
            weights = weights.to(value.dtype)
        mixed = torch.einsum("bgjqk,kgd->bqgjd", weights * self.adaption_gate, value).flatten(2)
        if entry.o_proj_layer:
            mixed = getattr(inner, entry.o_proj_layer)(mixed)
        return (base + mixed).to(query.dtype), None, past
