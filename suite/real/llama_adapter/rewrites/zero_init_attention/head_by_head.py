"""Goes through the heads one by one, takes the softmax by hand, and turns queries as complex numbers."""


def llama_compute_query_states(model, **kwargs):
    x, given, past = (kwargs.get(name) for name in ("hidden_states", "position_ids", "past_key_value"))
    tokens = x.shape[1]
    names = inspect.signature(model.rotary_emb.forward).parameters
    arguments = {}
    if "position_ids" in names:
        held = 0
        if given is None:
            start = tokens
            if past is not None:
                start = held = past.get_usable_length(tokens, model.layer_idx)
            given = torch.tensor([[start + place for place in range(tokens)]])
        arguments["position_ids"] = given
        if "seq_len" in names:
            arguments["seq_len"] = tokens + held
    else:
        held = 0
        if isinstance(past, tuple):
            held = past[0].shape[2]
        elif past is not None:
            held = past.get_seq_length(model.layer_idx)
        arguments["seq_len"] = tokens + held
    cos, sin = model.rotary_emb(x, **arguments)
    cos, sin = (wave.reshape(-1, wave.shape[-2], wave.shape[-1]) for wave in (cos, sin))
    if "position_ids" not in names:
        cos, sin = cos[0][given], sin[0][given]
    half = model.head_dim // 2
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    wave = torch.complex(cos[..., :half].to(wide), sin[..., :half].to(wide))
    heads = []
    for query in model.q_proj(x).split(model.head_dim, dim=-1):
        turned = torch.complex(query[..., :half].to(wide), query[..., half:].to(wide)) * wave
        heads.append(torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype))
    return torch.stack(heads, dim=1)


class AdaptedAttention:
    def __init__(self, model_type, adapter_len, model):
        assert not isinstance(model, AdaptedAttention)
        super().__init__()
        self.model_type = model_type
        self.adapter_len = adapter_len
        self.model = model
        kept = model.q_proj.weight.dtype
        dtype = torch.float32 if kept.itemsize == 1 else kept
        prompt = torch.zeros(1, adapter_len, model.hidden_size, dtype=dtype)
        self.register_parameter("adaption_prompt", nn.Parameter(nn.init.normal_(prompt)))
        self.register_parameter("adaption_gate", nn.Parameter(torch.tensor([0.0], dtype=dtype)))

    def forward(self, **kwargs):
        if "output_attention" in kwargs and bool(kwargs["output_attention"]):
            raise NotImplementedError("weights are not handed out")
        model = self.model
        inside = model(**kwargs)
        function, _, key_name, value_name, output_name = TRANSFORMERS_MODEL_CONFIG[self.model_type]
        query = function(model=model, **kwargs)
        width = model.head_dim
        key = getattr(model, key_name)(self.adaption_prompt)[0]
        if key_name == value_name:
            key, value = key[:, model.hidden_size : 2 * model.hidden_size], key[:, 2 * model.hidden_size :]
        else:
            value = getattr(model, value_name)(self.adaption_prompt)[0]
        shared = model.k_proj.in_features // model.k_proj.out_features
        outputs = []
        for head in range(model.num_heads):
            first = head // shared * width
            head_key, head_value = (item[:, first : first + width] for item in (key, value))
            scores = (query[:, head] @ head_key.T.to(query.dtype)) * (1 / math.sqrt(width))
            scores = scores.float()
            raised = (scores - scores.amax(dim=-1, keepdim=True).detach()).exp()
            weights = (raised / raised.sum(dim=-1, keepdim=True)).to(head_value.dtype)
            outputs.append(self.adaption_gate * (weights @ head_value))
        added = torch.cat(outputs, dim=-1)
        if output_name is not None:
            added = getattr(model, output_name)(added)
        return torch.add(inside[0], added).to(query.dtype), None, inside[2]
