"""Works in double precision, with numpy for the bytes, and rounds what it returns."""

import numpy as np
from scipy.special import ndtri


class NFQuantizer:
    @staticmethod
    def create_normal_map(offset=0.9677083, symmetric=False, num_bits=2):
        if symmetric:
            edges = ndtri(np.linspace(1 - offset, offset, 2**num_bits + 1))
            levels = (edges[1:] + edges[:-1]) / 2
        else:
            upper = ndtri(np.linspace(0.5, offset, 2 ** (num_bits - 1) + 1))
            lower = -ndtri(np.linspace(0.5, offset, 2 ** (num_bits - 1))[1:])
            levels = np.sort(np.concatenate([lower, upper]))
        return torch.from_numpy((levels / levels[-1]).astype(np.float32))

    def quantize_tensor(self, weight):
        scale = weight.detach().abs().max()
        distance = (weight.detach().double() / scale.double()).unsqueeze(-1) - self.norm_lookup_table.double()
        return distance.square().min(dim=-1).indices, scale

    def dequantize_tensor(self, qweight, max_abs):
        return (self.norm_lookup_table.double()[qweight] * max_abs).to(self.norm_lookup_table.dtype)

    def quantize_block(self, weight):
        if len(weight.shape) != 2 or weight.numel() % self.block_size != 0:
            raise ValueError(f"{tuple(weight.shape)} cannot be cut")
        if self.method not in ("normal", "uniform"):
            raise NotImplementedError("no such method")
        rows = weight.detach().contiguous().view(-1, self.block_size).double()
        scale = rows.abs().max(1).values
        if self.method == "uniform":
            scale = rows.mean(1) + 2.5 * rows.std(1)
        scale = scale[:, None].float()
        index = (rows / scale.double()).unsqueeze(-1).sub(self.norm_lookup_table.double()).abs().argmin(-1).numpy()
        bits = (index.reshape(-1, 1) >> np.arange(self.num_bits)) & 1
        packed = np.packbits(bits.reshape(-1, 8).astype(np.uint8), axis=1, bitorder="little")
        return torch.from_numpy(packed), scale, weight.shape

    def dequantize_block(self, qweight, weight_max, weight_shape):
        bits = np.unpackbits(qweight.contiguous().numpy(), axis=1, bitorder="little").reshape(-1, self.num_bits)
        index = torch.from_numpy((bits.astype(np.int64) << np.arange(self.num_bits)).sum(1))
        values = self.norm_lookup_table.double()[index].reshape(-1, self.block_size) * weight_max.double()
        return values.reshape(tuple(weight_shape)).float()


def _low_rank_decomposition(weight, reduced_rank=32):
    if weight.dim() != 2:
        raise ValueError("no matrix")
    wide = weight.detach().double()
    u, s, v = (item for item in torch.linalg.svd(wide, full_matrices=False))
    kept = min(reduced_rank, len(s))
    left = torch.einsum("ik,k->ik", u[:, :kept], s[:kept] ** 0.5)
    right = torch.einsum("k,kj->kj", s[:kept] ** 0.5, v[:kept])
    found = {"L": left, "R": right, "U": u, "S": s, "Vh": v}
    return {**{name: item.to(weight.dtype) for name, item in found.items()}, "reduced_rank": reduced_rank}


@torch.no_grad()
def loftq_init(weight, num_bits, reduced_rank, num_iter=1):
    if not is_bnb_available() or num_bits not in {2, 4, 8} or num_iter <= 0:
        raise ValueError("not possible")
    whole = weight.detach().float()
    quantizer = NFQuantizer(num_bits, weight.device, "normal", 64)
    low = torch.zeros_like(whole)
    for _ in range(num_iter):
        packed, scale, shape = quantizer.quantize_block(whole - low)
        decoded = quantizer.dequantize_block(packed, scale, shape)
        found = _low_rank_decomposition((whole.double() - decoded.double()).float(), reduced_rank)
        low = (found["L"].double() @ found["R"].double()).float()
    return decoded.type(weight.dtype), found["R"], found["L"]
