"""Chunks of twelve steps: what each step asks is solved for as a triangular system, decays are differences of sums."""


def _weights(left, right, log, keep):
    """Sums over channels of left times right, decayed by the exponentials of log, where keep says so."""
    return torch.einsum(
        "...ic,...jc,...ijc->...ij", left, right, log.masked_fill(~keep.unsqueeze(-1), -torch.inf).exp()
    )


def _chunk(q, k, v, alpha, beta, gk, state):
    total = gk.cumsum(-2)
    before = total - gk
    steps = gk.shape[-2]
    lower = torch.ones(steps, steps, dtype=torch.bool).tril()
    past = lower.tril(-1)
    to_asked = before.unsqueeze(-2) - total.unsqueeze(-3)
    to_read = total.unsqueeze(-2) - total.unsqueeze(-3)
    known = _weights(alpha, k, to_asked, past) @ v + (alpha * before.exp()) @ state
    system = torch.eye(steps, dtype=gk.dtype) - _weights(alpha, beta, to_asked, past)
    asked = torch.linalg.solve_triangular(system, known, upper=False, unitriangular=True)
    read = _weights(q, k, to_read, lower) @ v + _weights(q, beta, to_read, lower) @ asked + (q * total.exp()) @ state
    left = (total[..., -1:, :] - total).exp()
    state = total[..., -1, :].exp().unsqueeze(-1) * state + (k * left).mT @ v + (beta * left).mT @ asked
    return read, state


def dplr_recurrence(q, k, v, alpha, beta, gk, initial_state=None, output_final_state=True):
    parts = [item.double() for item in (q, k, v, alpha, beta, gk)]
    parts[0] = parts[0] * q.shape[-1] ** -0.5
    state = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1], dtype=torch.float64)
    state = state if initial_state is None else state + initial_state
    outputs = [parts[2][:, :, :0]]
    for start in range(0, q.shape[2], 12):
        read, state = _chunk(*(item[:, :, start : start + 12] for item in parts), state)
        outputs.append(read)
    return torch.cat(outputs, dim=2).to(q.dtype), (state.float() if output_final_state else None)
