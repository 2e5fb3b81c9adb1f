"""How far do embeddings of different inputs spread out, and do those of pairs stay together?"""

import json

import torch
from sentence_transformers.sentence_transformer import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import GlobalOrthogonalRegularizationLoss
from sentence_transformers.util import cos_sim

_FEATURES, _WIDTH, _ROWS, _STEPS, _RATE = 12, 8, 16, 20, 0.5


def run(seed: int = 0) -> dict[str, float]:
    """Mean and second moment of cosines of different inputs, and mean cosine of pairs, by the terms' weights."""
    generator = torch.Generator().manual_seed(seed)
    # All inputs have a part in common, so that their embeddings begin in a cone.
    anchors = torch.randn(_ROWS, _FEATURES, generator=generator) + 1.5
    positives = anchors + 0.3 * torch.randn(_ROWS, _FEATURES, generator=generator)
    weight = torch.randn(_WIDTH, _FEATURES, generator=generator) / _FEATURES**0.5
    columns = [{"vectors": anchors}, {"vectors": positives}]
    others = ~torch.eye(_ROWS, dtype=torch.bool)
    results = {}
    for name, weights in {"none": None, "mean": (1.0, None), "second moment": (0.0, 1.0), "both": (1.0, 1.0)}.items():
        model = SentenceTransformer(_FEATURES, _WIDTH)
        model.linear.weight.data, model.linear.bias.data = weight.clone(), torch.zeros(_WIDTH)
        parameters = list(model.parameters())
        for _ in range(_STEPS):
            embeddings = [model(column)["sentence_embedding"] for column in columns]
            loss = (1 - torch.cosine_similarity(*embeddings)).mean()
            if weights:
                gor = GlobalOrthogonalRegularizationLoss(
                    model, mean_weight=weights[0], second_moment_weight=weights[1], aggregation="sum"
                )
                loss = loss + sum(gor(columns).values())
            for parameter, slope in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                parameter.data.sub_(_RATE * slope)
        with torch.no_grad():
            embeddings = [model(column)["sentence_embedding"] for column in columns]
            cosines = cos_sim(embeddings[0], embeddings[0])[others]
            results[f"{name}/mean"] = cosines.mean().item()
            results[f"{name}/second moment"] = cosines.square().mean().item()
            results[f"{name}/pairs"] = torch.cosine_similarity(*embeddings).mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
