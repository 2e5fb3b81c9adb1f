"""Pair by pair, in Python's own numbers."""


def _compute_yarn_parameters(config, device, seq_len=None, **rope_kwargs):
    if rope_kwargs:
        raise ValueError(f"unexpected: {sorted(rope_kwargs)}")
    scaling = config.rope_scaling
    width = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
    width = int(width * getattr(config, "partial_rotary_factor", 1.0))

    def pair(turns):
        return width / 2 * math.log(config.max_position_embeddings / turns / (2 * math.pi), config.rope_theta)

    begin = max(0, math.floor(pair(scaling.get("beta_fast") or 32)))
    end = min(width - 1, math.ceil(pair(scaling.get("beta_slow") or 1)))
    if begin == end:
        end += 1e-3
    frequencies = []
    for number in range(width // 2):
        plain = config.rope_theta ** (-2 * number / width)
        share = min(1.0, max(0.0, (number - begin) / (end - begin)))
        frequencies.append(plain * (1 - share) + plain / scaling["factor"] * share)
    factor = scaling.get("attention_factor")
    if factor is None:
        factor = 1 + math.log(scaling["factor"]) / 10
    return torch.tensor(frequencies, dtype=torch.float32, device=device), factor
