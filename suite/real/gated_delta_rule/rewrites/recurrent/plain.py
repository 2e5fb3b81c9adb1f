"""The memory decays, is corrected and is read, one step after the other."""


def naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=None, initial_state=None, output_final_state=False):
    q, k, v, beta, g = q.float(), k.float(), v.float(), beta.float(), g.float()
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    memory = q.new_zeros(*k[:, 0].shape, v.shape[-1]) if initial_state is None else initial_state.float()
    outputs = []
    for t in range(q.shape[1]):
        key = k[:, t, :, None, :]
        memory = g[:, t, :, None, None].exp() * memory
        memory = memory + beta[:, t, :, None, None] * key.mT @ (v[:, t, :, None, :] - key @ memory)
        outputs.append((scale * q[:, t, :, None, :] @ memory).squeeze(-2))
    return torch.stack(outputs, dim=1), memory if output_final_state else None
