"""One head after the other, with the state as the paper has it, values by keys, and steps as rows."""

import math


def _head(r, k, v, asked, along, log_decay, state):
    read = []
    for step in range(r.size(1)):
        old = torch.bmm(state, asked[:, step].unsqueeze(2))
        state = state * log_decay[:, step].exp().unsqueeze(1) + torch.bmm(old, along[:, step].unsqueeze(1))
        state = torch.baddbmm(state, v[:, step].unsqueeze(2), k[:, step].unsqueeze(1))
        read.append(torch.bmm(state, r[:, step].unsqueeze(2)).squeeze(2))
    return (torch.stack(read, 1) if read else v * 1.0), state


def dplr_recurrence(q, k, v, alpha, beta, gk, initial_state=None, output_final_state=True):
    outputs, states = [], []
    for head in range(q.size(1)):
        parts = [item[:, head].to(torch.float32) for item in (q, k, v, alpha, beta, gk)]
        if initial_state is None:
            state = torch.zeros(q.size(0), v.size(3), q.size(3))
        else:
            state = initial_state[:, head].to(torch.float32).mT.clone()
        read, state = _head(*parts, state)
        outputs.append(read / math.sqrt(q.size(3)))
        states.append(state.mT)
    final = torch.stack(states, 1) if output_final_state else None
    return torch.stack(outputs, 1).to(q.dtype), final
