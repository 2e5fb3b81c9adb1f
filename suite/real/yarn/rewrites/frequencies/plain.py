"""The ramp over the pairs, as the summary has it."""


def _compute_yarn_parameters(config, device, seq_len=None, **rope_kwargs):
    scaling, factor = config.rope_scaling, config.rope_scaling["factor"]
    width = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
    width = int(width * getattr(config, "partial_rotary_factor", 1))

    def pair(turns):
        return (
            width * math.log(config.max_position_embeddings / (2 * math.pi * turns)) / (2 * math.log(config.rope_theta))
        )

    begin = max(math.floor(pair(scaling.get("beta_fast") or 32)), 0)
    end = min(math.ceil(pair(scaling.get("beta_slow") or 1)), width - 1)
    pairs = torch.arange(width // 2, device=device)
    plain = config.rope_theta ** (-2 * pairs / width)
    share = ((pairs - begin) / (end - begin)).clamp(0, 1)
    attention = scaling.get("attention_factor") or 0.1 * math.log(factor) + 1
    return plain * (1 - share) + plain / factor * share, attention
