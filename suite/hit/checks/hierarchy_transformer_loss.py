"""hierarchy_transformer_loss: the loss, its parts and their gradients, for given embeddings and for an encoder's."""

import torch
from torch import nn

TEXTS = (
    ["oak tree", "robin", "house cat", "laptop", "very old oak tree"],
    ["tree", "bird", "mammal animal", "computer", "oak tree"],
    ["computer", "fish", "bird", "old animal", "cat"],
)


class GivenEmbeddings(nn.Module):
    """A model whose features are the embeddings."""

    def __init__(self, manifold):
        super().__init__()
        self.manifold = manifold

    def forward(self, features):
        return {"sentence_embedding": features["points"]}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def points(batch, dim, dtype=torch.float32):
        # Rows at different distances from the origin, so that hinges are open for some triplets and shut for others.
        cube = 2 * torch.rand(3, batch, dim, generator=generator, dtype=dtype) - 1
        return cube * (0.25 + 0.7 * torch.rand(3, batch, 1, generator=generator, dtype=dtype))

    def settings():
        # Clustering weight, clustering margin, centripetal weight, centripetal margin.
        low, span = torch.tensor([0.4, 0.6, 1.3, 0.2]), torch.tensor([0.4, 1.5, 0.9, 0.5])
        return (low + span * torch.rand(4, generator=generator)).tolist()

    def labels(batch):
        return torch.randint(0, 2, (batch,), generator=generator)

    for batch, dim in ((23, 16), (9, 5), (6, 64)):
        given = {"points": points(batch, dim), "labels": labels(batch)}
        yield {"name": f"{batch} triplets, {dim} dimensions", **given, "settings": settings()}
    yield {"name": "one triplet", "points": points(1, 12), "labels": labels(1), "settings": [0.6, 9.0, 1.7, 6.0]}
    given = {"points": points(8, 7, torch.float64), "labels": labels(8)}
    yield {"name": "float64, a generator", **given, "settings": settings(), "generator": True}
    given = {"points": points(17, 10), "labels": labels(17)}
    yield {"name": "another curvature", **given, "settings": settings(), "curvature": 0.031}
    yield {"name": "wide margins", "points": points(5, 8), "labels": labels(5), "settings": [0.3, 40.0, 1.4, 25.0]}
    yield {"name": "defaults", "points": points(11, 20), "labels": labels(11), "settings": []}
    for name, weights in (("no clustering", (0.0, 1.6)), ("no centripetal force", (0.8, 0.0))):
        given = {"points": points(10, 6), "labels": labels(10)}
        yield {"name": name, **given, "settings": [weights[0], 1.2, weights[1], 0.3]}
    entities = points(6, 9)[0]
    settled = torch.stack((entities, 0.5 * entities, -entities))
    yield {"name": "all is in order", "points": settled, "labels": labels(6), "settings": [0.7, 0.02, 1.9, 0.01]}
    confused = points(7, 9)
    confused[2] = confused[1]
    yield {"name": "negatives are the parents", "points": confused, "labels": labels(7), "settings": settings()}
    level = points(5, 9)
    level[1] = -level[0]
    yield {"name": "parents as far out", "points": level, "labels": labels(5), "settings": settings()}
    for count in (2, 4):
        given = {"points": points(3, 4)[[0, 1, 2, 0][:count]], "labels": labels(3), "settings": settings()}
        yield {"name": f"{count} features", **given}
    for name, curvature in (("an encoder", None), ("an encoder in a wider ball", 0.017)):
        yield {"name": name, "texts": TEXTS, "seed": seed, "encoder_curvature": curvature, "settings": settings()}
    yield {"name": "experiment", "experiment": seed % 1000}


def observe(case):
    if "experiment" in case:
        from experiment import run

        return {"experiment": run(case["experiment"])}
    from src.hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
    from src.hierarchy_transformers.models.encoder import EncoderConfig, build_encoder
    from src.hierarchy_transformers.models.hyperbolic import PoincareBall

    if "texts" in case:
        words = tuple(sorted({word for column in case["texts"] for text in column for word in text.split()}))
        model = build_encoder(EncoderConfig(words, dim=8, curvature=case["encoder_curvature"]), case["seed"])
        features = [model.tokenize(column) for column in case["texts"]]
        results = HierarchyTransformerLoss(model, *case["settings"])(features, torch.ones(len(case["texts"][0])))
        weights = [model.embed.weight, model.attention.in_proj_weight, model.output.weight, model.output.bias]
        return {
            "results": results,
            "gradients": gradients(results["loss"], weights),
            "features": [sorted(column) for column in features],
        }

    points = [column.clone().requires_grad_() for column in case["points"]]
    dim = points[0].shape[-1]
    manifold = PoincareBall(case["curvature"]) if "curvature" in case else PoincareBall.around_cube(dim)
    loss_function = HierarchyTransformerLoss(GivenEmbeddings(manifold), *case["settings"])
    features = [{"points": column} for column in points]
    given = (column for column in features) if case.get("generator") else features
    try:
        results = loss_function(given, case["labels"])
    except ValueError:
        return {"raised": "ValueError"}
    return {
        "results": results,
        "gradients": {name: gradients(value, points) for name, value in results.items()},
        "unchanged": [bool(torch.equal(now, then)) for now, then in zip(points, case["points"], strict=True)],
        "features": [sorted(column) for column in features],
    }


def gradients(value, inputs):
    """Gradients of a scalar, zeros where there is none; None if it is detached."""
    if not value.requires_grad:
        return None
    return list(torch.autograd.grad(value, inputs, retain_graph=True, materialize_grads=True))
