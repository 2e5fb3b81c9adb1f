"""A loop over heads, with a matrix of decays of each as powers of a number, in double precision."""


def naive_retention(q, k, v):
    length = q.shape[2]
    back = torch.arange(length)[:, None] - torch.arange(length)[None]
    outputs = []
    for head in range(q.shape[1]):
        decay = 1 - 1 / 2 ** (5 + head)
        decays = torch.full(back.shape, decay, dtype=torch.float64).pow(back.clamp(min=0)).tril()
        scores = torch.matmul(q[:, head].double(), k[:, head].double().transpose(-2, -1))
        outputs.append(torch.matmul(scores * decays, v[:, head].double()))
    return (torch.stack(outputs, dim=1) * q.shape[3] ** -0.5).to(q.dtype)
