"""Each step as a matrix that the memory is multiplied by, and a matrix that is added."""

import math


def naive_recurrent_precond_kda(
    q,
    k,
    v,
    g,
    g_atk,
    beta_atk,
    beta,
    scale=None,
    initial_state=None,
    initial_A_state=None,
    output_final_state=False,
    x=1.5,
    eps=1e-6,
    log_atk_scale=None,
):
    lanes = [item.float().transpose(1, 2) for item in (q, k, v, g, g_atk, beta_atk, beta)]
    queries, keys, values, decays, kept, rates, strengths = lanes
    rows, heads, steps, width = keys.shape
    memory = keys.new_zeros(rows, heads, width, values.shape[-1])
    curvature = keys.new_zeros(rows, heads, width)
    if initial_state is not None:
        memory = memory + initial_state.float()
    if initial_A_state is not None:
        curvature = curvature + initial_A_state.float()
    centre = -0.2 if log_atk_scale is None else log_atk_scale
    if not isinstance(centre, (int, float)):
        centre = centre.float().unsqueeze(-1)
    identity = torch.eye(width)
    outputs = []
    for t in range(steps):
        key = keys[..., t, :]
        curvature = (
            torch.lerp(torch.zeros_like(key), curvature, kept[..., t, None].exp()) + rates[..., t, None] * key * key
        )
        distance = torch.log(curvature + eps) - centre
        factor = (-math.log(x) * distance / (distance.abs() + 1)).exp()
        written = (strengths[..., t, None] * key * factor).unsqueeze(-1)
        turn = (identity - written @ key.unsqueeze(-2)) * decays[..., t, None, :].exp()
        memory = turn @ memory + written @ values[..., t, None, :]
        outputs.append(queries[..., t, None, :] @ memory)
    factor = 1 / math.sqrt(width) if scale is None else scale
    outputs = factor * torch.cat(outputs, dim=-2).transpose(1, 2) if outputs else torch.zeros(v.shape)
    outputs = outputs.type(v.dtype)
    return (outputs, memory, curvature) if output_final_state else (outputs, None, None)
