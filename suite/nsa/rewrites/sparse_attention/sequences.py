"""Each sequence on its own: masks scattered from the indices, the softmax by hand, two sorts for the ranks."""

from itertools import pairwise


def group_heads(q, key_heads):
    batch, length, heads, width = q.shape
    return q.reshape(batch, length, key_heads, heads // key_heads, width)


def masked_softmax(scores, mask):
    top = scores.masked_fill(~mask, float("-inf")).detach()
    if not top.shape[-1]:
        return scores
    top = top.amax(dim=-1, keepdim=True)
    top = top.where(top.isfinite(), 0.0)
    weights = (scores - top).masked_fill(~mask, float("-inf")).exp()
    total = weights.sum(dim=-1, keepdim=True)
    return weights / (total + (total == 0).to(total.dtype))


class BlockCompression:
    def forward(self, states):
        count, size = states.shape[1] // self.block_size, self.block_size
        batch, _, heads, width = states.shape
        blocks = states[:, : count * size].reshape(batch, count, size, heads, width)
        return (blocks * self.weight[:, None, None]).sum(dim=2) + self.weight @ self.place


def compressed_attention(q, k, v, block_size, scale=None):
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    batch, length, _, width = q.shape
    queries = q.reshape(batch, length, k.shape[2], -1, width).permute(0, 2, 3, 1, 4)
    scores = factor * (queries @ k.permute(0, 2, 3, 1)[:, :, None])
    place, block = torch.arange(length), torch.arange(k.shape[1])
    weights = masked_softmax(scores, (block + 1) * block_size <= place[:, None] + 1)
    output = weights @ v.transpose(1, 2)[:, :, None]
    return output.permute(0, 3, 1, 2, 4).flatten(2, 3), weights.permute(0, 3, 1, 2, 4)


def rank_blocks(probabilities, length, block_size, local=1):
    blocks = (length + block_size - 1) // block_size
    importance = probabilities.new_zeros(*probabilities.shape[:3], blocks)
    importance[..., : probabilities.shape[-1]] = probabilities.sum(dim=3)
    own = torch.div(torch.arange(length), block_size, rounding_mode="floor").view(1, -1, 1, 1)
    block = torch.arange(blocks)
    order = importance.argsort(dim=-1, descending=True, stable=True)
    ahead = (order == 0) | (order > own - local)
    kind = torch.where(order > own, 2, torch.where(ahead, 0, 1))
    order = order.gather(-1, kind.argsort(dim=-1, stable=True))
    return torch.where(block <= own, order, NO_BLOCK)


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
    if not head_first:
        q, k, v, g_slc, block_indices = (item.transpose(1, 2) for item in (q, k, v, g_slc, block_indices))
        g_swa = None if g_swa is None else g_swa.transpose(1, 2)
        block_counts = block_counts.transpose(1, 2) if torch.is_tensor(block_counts) else block_counts
    if cu_seqlens is not None and q.shape[0] > 1:
        raise ValueError("one row of packed sequences")
    group, factor = q.shape[1] // k.shape[1], q.shape[-1] ** -0.5 if scale is None else scale
    parts = []
    for start, end in pairwise([0, q.shape[2]] if cu_seqlens is None else cu_seqlens.tolist()):
        cut, length = slice(start, end), end - start
        keys, values = (item[:, :, cut].repeat_interleave(group, dim=1) for item in (k, v))
        scores = factor * (q[:, :, cut] @ keys.mT)
        counts = block_counts[:, :, cut] if torch.is_tensor(block_counts) else block_counts
        past = torch.ones(length, length, dtype=torch.bool).tril()
        chosen = _named(block_indices[:, :, cut], counts, block_size, length).repeat_interleave(group, dim=1)
        read = g_slc[:, :, cut, None] * (masked_softmax(scores, chosen & past) @ values)
        if window_size:
            read = read + g_swa[:, :, cut, None] * (masked_softmax(scores, past.triu(1 - window_size)) @ values)
        parts.append(read)
    result = torch.cat(parts, dim=2)
    return result if head_first else result.transpose(1, 2)


def _named(indices, counts, block_size, length):
    blocks = -(-length // block_size)
    usable = (indices >= 0) & (indices < blocks)
    if counts is not None:
        usable &= torch.arange(indices.shape[-1]) < (counts.unsqueeze(-1) if torch.is_tensor(counts) else counts)
    # The last column takes what is not usable.
    named = torch.zeros(*indices.shape[:-1], blocks + 1, dtype=torch.bool)
    named = named.scatter(-1, torch.where(usable, indices, blocks), True)[..., :blocks]
    return named.repeat_interleave(block_size, dim=-1)[..., :length]


class NativeSparseAttention:
    def forward(self, states, cu_seqlens=None):
        read = self.attend(states, cu_seqlens)
        return self.output(read.reshape(*states.shape[:2], self.heads * self.head_width))

    def attend(self, states, cu_seqlens=None):
        parts = []
        for start, end in pairwise([0, states.shape[1]] if cu_seqlens is None else cu_seqlens.tolist()):
            own = states[:, start:end]
            shape = (*own.shape[:2], -1, self.head_width)
            q, k, v = (part(own).reshape(shape) for part in (self.query, self.key, self.value))
            gates = torch.sigmoid(self.gate(own)).reshape(*own.shape[:2], self.heads, 3)
            compressed, blocks = self.compress(q, k, v, None)
            detailed = nsa(q, k, v, gates[..., 1], gates[..., 2], blocks, self.selected, self.block_size, self.window)
            parts.append(gates[..., :1] * compressed + detailed)
        return torch.cat(parts, dim=1)

    def compress(self, q, k, v, cu_seqlens):
        bounds = [0, q.shape[1]] if cu_seqlens is None else cu_seqlens.tolist()
        outputs, lists = [], []
        for start, end in pairwise(bounds):
            keys, values = self.compress_keys(k[:, start:end]), self.compress_values(v[:, start:end])
            output, weights = compressed_attention(q[:, start:end], keys, values, self.block_size)
            outputs.append(output)
            lists.append(rank_blocks(weights, end - start, self.block_size))
        longest = max(item.shape[-1] for item in lists)
        lists = [F.pad(item, (0, longest - item.shape[-1]), value=NO_BLOCK) for item in lists]
        return torch.cat(outputs, dim=1), torch.cat(lists, dim=1)
