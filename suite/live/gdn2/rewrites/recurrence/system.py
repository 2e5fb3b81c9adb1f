"""What the steps write as one triangular system over the whole sequence, in double precision."""


def naive_recurrent_gdn2(q, k, v, g, b, w, scale=None, initial_state=None, output_final_state=False):
    rows, steps, heads, width = k.shape
    q, k, v, g, b, w = (item.double().transpose(1, 2) for item in (q, k, v, g, b, w))
    start = torch.zeros(rows, heads, width, v.shape[-1], dtype=torch.float64)
    if initial_state is not None:
        start = start + initial_state.double()
    if steps == 0:
        return v.transpose(1, 2).float(), start.float() if output_final_state else None
    total = g.cumsum(2)
    # How much of channel k of a write at step j is left at step i.
    left = (total.unsqueeze(3) - total.unsqueeze(2)).exp()
    erase = b * k
    overlap = torch.einsum("bhik,bhjk,bhijk->bhij", erase, k, left).tril(-1)
    wanted = w * v - (erase * total.exp()) @ start
    eye = torch.eye(steps, dtype=torch.float64)
    written = torch.linalg.solve_triangular(eye + overlap, wanted, upper=False, unitriangular=True)
    q = q * (width**-0.5 if scale is None else scale)
    scores = torch.einsum("bhik,bhjk,bhijk->bhij", q, k, left).tril()
    outputs = (q * total.exp()) @ start + scores @ written
    memory = total[:, :, -1].exp().unsqueeze(-1) * start + (k * left[:, :, -1]).mT @ written
    return outputs.transpose(1, 2).float(), memory.float() if output_final_state else None
