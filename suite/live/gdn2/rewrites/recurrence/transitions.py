"""Every step as one matrix that the memory is multiplied by, and one that is added; heads before steps."""

import math


def naive_recurrent_gdn2(q, k, v, g, b, w, scale=None, initial_state=None, output_final_state=False):
    q, k, v, g, b, w = (item.to(torch.float32).transpose(1, 2) for item in (q, k, v, g, b, w))
    width = k.shape[-1]
    turns = (torch.eye(width) - k.unsqueeze(-1) @ (b * k).unsqueeze(-2)) * g.exp().unsqueeze(-2)
    added = k.unsqueeze(-1) @ (w * v).unsqueeze(-2)
    memory = added.new_zeros(*k.shape[:2], width, v.shape[-1])
    if initial_state is not None:
        memory = memory + initial_state
    memory, memories = memory.float(), []
    for turn, new in zip(turns.unbind(2), added.unbind(2)):
        memory = turn @ memory + new
        memories.append(memory)
    outputs = torch.zeros_like(v)
    if memories:
        factor = 1 / math.sqrt(width) if scale is None else scale
        outputs = factor * torch.einsum("bhtk,tbhkv->bhtv", q, torch.stack(memories))
    return outputs.transpose(1, 2), (memory if output_final_state else None)
