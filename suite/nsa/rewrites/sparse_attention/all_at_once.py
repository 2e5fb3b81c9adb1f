"""Packed sequences side by side under masks of sequence numbers, without a loop over them."""

import torch


def group_heads(q, key_heads):
    return q.view(q.shape[0], q.shape[1], key_heads, q.shape[2] // key_heads, q.shape[3])


def masked_softmax(scores, mask):
    mask = mask.expand(scores.shape)
    shut = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, float("-inf"))
    # Rows without a key get the softmax of zeros, and are dropped behind it.
    empty = ~mask.any(dim=-1, keepdim=True)
    weights = torch.softmax(torch.where(empty, 0.0, scores + shut), dim=-1)
    return torch.where(empty, 0.0, weights)


class BlockCompression:
    def forward(self, states):
        count = states.shape[1] // self.block_size
        result = states.new_zeros(states.shape[0], count, *states.shape[2:])
        for place in range(self.block_size):
            every = states[:, place : count * self.block_size : self.block_size]
            result = result + self.weight[place] * (every[:, :count] + self.place[place])
        return result


def compressed_attention(q, k, v, block_size, scale=None):
    begins = torch.arange(k.shape[1]) * block_size
    seen = torch.arange(q.shape[1])[:, None] - begins >= block_size - 1
    return _compressed(q, k, v, seen, scale)


def _compressed(q, k, v, seen, scale=None):
    scores = torch.einsum("bthgk,bnhk->bthgn", group_heads(q, k.shape[2]), k)
    scores = scores / q.shape[-1] ** 0.5 if scale is None else scores * scale
    weights = masked_softmax(scores, seen[:, None, None])
    output = (weights.unsqueeze(-1) * v.permute(0, 2, 1, 3)[:, None, :, None]).sum(dim=-2)
    return output.reshape(*q.shape[:3], v.shape[-1]), weights


def rank_blocks(probabilities, length, block_size, local=1):
    blocks = -(-length // block_size)
    importance = torch.einsum("bthgn->bthn", probabilities)
    rest = importance.new_zeros(*importance.shape[:3], blocks - importance.shape[-1])
    importance = torch.cat([importance, rest], dim=-1)
    own, block = (torch.arange(length) // block_size)[:, None, None], torch.arange(blocks)
    first = (block == 0) | ((block <= own) & (block + local > own))
    # No importance is above the number of heads.
    bonus = torch.where(block > own, -3e3, torch.where(first, 3e3, 0.0))
    values, order = (importance + bonus).sort(dim=-1, descending=True, stable=True)
    return torch.where(values < -1, NO_BLOCK, order)


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
        given = [item.transpose(1, 2) for item in (q, k, v, g_slc)]
        gate = g_swa.transpose(1, 2) if g_swa is not None else None
        counts = block_counts.transpose(1, 2) if torch.is_tensor(block_counts) else block_counts
        options = (block_size, window_size, scale, cu_seqlens)
        return nsa(*given, gate, block_indices.transpose(1, 2), counts, *options).transpose(1, 2)
    if cu_seqlens is not None and q.shape[0] > 1:
        raise ValueError("more than one row")
    length, indices = q.shape[1], block_indices.shape[-1]
    place = torch.arange(length)
    start = torch.zeros_like(place)
    if cu_seqlens is not None:
        start = torch.repeat_interleave(cu_seqlens[:-1], cu_seqlens.diff())
    own = (place - start) // block_size
    wanted = torch.zeros(*block_indices.shape[:3], length, dtype=torch.bool)
    for index in range(indices):
        counted = True
        if block_counts is not None:
            counted = (block_counts[..., None] if torch.is_tensor(block_counts) else block_counts) > index
        wanted |= (block_indices[..., index, None] == own) & counted
    past = (place <= place[:, None]) & (place >= start[:, None])
    group = q.shape[2] // k.shape[2]
    scores = torch.einsum("bthk,bnhk->bthn", q, k.repeat_interleave(group, dim=2))
    scores = scores * (scale if scale is not None else q.shape[-1] ** -0.5)
    wanted = (wanted & past[:, None]).repeat_interleave(group, dim=2)
    weights = g_slc[..., None] * masked_softmax(scores, wanted)
    if window_size > 0:
        near = past & (place > place[:, None] - window_size)
        weights = weights + g_swa[..., None] * masked_softmax(scores, near[:, None])
    return torch.einsum("bthn,bnhv->bthv", weights, v.repeat_interleave(group, dim=2))


class NativeSparseAttention:
    def forward(self, states, cu_seqlens=None):
        return F.linear(self.attend(states, cu_seqlens).flatten(start_dim=2), self.output.weight)

    def attend(self, states, cu_seqlens=None):
        joined = torch.cat([self.query.weight, self.key.weight, self.value.weight])
        parts = F.linear(states, joined).unflatten(2, (-1, self.head_width))
        q, k, v = parts.split([self.heads, self.key_heads, self.key_heads], dim=2)
        gates = torch.sigmoid(self.gate(states)).unflatten(2, (self.heads, 3)).movedim(-1, 0)
        compressed, blocks = self.compress(q, k, v, cu_seqlens)
        read = nsa(q, k, v, *gates[1:], blocks, self.selected, self.block_size, self.window, cu_seqlens=cu_seqlens)
        return gates[0].unsqueeze(-1) * compressed + read

    def compress(self, q, k, v, cu_seqlens):
        size, length = self.block_size, q.shape[1]
        bounds = [0, length] if cu_seqlens is None else cu_seqlens.tolist()
        spans = [(bounds[n], bounds[n + 1]) for n in range(len(bounds) - 1)]
        # All whole blocks of all sequences, one after the other.
        cuts = [range(start + size, end + 1, size) for start, end in spans]
        ends = torch.tensor([end for cut in cuts for end in cut], dtype=torch.long)
        owner = torch.tensor([number for number, cut in enumerate(cuts) for _ in cut], dtype=torch.long)
        sequence = torch.tensor([number for number, (start, end) in enumerate(spans) for _ in range(start, end)])
        inside = [place for end in ends.tolist() for place in range(end - size, end)]
        at = torch.tensor(inside, dtype=torch.long)
        keys, values = self.compress_keys(k[:, at]), self.compress_values(v[:, at])
        seen = (owner == sequence[:, None]) & (ends <= torch.arange(length)[:, None] + 1)
        output, weights = _compressed(q, keys, values, seen)
        lists = []
        for number, (start, end) in enumerate(spans):
            own = weights[:, start:end][..., owner == number]
            ranked = rank_blocks(own.detach(), end - start, size)
            lists.append(F.pad(ranked, (0, -(-length // size) - ranked.shape[-1]), value=NO_BLOCK))
        return output, torch.cat(lists, dim=1)
