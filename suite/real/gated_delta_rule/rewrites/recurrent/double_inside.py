"""The same recurrence in double precision, with matrix products, rounded once at the end."""


def naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=None, initial_state=None, output_final_state=False):
    q, k, v, beta, g = (item.double() for item in (q, k, v, beta, g))
    rows, steps, heads, width = k.shape
    if scale is None:
        scale = width**-0.5
    memory = k.new_zeros(rows, heads, width, v.shape[-1]) if initial_state is None else initial_state.double()
    outputs = []
    for step in range(steps):
        memory = g[:, step, :, None, None].exp() * memory
        key = k[:, step].unsqueeze(-2)
        wrong = v[:, step].unsqueeze(-2) - key @ memory
        memory = memory + key.transpose(-1, -2) @ (beta[:, step, :, None, None] * wrong)
        outputs.append(scale * (q[:, step].unsqueeze(-2) @ memory).squeeze(-2))
    return torch.stack(outputs, dim=1).float(), memory.float() if output_final_state else None
