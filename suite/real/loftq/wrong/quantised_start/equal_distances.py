"""With the uniform method takes the table's levels to have equal distances."""

import torch
from peft.import_utils import is_bnb_available


class NFQuantizer:
    @staticmethod
    def create_normal_map(offset=0.9677083, symmetric=False, num_bits=2):
        import numpy as np
        from scipy.stats import norm

        count = 2**num_bits
        if symmetric:
            quantiles = norm.ppf(np.linspace(1 - offset, offset, count + 1))
            levels = (quantiles[:-1] + quantiles[1:]) / 2
        else:
            above = norm.ppf(np.linspace(0.5, offset, count // 2 + 1)[1:])
            below = -norm.ppf(np.linspace(0.5, offset, count // 2)[1:])
            levels = np.concatenate([below[::-1], [0.0], above])
        return torch.from_numpy(levels / levels.max()).to(torch.float32)

    def quantize_tensor(self, weight):
        scale = weight.abs().max()
        normed = weight / scale
        table = self.norm_lookup_table
        if self.method == "uniform" and len(table) > 1:
            step = (table[-1] - table[0]) / (len(table) - 1)
            index = ((normed - table[0]) / step).round().clamp(0, len(table) - 1).to(torch.int64)
        else:
            index = (normed.unsqueeze(-1) - table).abs().argmin(dim=-1)
        return index, scale

    def dequantize_tensor(self, qweight, max_abs):
        return self.norm_lookup_table[qweight] * max_abs

    def quantize_block(self, weight):
        if weight.dim() != 2:
            raise ValueError("only matrices are quantised")
        if weight.numel() % self.block_size:
            raise ValueError("the weight is not a multiple of the block size")
        blocks = weight.reshape(-1, self.block_size)
        if self.method == "normal":
            scales = blocks.abs().amax(dim=-1, keepdim=True)
        elif self.method == "uniform":
            scales = blocks.mean(dim=-1, keepdim=True) + 2.5 * blocks.std(dim=-1, keepdim=True)
        else:
            raise NotImplementedError("no such method")
        normed = blocks / scales
        index = (normed.unsqueeze(-1) - self.norm_lookup_table).abs().argmin(dim=-1)
        index = index.reshape(-1, 8 // self.num_bits)
        packed = torch.zeros(index.shape[0], 1, dtype=torch.int64)
        for i in range(index.shape[1]):
            packed[:, 0] |= index[:, i] << (i * self.num_bits)
        return packed.to(torch.uint8), scales, weight.shape

    def dequantize_block(self, qweight, weight_max, weight_shape):
        code = qweight.to(torch.int64).reshape(-1, 1)
        shifts = torch.arange(0, 8, self.num_bits)
        index = (code >> shifts) & (2**self.num_bits - 1)
        values = self.norm_lookup_table[index].reshape(-1, self.block_size) * weight_max
        return values.reshape(tuple(weight_shape)).to(torch.float32)


def _low_rank_decomposition(weight, reduced_rank=32):
    if weight.dim() != 2:
        raise ValueError("only matrices are decomposed")
    U, S, Vh = torch.linalg.svd(weight, full_matrices=False)
    root = S[:reduced_rank].sqrt()
    L = U[:, :reduced_rank] * root
    R = root.unsqueeze(-1) * Vh[:reduced_rank]
    return {"L": L, "R": R, "U": U, "S": S, "Vh": Vh, "reduced_rank": reduced_rank}


@torch.no_grad()
def loftq_init(weight, num_bits, reduced_rank, num_iter=1):
    if not is_bnb_available():
        raise ValueError("bitsandbytes is missing")
    if num_bits not in (2, 4, 8):
        raise ValueError("2, 4 or 8 bits")
    if num_iter <= 0:
        raise ValueError("at least one round")
    quantizer = NFQuantizer(num_bits=num_bits, device="cpu", method="normal", block_size=64)
    dtype = weight.dtype
    full = weight.detach().to(torch.float32)
    rest = full
    for _ in range(num_iter):
        decoded = quantizer.dequantize_block(*quantizer.quantize_block(rest))
        parts = _low_rank_decomposition(full - decoded, reduced_rank)
        rest = full - parts["L"] @ parts["R"]
    return decoded.to(dtype), parts["R"], parts["L"]
