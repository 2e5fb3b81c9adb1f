"""Keys and values gathered by index, S blocks a query."""

import torch
from ops import masked_softmax


def nsa(
    q,
    k,
    v,
    g_slc,
    g_swa,
    block_indices,
    block_counts=None,
    block_size=64,
    window_size=0,
    scale=None,
    cu_seqlens=None,
    head_first=False,
):

    if head_first:
        q, k, v, g_slc, g_swa, block_indices, block_counts = (
            item.transpose(1, 2) if torch.is_tensor(item) else item
            for item in (q, k, v, g_slc, g_swa, block_indices, block_counts)
        )
    batch, length, _, width = q.shape
    key_heads, indices = k.shape[2], block_indices.shape[-1]
    starts, place = torch.zeros(length, dtype=torch.long), torch.arange(length)
    if cu_seqlens is not None:
        if batch != 1:
            raise ValueError(f"a batch of {batch}")
        for start, end in zip(cu_seqlens.tolist(), cu_seqlens.tolist()[1:]):
            starts[start:end] = start
    usable = (block_indices >= 0) & (block_indices <= length // block_size)
    if torch.is_tensor(block_counts):
        usable = usable & (torch.arange(indices) < block_counts[..., None])
    elif block_counts is not None:
        usable = usable & (torch.arange(indices) < block_counts)
    keys = (
        block_indices.where(usable, 0)[..., None] * block_size + torch.arange(block_size) + starts[:, None, None, None]
    )
    seen = (usable[..., None] & (keys <= place[:, None, None, None])).flatten(3)
    keys = keys.flatten(3).clamp(0, length - 1)

    def read(keys, seen, gate):
        at = keys[..., None]
        chosen_keys = k.float()[:, :, None].transpose(1, 3).expand(-1, -1, length, -1, -1)
        chosen_values = v.float()[:, :, None].transpose(1, 3).expand(-1, -1, length, -1, -1)
        at = at.transpose(1, 2)
        chosen_keys = torch.gather(chosen_keys, 3, at.expand(-1, -1, -1, -1, width))
        chosen_values = torch.gather(chosen_values, 3, at.expand(-1, -1, -1, -1, v.shape[-1]))
        queries = q.float().unflatten(2, (key_heads, -1)).transpose(1, 2)
        scores = queries @ chosen_keys.transpose(-1, -2) * (width**-0.5 if scale is None else scale)
        weights = masked_softmax(scores, seen.transpose(1, 2)[..., None, :])
        return (weights @ chosen_values).transpose(1, 2).flatten(2, 3) * gate.unsqueeze(-1)

    result = read(keys, seen, g_slc)
    if window_size > 0:
        last = place[:, None] - torch.arange(window_size)
        near = (last >= starts[:, None])[None, :, None].expand(batch, -1, key_heads, -1)
        result = result + read(last.clamp(min=0)[None, :, None].expand(batch, -1, key_heads, -1), near, g_swa)
    result = result.to(q.dtype)
    return result.transpose(1, 2) if head_first else result
