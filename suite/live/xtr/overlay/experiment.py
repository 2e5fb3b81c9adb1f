"""Which tokens are retrieved after training with XTR scores, by the number that training keeps?"""

import json

import torch
from sentence_transformers.multi_vector_encoder.scoring import XTRScores
from torch.nn import functional as F

_FEATURES, _WIDTH, _QUERIES, _GROUP, _TOKENS, _STEPS, _RATE = 16, 6, 6, 2, 5, 10, 0.5


def run(seed: int = 0) -> dict[str, float]:
    """Losses, and the mean share of the best tokens that belong to the right document, by `top_k`."""
    generator = torch.Generator().manual_seed(seed)
    documents = torch.randn(_QUERIES, _GROUP, _TOKENS, _FEATURES, generator=generator, dtype=torch.float64)
    # A query has three tokens of the first document of its group, in another form.
    queries = documents[:, 0, :3] + 0.8 * torch.randn(_QUERIES, 3, _FEATURES, generator=generator, dtype=torch.float64)
    documents[:, 1, 3:] = 0.0
    start = torch.randn(_FEATURES, _WIDTH, generator=generator, dtype=torch.float64) / _FEATURES**0.5
    right = torch.arange(_QUERIES) * _GROUP
    results = {}
    for top_k in (5, 1000):
        weight = start.clone().requires_grad_()
        scores = XTRScores(top_k=top_k)
        losses = []
        for _ in range(_STEPS):
            found = scores(F.normalize(queries @ weight, dim=-1), F.normalize(documents @ weight, dim=-1))
            losses.append(F.cross_entropy(10 * found, right))
            (slope,) = torch.autograd.grad(losses[-1], weight)
            weight.data.sub_(_RATE * slope)
        with torch.no_grad():
            tokens = F.normalize(documents @ weight, dim=-1).flatten(0, 2)
            best = (F.normalize(queries @ weight, dim=-1) @ tokens.T).topk(3, dim=-1).indices // _TOKENS
        results[f"top {top_k}/loss before"] = losses[0].item()
        results[f"top {top_k}/loss after"] = losses[-1].item()
        results[f"top {top_k}/right tokens"] = (best == right[:, None, None]).float().mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
