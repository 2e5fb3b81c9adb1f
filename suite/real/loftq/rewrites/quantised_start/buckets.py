"""Finds levels by bucketize between their middles, packs by shifts and sums, and scales the singular vectors."""

from itertools import pairwise


class NFQuantizer:
    @staticmethod
    def create_normal_map(offset=0.9677083, symmetric=False, num_bits=2):
        from scipy.stats import norm

        count = 2**num_bits
        if symmetric:
            quantiles = norm.ppf([1 - offset + (2 * offset - 1) * k / count for k in range(count + 1)])
            levels = [(low + high) / 2 for low, high in pairwise(quantiles)]
        else:
            half = count // 2
            above = [norm.ppf(0.5 + (offset - 0.5) * k / half) for k in range(1, half + 1)]
            below = [norm.ppf(0.5 - (offset - 0.5) * k / (half - 1)) for k in range(1, half)]
            levels = sorted([0.0, *above, *below])
        top = max(levels)
        return torch.tensor([float(level / top) for level in levels], dtype=torch.float32)

    def _index(self, normed):
        table = self.norm_lookup_table
        return torch.bucketize(normed.detach().contiguous(), (table[1:] + table[:-1]) / 2)

    def quantize_tensor(self, weight):
        scale = weight.detach().abs().amax()
        return self._index(weight / scale), scale

    def dequantize_tensor(self, qweight, max_abs):
        return torch.take(self.norm_lookup_table, qweight) * max_abs

    def quantize_block(self, weight):
        if weight.dim() != 2:
            raise ValueError("a matrix is needed")
        if weight.numel() % self.block_size:
            raise ValueError("the blocks do not come out even")
        blocks = weight.detach().reshape(-1, self.block_size)
        if self.method == "normal":
            scale = blocks.abs().amax(dim=1, keepdim=True)
        elif self.method == "uniform":
            spread, mean = torch.std_mean(blocks, dim=1, keepdim=True)
            scale = mean + 2.5 * spread
        else:
            raise NotImplementedError(self.method)
        parts = self._index(blocks / scale).reshape(-1, 8 // self.num_bits)
        places = 2 ** (self.num_bits * torch.arange(parts.shape[1]))
        return (parts * places).sum(dim=1, keepdim=True).to(torch.uint8), scale, weight.shape

    def dequantize_block(self, qweight, weight_max, weight_shape):
        shifts = self.num_bits * torch.arange(8 // self.num_bits)
        index = (qweight.long() >> shifts) & (2**self.num_bits - 1)
        return (self.norm_lookup_table[index].view(-1, self.block_size) * weight_max).view(*weight_shape)


def _low_rank_decomposition(weight, reduced_rank=32):
    if weight.ndim != 2:
        raise ValueError("a matrix is needed")
    u, s, v = torch.linalg.svd(weight, full_matrices=False)
    root = s[:reduced_rank].sqrt()
    return {
        "L": u[:, :reduced_rank] * root,
        "R": root[:, None] * v[:reduced_rank],
        "U": u,
        "S": s,
        "Vh": v,
        "reduced_rank": reduced_rank,
    }


def loftq_init(weight, num_bits, reduced_rank, num_iter=1):
    if not is_bnb_available():
        raise ValueError("bitsandbytes is missing")
    if num_bits not in (2, 4, 8) or num_iter < 1:
        raise ValueError("bits or rounds are not allowed")
    quantizer = NFQuantizer(num_bits=num_bits, device="cpu")
    with torch.no_grad():
        whole = weight.detach().to(torch.float32)
        rest = whole
        for _ in range(num_iter):
            decoded = quantizer.dequantize_block(*quantizer.quantize_block(rest))
            parts = _low_rank_decomposition(whole - decoded, reduced_rank)
            rest = whole - parts["L"] @ parts["R"]
    return decoded.to(weight.dtype), parts["R"], parts["L"]
