"""Three pieces put together: pairs that are left, pairs on the ramp, pairs that are interpolated."""


def _compute_yarn_parameters(config, device, seq_len=None, **rope_kwargs):
    if any(True for _ in rope_kwargs):
        raise ValueError(", ".join(rope_kwargs))
    scaling = config.rope_scaling
    base, length, factor = float(config.rope_theta), config.max_position_embeddings, scaling["factor"]
    width = int(
        getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        * getattr(config, "partial_rotary_factor", 1)
    )
    fast = 32 if scaling.get("beta_fast") is None else scaling["beta_fast"]
    slow = 1 if scaling.get("beta_slow") is None else scaling["beta_slow"]
    low, high = (width * math.log(length / (2 * math.pi * turns)) / math.log(base) / 2 for turns in (fast, slow))
    low, high = max(math.floor(low), 0), min(math.ceil(high), width - 1)
    steep = 1 / (high - low) if high != low else 1000
    plain = torch.exp(-math.log(base) / (width / 2) * torch.arange(width // 2).double())
    left, ramp, rest = plain[: low + 1], plain[low + 1 : max(high, low + 1)], plain[max(high, low + 1) :]
    shares = steep * torch.arange(1, len(ramp) + 1).double()
    whole = torch.cat([left, ramp * (1 - shares) + ramp / factor * shares, rest / factor])
    attention = scaling.get("attention_factor", None)
    return whole.to(device, torch.float32), 0.1 * math.log(factor) + 1.0 if attention is None else attention
