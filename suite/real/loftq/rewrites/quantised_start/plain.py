"""The quantiser by distances to all levels, and LoftQ as the paper's formulas have it."""

from scipy.stats import norm


class NFQuantizer:
    @staticmethod
    def create_normal_map(offset=0.9677083, symmetric=False, num_bits=2):
        def quantiles(low, high, count):
            return torch.tensor(norm.ppf(torch.linspace(low, high, count, dtype=torch.float64).numpy()))

        count = 2**num_bits
        if symmetric:
            edges = quantiles(1 - offset, offset, count + 1)
            levels = (edges[1:] + edges[:-1]) / 2
        else:
            above, below = quantiles(0.5, offset, count // 2 + 1), -quantiles(0.5, offset, count // 2)
            levels = torch.cat([below[1:].flip(0), above])
        return (levels / levels.max()).float()

    def _nearest(self, normed):
        return (normed.unsqueeze(-1) - self.norm_lookup_table).abs().argmin(dim=-1)

    def quantize_tensor(self, weight):
        scale = weight.abs().max()
        return self._nearest(weight / scale), scale

    def dequantize_tensor(self, qweight, max_abs):
        return self.norm_lookup_table[qweight] * max_abs

    def quantize_block(self, weight):
        blocks = weight.reshape(-1, self.block_size)
        if self.method == "normal":
            scale = blocks.abs().amax(dim=1, keepdim=True)
        else:
            scale = blocks.mean(dim=1, keepdim=True) + 2.5 * blocks.std(dim=1, keepdim=True)
        indices = self._nearest(blocks / scale).reshape(-1, 8 // self.num_bits)
        packed = (indices << torch.arange(0, 8, self.num_bits)).sum(dim=1, keepdim=True)
        return packed.to(torch.uint8), scale, weight.shape

    def dequantize_block(self, qweight, weight_max, weight_shape):
        indices = (qweight.long() >> torch.arange(0, 8, self.num_bits)) % 2**self.num_bits
        return (self.norm_lookup_table[indices].reshape(-1, self.block_size) * weight_max).reshape(weight_shape)


def _low_rank_decomposition(weight, reduced_rank=32):
    u, s, v = torch.linalg.svd(weight, full_matrices=False)
    root = s[:reduced_rank].sqrt()
    left, right = u[:, :reduced_rank] * root, root[:, None] * v[:reduced_rank]
    return {"L": left, "R": right, "U": u, "S": s, "Vh": v, "reduced_rank": reduced_rank}


@torch.no_grad()
def loftq_init(weight, num_bits, reduced_rank, num_iter=1):
    quantizer = NFQuantizer(num_bits=num_bits, device=weight.device)
    whole = weight.float()
    low_rank = torch.zeros_like(whole)
    for _ in range(num_iter):
        decoded = quantizer.dequantize_block(*quantizer.quantize_block(whole - low_rank))
        factors = _low_rank_decomposition(whole - decoded, reduced_rank)
        low_rank = factors["L"] @ factors["R"]
    return decoded.to(weight.dtype), factors["R"], factors["L"]
