"""Query by query and key head by key head: the keys are gathered, then softmax over them alone."""

from itertools import pairwise

import torch


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
        counts = block_counts.transpose(1, 2) if torch.is_tensor(block_counts) else block_counts
        window_gate = g_swa.transpose(1, 2) if g_swa is not None else None
        turned = [item.transpose(1, 2) for item in (q, k, v, g_slc)]
        result = nsa(
            *turned, window_gate, block_indices.transpose(1, 2), counts, block_size, window_size, scale, cu_seqlens
        )
        return result.transpose(1, 2)
    if cu_seqlens is not None and q.shape[0] != 1:
        raise ValueError("sequences are packed in one row")
    rows, length, heads, width = q.shape
    group = heads // k.shape[2]
    factor = 1 / width**0.5 if scale is None else scale
    bounds = [0, length] if cu_seqlens is None else [int(bound) for bound in cu_seqlens]
    queries, keys, values = q.float(), k.float(), v.float()
    output = []
    for row in range(rows):
        for start, end in pairwise(bounds):
            for place in range(start, end):
                for shared in range(k.shape[2]):
                    listed = block_indices[row, place, shared].tolist()
                    if torch.is_tensor(block_counts):
                        listed = listed[: int(block_counts[row, place, shared])]
                    elif block_counts is not None:
                        listed = listed[:block_counts]
                    blocks = {block for block in listed if block >= 0}
                    wanted = [key for key in range(start, place + 1) if (key - start) // block_size in blocks]
                    branches = [(wanted, g_slc)]
                    if window_size:
                        branches.append((list(range(max(start, place - window_size + 1), place + 1)), g_swa))
                    mine = slice(shared * group, (shared + 1) * group)
                    read = queries.new_zeros(group, v.shape[-1])
                    for seen, gate in branches:
                        if seen:
                            scores = queries[row, place, mine] @ keys[row, seen, shared].T * factor
                            weights = torch.softmax(scores, dim=1)
                            read = read + gate[row, place, mine, None] * (weights @ values[row, seen, shared])
                    output.append(read)
    return torch.cat(output).view(rows, length, heads, -1).to(q.dtype)
