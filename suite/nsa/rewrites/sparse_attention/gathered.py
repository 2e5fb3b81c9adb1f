"""Keys and values gathered by index; weights as exponentials of differences to the logarithm of their sum."""

import torch


def group_heads(q, key_heads):
    return torch.stack(q.split(q.shape[2] // key_heads, dim=2), dim=2)


def masked_softmax(scores, mask):
    # A last place that every row may see takes the weight of rows without a key.
    empty = ~mask.any(dim=-1, keepdim=True)
    low = torch.finfo(scores.dtype).min / 4
    spare = torch.where(empty, 0.0, low).to(scores.dtype).expand(*scores.shape[:-1], 1)
    logits = torch.cat([torch.where(mask, scores, low), spare], dim=-1)
    return torch.log_softmax(logits, dim=-1).exp()[..., :-1]


class BlockCompression:
    def forward(self, states):
        count = states.shape[1] // self.block_size
        at = torch.arange(count * self.block_size).view(count, self.block_size)
        blocks = states[:, at] + self.place.unsqueeze(1)
        return torch.tensordot(blocks, self.weight, dims=([2], [0]))


def compressed_attention(q, k, v, block_size, scale=None):
    factor = 1 / q.shape[-1] ** 0.5 if scale is None else scale
    group = q.shape[2] // k.shape[2]
    keys, values = k.repeat_interleave(group, dim=2), v.repeat_interleave(group, dim=2)
    scores = torch.einsum("bthk,bnhk->bthn", factor * q, keys)
    whole = (torch.arange(q.shape[1]) + 1) // block_size
    seen = torch.arange(k.shape[1]) < whole[:, None]
    weights = masked_softmax(scores, seen[:, None])
    return torch.einsum("bthn,bnhv->bthv", weights, values), weights.unflatten(2, (k.shape[2], group))


def rank_blocks(probabilities, length, block_size, local=1):
    blocks = -(-length // block_size)
    importance = torch.zeros(*probabilities.shape[:3], blocks, dtype=torch.float64)
    for head in range(probabilities.shape[3]):
        importance[..., : probabilities.shape[-1]] += probabilities[:, :, :, head]
    own = torch.arange(length) // block_size
    for query, last in enumerate(own.tolist()):
        importance[:, query, :, max(last - local + 1, 0) : last + 1] = float("inf")
        importance[:, query, :, 0] = float("inf")
        importance[:, query, :, last + 1 :] = -1.0
    values, order = importance.topk(blocks, dim=-1)
    return torch.where(values >= 0, order, NO_BLOCK)


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
        starts = cu_seqlens[torch.searchsorted(cu_seqlens, place, right=True) - 1]
    usable = (block_indices >= 0) & (block_indices <= length // block_size)
    if torch.is_tensor(block_counts):
        usable = usable & (torch.arange(indices) < block_counts[..., None])
    elif block_counts is not None:
        usable = usable & (torch.arange(indices) < block_counts)
    equal = block_indices[..., :, None] == block_indices[..., None, :]
    usable = usable & ~equal.tril(-1).any(dim=-1)
    keys = block_indices.where(usable, 0)[..., None] * block_size + torch.arange(block_size)
    keys = keys + starts[:, None, None, None]
    seen = (usable[..., None] & (keys <= place[:, None, None, None])).flatten(3)
    keys = keys.flatten(3).clamp(0, length - 1)
    row, head = torch.arange(batch)[:, None, None, None], torch.arange(key_heads)[:, None]
    queries = group_heads(q, key_heads) * (width**-0.5 if scale is None else scale)

    def read(keys, seen, gate):
        scores = torch.einsum("bthgk,bthnk->bthgn", queries, k[row, keys, head])
        weights = masked_softmax(scores, seen[..., None, :])
        return torch.einsum("bthgn,bthnv->bthgv", weights, v[row, keys, head]).flatten(2, 3) * gate.unsqueeze(-1)

    result = read(keys, seen, g_slc)
    if window_size > 0:
        last = place[:, None] - torch.arange(window_size)
        near = (last >= starts[:, None])[None, :, None].expand(batch, -1, key_heads, -1)
        last = last.clamp(min=0)[None, :, None].expand(batch, -1, key_heads, -1)
        result = result + read(last, near, g_swa)
    return result.transpose(1, 2) if head_first else result


class NativeSparseAttention:
    def forward(self, states, cu_seqlens=None):
        heads = self.attend(states, cu_seqlens)
        weight = self.output.weight.view(-1, self.heads, self.head_width)
        return torch.einsum("bthd,whd->btw", heads, weight)

    def attend(self, states, cu_seqlens=None):
        q, k, v = (
            part(states).view(*states.shape[:2], -1, self.head_width) for part in (self.query, self.key, self.value)
        )
        gates = self.gate(states).sigmoid()
        compressed, blocks = self.compress(q, k, v, cu_seqlens)
        options = {"block_size": self.block_size, "window_size": self.window, "cu_seqlens": cu_seqlens}
        listed = blocks[..., : self.selected]
        detailed = nsa(q, k, v, gates[..., 1::3], gates[..., 2::3], listed, **options)
        return compressed * gates[..., ::3].unsqueeze(-1) + detailed

    def compress(self, q, k, v, cu_seqlens):
        length = q.shape[1]
        sizes = [length] if cu_seqlens is None else cu_seqlens.diff().tolist()
        count = -(-length // self.block_size)
        outputs, lists = [], q.new_full((*q.shape[:2], self.key_heads, count), NO_BLOCK, dtype=torch.long)
        done = 0
        for parts in zip(*(item.split(sizes, dim=1) for item in (q, k, v)), strict=True):
            keys, values = self.compress_keys(parts[1]), self.compress_values(parts[2])
            output, weights = compressed_attention(parts[0], keys, values, self.block_size)
            ranked = rank_blocks(weights.detach(), parts[0].shape[1], self.block_size)
            lists[:, done : done + parts[0].shape[1], :, : ranked.shape[-1]] = ranked
            outputs.append(output)
            done += parts[0].shape[1]
        return torch.cat(outputs, dim=1), lists
