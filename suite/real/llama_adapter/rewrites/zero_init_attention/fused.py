"""Uses torch's own attention over the prompts, in single precision or wider, and gates what it gives."""


def _waves(model, like, position_ids, past, tokens):
    rotary = model.rotary_emb
    names = [name for name in ("position_ids", "seq_len") if name in inspect.signature(rotary.forward).parameters]
    if names == ["seq_len"]:
        if past is None:
            seen = 0
        elif type(past) is tuple:
            seen = past[1].shape[-2]
        else:
            seen = past.get_seq_length(model.layer_idx)
        waves = rotary(like, seq_len=seen + tokens)
        return [wave.view(seen + tokens, model.head_dim)[position_ids].unsqueeze(1) for wave in waves]
    seen = 0
    if position_ids is None:
        if past is None:
            position_ids = torch.arange(tokens, 2 * tokens).view(1, tokens)
        else:
            seen = past.get_usable_length(tokens, model.layer_idx)
            position_ids = torch.arange(seen, seen + tokens).view(1, tokens)
    values = {"position_ids": position_ids, "seq_len": tokens + seen}
    waves = rotary(like, **{name: values[name] for name in names})
    return [wave if wave.ndim == 4 else wave.unsqueeze(1) for wave in waves]


def llama_compute_query_states(model, **kwargs):
    x = kwargs["hidden_states"]
    rows, tokens, _ = x.shape
    query = model.q_proj(x).reshape(rows, tokens, model.num_heads, model.head_dim).permute(0, 2, 1, 3)
    cos, sin = _waves(model, query, kwargs.get("position_ids"), kwargs.get("past_key_value"), tokens)
    half = model.head_dim // 2
    signs = torch.cat([-torch.ones(half, dtype=x.dtype), torch.ones(half, dtype=x.dtype)])
    return torch.addcmul(query * cos, torch.roll(query, half, dims=3) * signs, sin)


def _parts(adapted, entry):
    prompt, model = adapted.adaption_prompt, adapted.model
    if entry.k_proj_layer == entry.v_proj_layer:
        both = getattr(model, entry.k_proj_layer)(prompt).tensor_split(3, dim=2)[1:]
    else:
        both = [getattr(model, name)(prompt) for name in (entry.k_proj_layer, entry.v_proj_layer)]
    shared = model.num_heads // (both[0].shape[2] // model.head_dim)
    for item in both:
        heads = item.view(1, adapted.adapter_len, -1, 1, model.head_dim).expand(-1, -1, -1, shared, -1)
        yield heads.flatten(2, 3).transpose(1, 2)


class AdaptedAttention:
    def __init__(self, model_type, adapter_len, model):
        assert not isinstance(model, AdaptedAttention), "an adapted attention"
        super().__init__()
        self.model = model
        self.model_type = model_type
        self.adapter_len = adapter_len
        dtype = model.q_proj.weight.dtype
        dtype = {torch.int8: torch.float32, torch.uint8: torch.float32}.get(dtype, dtype)
        self.adaption_gate = nn.Parameter(torch.zeros((1,), dtype=dtype))
        self.adaption_prompt = nn.Parameter(torch.normal(0.0, 1.0, (1, adapter_len, model.hidden_size), dtype=dtype))

    def forward(self, **kwargs):
        if kwargs.get("output_attention"):
            raise NotImplementedError("output_attention")
        output, _, cache = self.model(**kwargs)
        entry = TRANSFORMERS_MODEL_CONFIG[self.model_type]
        query = entry.compute_query_states(model=self.model, **kwargs)
        wide = torch.promote_types(query.dtype, torch.float32)
        key, value = (item.to(wide).expand(len(query), -1, -1, -1) for item in _parts(self, entry))
        mixed = F.scaled_dot_product_attention(query.to(wide), key, value)
        mixed = self.adaption_gate * mixed.transpose(1, 2).flatten(2).to(self.adaption_prompt.dtype)
        if entry.o_proj_layer is not None:
            mixed = getattr(self.model, entry.o_proj_layer)(mixed)
        return (output + mixed).to(query.dtype), None, cache
