"""Every column of the state by itself: rows, heads and columns are one batch of vectors."""


def dplr_recurrence(q, k, v, alpha, beta, gk, initial_state=None, output_final_state=True):
    rows, heads, steps, width = q.shape
    columns = v.shape[-1]
    r, k, asked, along, gk = (
        item.float().unsqueeze(2).expand(-1, -1, columns, -1, -1).flatten(0, 2) for item in (q, k, alpha, beta, gk)
    )
    values = v.float().transpose(2, 3).flatten(0, 2)
    if initial_state is None:
        vector = torch.zeros(rows * heads * columns, width)
    else:
        vector = initial_state.float().transpose(2, 3).reshape(-1, width) + 0.0
    read = []
    for step in range(steps):
        answer = torch.linalg.vecdot(vector, asked[:, step]).unsqueeze(1)
        vector = torch.exp(gk[:, step]) * vector + answer * along[:, step] + values[:, step, None] * k[:, step]
        read.append(torch.linalg.vecdot(r[:, step], vector) * width**-0.5)
    read = torch.stack(read, dim=-1) if read else values
    outputs = read.unflatten(0, (rows, heads, columns)).transpose(2, 3).to(q.dtype)
    final = vector.unflatten(0, (rows, heads, columns)).transpose(2, 3)
    return outputs, (final if output_final_state else None)
