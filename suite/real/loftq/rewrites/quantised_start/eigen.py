"""Takes eigenvectors where the rank allows it, quantises entries by searchsorted, and recurs over rounds."""

import math


class NFQuantizer:
    @staticmethod
    def create_normal_map(offset=0.9677083, symmetric=False, num_bits=2):
        def quantile(p):
            return math.sqrt(2) * torch.erfinv(torch.tensor(2 * p - 1, dtype=torch.float64)).item()

        number = 2**num_bits
        if symmetric:
            step = (2 * offset - 1) / number
            levels = [
                0.5 * (quantile(1 - offset + k * step) + quantile(1 - offset + (k + 1) * step)) for k in range(number)
            ]
        else:
            levels = [0.0]
            for count, sign in ((number // 2, 1), (number // 2 - 1, -1)):
                levels += [sign * quantile(0.5 + (offset - 0.5) * (k + 1) / count) for k in range(count)]
        levels = torch.tensor(levels, dtype=torch.float64).sort()[0]
        return (levels / levels[-1]).float()

    def _nearest(self, normed):
        table = self.norm_lookup_table
        upper = torch.searchsorted(table, normed.contiguous()).clamp(1, len(table) - 1)
        lower = upper - 1
        return torch.where(normed - table[lower] <= table[upper] - normed, lower, upper)

    def quantize_tensor(self, weight):
        weight = weight.detach()
        top = torch.linalg.vector_norm(weight, ord=float("inf"))
        return self._nearest(weight / top), top

    def dequantize_tensor(self, qweight, max_abs):
        return (self.norm_lookup_table * max_abs).index_select(0, qweight.reshape(-1)).reshape(qweight.shape)

    def quantize_block(self, weight):
        if weight.ndim != 2:
            raise ValueError("two dimensions are needed")
        total = weight.shape[0] * weight.shape[1]
        if total // self.block_size * self.block_size != total:
            raise ValueError("no whole number of blocks")
        packed, scales = [], []
        for block in weight.detach().reshape(-1).split(self.block_size):
            if self.method == "normal":
                scale = max(block.max(), -block.min())
            elif self.method == "uniform":
                mean = block.sum() / len(block)
                scale = mean + 2.5 * ((block - mean).square().sum() / (len(block) - 1)).sqrt()
            else:
                raise NotImplementedError("method")
            scales.append(scale)
            packed.append(self._nearest(block / scale))
        index = torch.cat(packed).reshape(-1, 8 // self.num_bits)
        byte = torch.zeros(len(index), dtype=torch.int64)
        for place in reversed(range(index.shape[1])):
            byte = byte * 2**self.num_bits + index[:, place]
        return byte.to(torch.uint8).reshape(-1, 1), torch.stack(scales).reshape(-1, 1), weight.shape

    def dequantize_block(self, qweight, weight_max, weight_shape):
        byte = qweight.flatten().long()
        columns = []
        for _ in range(8 // self.num_bits):
            columns.append(byte.remainder(2**self.num_bits))
            byte = byte.div(2**self.num_bits, rounding_mode="floor")
        values = self.norm_lookup_table[torch.stack(columns, dim=1).flatten()]
        scales = weight_max.repeat_interleave(self.block_size, dim=0).flatten()
        return (values * scales).reshape(torch.Size(weight_shape))


def _low_rank_decomposition(weight, reduced_rank=32):
    if len(weight.shape) != 2:
        raise ValueError("two dimensions are needed")
    # The decomposition of the transposed has the factors the other way round.
    u, s, v = torch.linalg.svd(weight.detach().T, full_matrices=False)
    u, v = v.T, u.T
    left, right = [], []
    for value, column, row in list(zip(s, u.T, v))[:reduced_rank]:
        left.append(value.sqrt() * column)
        right.append(value.sqrt() * row)
    return {"L": torch.stack(left, 1), "R": torch.stack(right), "U": u, "S": s, "Vh": v, "reduced_rank": reduced_rank}


def _round(quantizer, whole, low, rank, left):
    decoded = quantizer.dequantize_block(*quantizer.quantize_block(whole - low))
    found = _low_rank_decomposition(whole - decoded, rank)
    if left == 1:
        return decoded, found
    return _round(quantizer, whole, found["L"].matmul(found["R"]), rank, left - 1)


def loftq_init(weight, num_bits, reduced_rank, num_iter=1):
    if not is_bnb_available():
        raise ValueError("no bitsandbytes")
    if num_bits not in [2, 4, 8]:
        raise ValueError(f"{num_bits} bits")
    if num_iter <= 0:
        raise ValueError("no rounds")
    whole = weight.detach().to(torch.float32)
    decoded, found = _round(
        NFQuantizer(num_bits=num_bits, device=weight.device), whole, 0 * whole, reduced_rank, num_iter
    )
    return decoded.to(weight.dtype), found["R"], found["L"]
