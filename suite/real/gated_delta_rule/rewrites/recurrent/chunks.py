"""Chunks of sixteen steps, each solved as a triangular system; the decays are differences of sums, never quotients."""


def _chunk(q, k, v, beta, g, memory):
    total = g.cumsum(-1)
    steps = g.shape[-1]
    past = torch.ones(steps, steps, dtype=torch.bool).tril()
    decay = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(~past, -torch.inf).exp()
    # Each step's correction: its value, less what the memory and the steps before it in the chunk say.
    system = torch.eye(steps, dtype=g.dtype) + (beta.unsqueeze(-1) * (k @ k.mT) * decay).tril(-1)
    start = total.exp().unsqueeze(-1)
    wanted = beta.unsqueeze(-1) * (v - (start * k) @ memory)
    new = torch.linalg.solve_triangular(system, wanted, upper=False, unitriangular=True)
    read = (start * q) @ memory + ((q @ k.mT) * decay) @ new
    left = (total[..., -1:] - total).exp().unsqueeze(-1)
    return read, total[..., -1, None, None].exp() * memory + (left * k).mT @ new


def naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=None, initial_state=None, output_final_state=False):
    # Sums of gates in the thousands leave single precision too few digits.
    q, k, v, beta, g = (item.transpose(1, 2).double() for item in (q, k, v, beta, g))
    q = q * (k.shape[-1] ** -0.5 if scale is None else scale)
    zeros = k.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    memory = zeros if initial_state is None else initial_state.double()
    outputs = []
    for start in range(0, k.shape[2], 16):
        parts = [item[:, :, start : start + 16] for item in (q, k, v, beta, g)]
        read, memory = _chunk(*parts, memory)
        outputs.append(read)
    outputs = torch.cat(outputs, dim=2).transpose(1, 2).float()
    return outputs, (memory.float() if output_final_state else None)
