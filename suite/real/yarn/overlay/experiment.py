"""How well do rotary embeddings tell neighbours apart, and how strange are the angles that they give far away?"""

import json

import torch
from transformers import PretrainedConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

_LENGTH, _WIDTH, _QUERIES = 128, 32, 64


def _scores(frequencies: torch.Tensor, factor: float, distances: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """Attention scores of queries and keys at distances, (queries, distances); `pairs` are complex products."""
    angles = distances.unsqueeze(-1) * frequencies.double()
    turned = pairs.unsqueeze(1) * torch.polar(torch.ones_like(angles), angles)
    return factor**2 * turned.real.sum(-1) / _WIDTH**0.5


def run(seed: int = 0) -> dict[str, float]:
    """Contrast of neighbours and strangeness of far distances, by way of stretching and factor."""
    generator = torch.Generator().manual_seed(seed)
    parts = torch.randn(2, _QUERIES, _WIDTH // 2, 2, generator=generator, dtype=torch.float64)
    query, key = torch.view_as_complex(parts)
    pairs = query * key.conj()
    near, trained = torch.arange(0.0, 8.0), torch.arange(0.0, _LENGTH)
    results = {}
    for factor in (2.0, 8.0):
        for way in ("default", "linear", "yarn"):
            config = PretrainedConfig(
                hidden_size=_WIDTH,
                num_attention_heads=1,
                rope_theta=100.0,
                max_position_embeddings=_LENGTH,
                rope_scaling={"rope_type": way, "factor": factor, "beta_fast": 8},
            )
            stretched, scale = ROPE_INIT_FUNCTIONS[way](config, "cpu")
            plain, _ = ROPE_INIT_FUNCTIONS["default"](config, "cpu")
            contrast = _scores(stretched, scale, near, pairs).std(dim=1).mean()
            results[f"{way}, {factor:g} times/contrast of neighbours"] = contrast.item()
            # Slow dimensions never made a full turn in training: which of their angles were not seen there?
            far = (factor * _LENGTH - 1) * stretched.double()
            seen = (_LENGTH - 1) * plain.double()
            slow = seen < 2 * torch.pi
            results[f"{way}, {factor:g} times/unseen angles"] = (far > seen + 1e-6)[slow].double().mean().item()
            share = _scores(stretched, scale, trained, pairs).softmax(dim=1).amax(dim=1).mean()
            results[f"{way}, {factor:g} times/largest weight"] = share.item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
