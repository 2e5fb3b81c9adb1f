"""States of all steps at once by a prefix sum that doubles its reach, and a product with the queries."""


def naive_retention(q, k, v):
    steps = q.shape[2]
    states = k.double().unsqueeze(-1) * v.double().unsqueeze(-2)
    decay = -torch.expm1((-5.0 - torch.arange(q.shape[1], dtype=torch.float64)) * torch.tensor(2.0).double().log())
    # -expm1(-n log 2) is one minus two to the power of -n.
    decay = decay.view(-1, 1, 1, 1)
    reach = 1
    while reach < steps:
        earlier = torch.cat([torch.zeros_like(states[:, :, :reach]), states[:, :, :-reach]], dim=2)
        states = states + decay**reach * earlier
        reach *= 2
    read = (q.double().unsqueeze(-2) @ states).squeeze(-2)
    return (read / q.shape[-1] ** 0.5).to(q.dtype)
