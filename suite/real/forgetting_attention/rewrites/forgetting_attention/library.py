"""PyTorch's own attention with the gates' sums as its bias, in double precision, head by head."""


def naive_forgetting_attn(q, k, v, g, scale=None, window_size=None):
    count, kept = q.size(2), k.size(2)
    if not kept or count % kept:
        raise ValueError("key heads")
    places = torch.arange(q.size(1))
    hidden = places < places[:, None] - (q.size(1) if window_size is None else window_size - 1)
    hidden = hidden | (places > places[:, None])
    outputs = []
    for head in range(count):
        shared = head // (count // kept)
        sums = torch.cumsum(g[:, :, head].double(), dim=1)
        bias = (sums.unsqueeze(2) - sums.unsqueeze(1)).masked_fill(hidden, float("-inf"))
        query = q[:, :, head].double() * (q.size(3) ** -0.5 if scale is None else scale)
        outputs.append(
            F.scaled_dot_product_attention(
                query, k[:, :, shared].double(), v[:, :, shared].double(), attn_mask=bias, scale=1.0
            )
        )
    return torch.stack(outputs, dim=2).float()
