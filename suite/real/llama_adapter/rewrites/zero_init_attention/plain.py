"""The summary's formulas, head by head repeated, without regard to half precision or layers of eight bits."""


def llama_compute_query_states(model, **kwargs):
    x, position_ids, past = (kwargs.get(name) for name in ("hidden_states", "position_ids", "past_key_value"))
    tokens = x.shape[1]
    query = model.q_proj(x).unflatten(2, (model.num_heads, model.head_dim)).transpose(1, 2)
    names = inspect.signature(model.rotary_emb.forward).parameters
    if "position_ids" not in names:
        held = 0
        if past is not None:
            held = past[0].shape[2] if isinstance(past, tuple) else past.get_seq_length(model.layer_idx)
        return llama_apply_rotary_pos_emb(query, *model.rotary_emb(query, seq_len=tokens + held), position_ids)
    held = 0
    if position_ids is None:
        held = past.get_usable_length(tokens, model.layer_idx)
        position_ids = torch.arange(held, held + tokens)[None]
    lengths = {"seq_len": tokens + held} if "seq_len" in names else {}
    cos, sin = model.rotary_emb(query, position_ids=position_ids, **lengths)
    if cos.dim() == 3:
        cos, sin = cos[:, None], sin[:, None]
    return query * cos + llama_rotate_half(query) * sin


class AdaptedAttention:
    def __init__(self, model_type, adapter_len, model):
        super().__init__()
        self.model_type, self.adapter_len, self.model = model_type, adapter_len, model
        dtype = model.q_proj.weight.dtype
        self.adaption_prompt = nn.Parameter(torch.randn(1, adapter_len, model.hidden_size).to(dtype))
        self.adaption_gate = nn.Parameter(torch.zeros(1, dtype=dtype))

    def forward(self, **kwargs):
        model = self.model
        output, _, past = model(**kwargs)
        config = TRANSFORMERS_MODEL_CONFIG[self.model_type]
        query = config.compute_query_states(model=model, **kwargs)
        key = getattr(model, config.k_proj_layer)(self.adaption_prompt)
        value = getattr(model, config.v_proj_layer)(self.adaption_prompt)
        if config.k_proj_layer == config.v_proj_layer:
            _, key, value = key.chunk(3, dim=2)
        shared = model.k_proj.in_features // model.k_proj.out_features
        key, value = (
            item.unflatten(2, (-1, model.head_dim)).transpose(1, 2).repeat_interleave(shared, 1)
            for item in (key, value)
        )
        weights = (query @ key.mT / math.sqrt(model.head_dim)).softmax(-1, dtype=torch.float32).to(value.dtype)
        added = (self.adaption_gate * weights @ value).transpose(1, 2).flatten(2)
        if config.o_proj_layer is not None:
            added = getattr(model, config.o_proj_layer)(added)
        return output + added, None, past
