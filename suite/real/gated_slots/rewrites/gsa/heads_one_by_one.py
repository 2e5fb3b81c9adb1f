"""Plain loops over rows and query heads in double precision, both memories in one pass, slots first."""


def naive_recurrent_gsa(q, k, v, s, g=None, scale=None, initial_state=None, output_final_state=False):
    batch, length, heads, width = q.shape
    memories = k.shape[2]
    scale = 1 / math.sqrt(width) if scale is None else scale
    outputs, finals = [], []
    for row in range(batch):
        for head in range(heads):
            own = head // (heads // memories)
            queries = q[row, :, head].double()
            keys, values, strengths = (item[row, :, own].double() for item in (k, v, s))
            if initial_state is None:
                first = keys.new_zeros(s.shape[-1], width)
                second = keys.new_zeros(s.shape[-1], v.shape[-1])
            else:
                first = initial_state[0][row, own].double().T
                second = initial_state[1][row, own].double()
            total = strengths[0]
            for step in range(length):
                if g is not None:
                    gate, strength = g[row, step, own].double().exp(), strengths[step]
                else:
                    later = total if step == 0 else torch.logaddexp(total, strengths[step])
                    gate, strength = (total - later).exp(), (strengths[step] - later).exp()
                    total = later
                first = torch.diag(gate) @ first + torch.outer(strength, keys[step])
                second = torch.diag(gate) @ second + torch.outer(strength, values[step])
                read = torch.softmax(first @ queries[step] * scale, 0)
                outputs.append(read @ second)
            if head % (heads // memories) == 0:
                finals.append((first.T.float(), second.float()))
    output = torch.stack(outputs).reshape(batch, heads, length, -1).transpose(1, 2).to(q.dtype)
    if not output_final_state:
        return output, None
    return output, tuple(torch.stack(item).unflatten(0, (batch, memories)) for item in zip(*finals))


import math  # noqa: E402
