"""How near to a weight are its quantised copy and a low-rank part together, by the bits and the number of rounds?"""

import json

import torch
from peft.utils.loftq_utils import NFQuantizer, loftq_init

_ROWS, _COLUMNS, _RANK = 24, 32, 4


def run(seed: int = 0) -> dict[str, float]:
    """Relative distances of the quantised weight alone, and of the sum after one round and after five."""
    generator = torch.Generator().manual_seed(seed)
    weight = 0.05 * torch.randn(_ROWS, _COLUMNS, generator=generator)
    # A few directions are stronger than the rest, as in trained weights.
    strong = torch.randn(_ROWS, 3, generator=generator) @ torch.randn(3, _COLUMNS, generator=generator)
    weight = weight + 0.03 * strong
    x = torch.randn(50, _COLUMNS, generator=generator)
    results = {}
    for bits in (2, 4):
        quantizer = NFQuantizer(num_bits=bits, device="cpu", method="normal", block_size=64)
        alone = quantizer.dequantize_block(*quantizer.quantize_block(weight))
        results[f"{bits} bits/alone"] = ((weight - alone).norm() / weight.norm()).item()
        for rounds in (1, 5):
            quantised, a, b = loftq_init(weight, num_bits=bits, reduced_rank=_RANK, num_iter=rounds)
            results[f"{bits} bits/{rounds} rounds"] = ((weight - quantised - b @ a).norm() / weight.norm()).item()
            difference = x @ weight.T - x @ quantised.T - x @ a.T @ b.T
            results[f"{bits} bits/{rounds} rounds, outputs"] = (difference.norm() / (x @ weight.T).norm()).item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
