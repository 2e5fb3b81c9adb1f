"""One head after the other, with the memory transposed, as the paper has it, and its steps written out."""

import math


def _one(q, k, v, beta, g, memory):
    outputs = []
    for query, key, value, strength, gate in zip(*(item.unbind(1) for item in (q, k, v, beta, g))):
        memory = memory * torch.exp(gate).view(-1, 1, 1)
        error = torch.bmm(memory, key.unsqueeze(2)).squeeze(2) - value
        memory = memory - torch.bmm((strength.unsqueeze(1) * error).unsqueeze(2), key.unsqueeze(1))
        outputs.append(torch.bmm(memory, query.unsqueeze(2)).squeeze(2))
    return torch.stack(outputs, dim=1), memory


def naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=None, initial_state=None, output_final_state=False):
    kind = torch.float32
    factor = 1 / math.sqrt(k.size(3)) if scale is None else scale
    out, memories = [], []
    for head in range(k.size(2)):
        parts = [item[:, :, head].to(kind) for item in (q, k, v, beta, g)]
        if initial_state is None:
            memory = torch.zeros(k.size(0), v.size(3), k.size(3))
        else:
            memory = initial_state[:, head].to(kind).mT
        read, memory = _one(*parts, memory)
        out.append(factor * read)
        memories.append(memory.mT)
    return torch.stack(out, dim=2), torch.stack(memories, dim=1) if output_final_state else None
