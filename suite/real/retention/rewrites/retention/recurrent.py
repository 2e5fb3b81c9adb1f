"""The recurrence: a state of keys times values for each head, in double precision."""


def naive_retention(q, k, v):
    decay = 1 - 2.0 ** (-5 - torch.arange(q.shape[1], dtype=torch.float64))
    state = torch.zeros(*q.shape[:2], q.shape[3], v.shape[3], dtype=torch.float64)
    outputs = []
    for step in range(q.shape[2]):
        written = k[:, :, step].double().unsqueeze(-1) * v[:, :, step].double().unsqueeze(-2)
        state = decay[:, None, None] * state + written
        outputs.append(torch.einsum("bhd,bhde->bhe", q[:, :, step].double(), state) / q.shape[3] ** 0.5)
    return torch.stack(outputs, dim=2).to(q.dtype)
