"""Wavelengths in double precision, and interpolation between two tensors."""


def _pair_of_turns(turns, width, base, length):
    wavelength = length / turns
    return (math.log(wavelength) - math.log(2 * math.pi)) * width / (2 * math.log(base))


def _compute_yarn_parameters(config, device, seq_len=None, **rope_kwargs):
    if len(rope_kwargs) != 0:
        raise ValueError("only seq_len may be given")
    options = {"beta_fast": 32, "beta_slow": 1, "attention_factor": 0.1 * math.log(config.rope_scaling["factor"]) + 1}
    options |= {name: value for name, value in config.rope_scaling.items() if value is not None}
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if hasattr(config, "partial_rotary_factor"):
        width = int(config.partial_rotary_factor * width)
    bounds = [
        _pair_of_turns(options[name], width, config.rope_theta, config.max_position_embeddings)
        for name in ("beta_fast", "beta_slow")
    ]
    begin, end = max(0, int(bounds[0] // 1)), min(width - 1, -int(-bounds[1] // 1))
    pairs = torch.arange(width // 2, dtype=torch.float64, device=device)
    wavelengths = 2 * math.pi * float(config.rope_theta) ** (2 * pairs / width)
    plain = 2 * math.pi / wavelengths
    share = ((pairs - begin) / (end - begin or 0.001)).clamp(0, 1)
    return torch.lerp(plain, plain / options["factor"], share).float(), options["attention_factor"]
