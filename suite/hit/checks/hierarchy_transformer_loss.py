"""hierarchy_transformer_loss: loss, parts and gradients, for given embeddings and an encoder; then the experiment."""

from itertools import product

import torch
from torch import nn

TEXTS = (
    ["oak tree", "robin", "house cat", "laptop", "very old oak tree"],
    ["tree", "bird", "mammal animal", "computer", "oak tree"],
    ["computer", "fish", "bird", "old animal", "cat"],
)
SETTINGS = ("clustering_weight", "clustering_margin", "centripetal_weight", "centripetal_margin")
HALF = (torch.float16, torch.bfloat16)


class GivenEmbeddings(nn.Module):
    """A model whose features are the embeddings while it trains, and half of them in evaluation."""

    def __init__(self, manifold):
        super().__init__()
        self.manifold = manifold

    def forward(self, features):
        return {"sentence_embedding": features["points"] * (1.0 if self.training else 0.5)}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, batch=None, dim=None, dtype=torch.float64, curvature=None, labels=torch.long, **more):
        """Rows at different distances from the origin, so that some hinges are open and others shut."""
        batch, dim = batch or integer(4, 24), dim or integer(3, 16)
        labels = torch.randint(0, 2, (batch,), generator=generator).to(labels)
        found = {"name": name, "labels": labels, "curvature": curvature, "settings": settings(), **more}
        while True:
            points = 2 * torch.rand(3, batch, dim, generator=generator, dtype=torch.float64) - 1
            points *= 0.25 + 0.7 * torch.rand(3, batch, 1, generator=generator, dtype=torch.float64)
            points *= (1 if curvature is None else (curvature * dim) ** -0.5) * found.get("scale", 1)
            _, clustering, _, centripetal = found["settings"] or (1.0, 5.0, 1.0, 0.1)
            if is_clear(0.5 * points if found.get("training") is False else points, curvature, clustering, centripetal):
                return found | {"points": points.to(dtype)}

    def is_clear(points, curvature, clustering_margin, centripetal_margin):
        """Whether no hinge is so near its corner that rounding could open or shut it."""
        c = 1 / points.shape[-1] if curvature is None else curvature

        def distance(u, v):
            room = (1 - c * u.square().sum(-1)) * (1 - c * v.square().sum(-1))
            return torch.acosh(1 + 2 * c * (u - v).square().sum(-1) / room) / c**0.5

        entity, parent, negative = points
        clustering = distance(entity, parent) - distance(entity, negative) + clustering_margin
        centripetal = distance(parent, 0 * parent) - distance(entity, 0 * entity) + centripetal_margin
        return torch.stack((clustering, centripetal)).abs().min() > 1e-4

    def settings():
        return [uniform(0.4, 0.8), uniform(0.6, 2.1), uniform(1.3, 2.2), uniform(0.2, 0.7)]

    for dtype, given, training in product((torch.float64, torch.float32), (False, True), (True, False)):
        name = f"{dtype}{', a given curvature' * given}{', in evaluation' * (not training)}"
        curvature = 10 ** uniform(-2, 0) if given else None
        yield case(name, dtype=dtype, curvature=curvature, training=training, labels=torch.float32)
        yield case(f"{name}, default settings", dtype=dtype, curvature=curvature, training=training, settings=[])
    yield case("one triplet", batch=1, settings=[0.6, 9.0, 1.7, 6.0])
    yield case("one dimension", dim=1)
    yield case("wide margins", settings=[uniform(0.4, 3), 10.0, uniform(0.4, 3), 10.0])
    yield case("margins of one", settings=[uniform(0.4, 3), 1.0, uniform(0.4, 3), 1.0])
    yield case("many triplets", batch=200, dim=3)
    for name, curvature in (("an encoder", None), ("an encoder in a wider ball", 0.017)):
        yield {"name": name, "texts": TEXTS, "seed": seed, "encoder_curvature": curvature, "settings": settings()}
    yield {"name": "experiment", "experiment": seed % 1000}

    for name, zeros in (("no clustering", (0,)), ("no centripetal force", (2, 3)), ("no centripetal margin", (3,))):
        found = [0.0 if place in zeros else value for place, value in enumerate(settings())]
        yield case(name, settings=found, edge=True)
    for given in (None, 0.3):
        changed = case(f"changed later, curvature {given}", curvature=given, edge=True)
        yield changed | {"earlier": {"curvature": uniform(0.05, 0.15), "settings": settings()}}
    yield case("no labels", edge=True) | {"labels": torch.zeros(0)}
    for dtype in (torch.float64, torch.float32):
        alike = case(f"parents are the entities, {dtype}", batch=5, dtype=dtype, edge=True)
        alike["points"][1] = alike["points"][0]
        # One lies at the origin.
        alike["points"][:2, 2] = 0
        yield alike | {"kinks": True}
    for dtype in HALF:
        yield case(f"embeddings in {dtype}", dtype=dtype, scale=0.5, edge=True)


def observe(case):
    if "experiment" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {
            "experiment": {stage: metrics for stage, metrics in run(case["experiment"]).items() if stage != "rates"}
        }
    from src.hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
    from src.hierarchy_transformers.models.encoder import EncoderConfig, build_encoder
    from src.hierarchy_transformers.models.hyperbolic import PoincareBall

    if "texts" in case:
        words = tuple(sorted({word for column in case["texts"] for text in column for word in text.split()}))
        model = build_encoder(EncoderConfig(words, dim=8, curvature=case["encoder_curvature"]), case["seed"])
        features = [model.tokenize(column) for column in case["texts"]]
        results = HierarchyTransformerLoss(model, *case["settings"])(features, torch.ones(len(case["texts"][0])))
        weights = [model.embed.weight, model.attention.in_proj_weight, model.output.weight, model.output.bias]
        return {"results": results, "gradients": gradients(results["loss"], weights)}

    def ball(case):
        return PoincareBall.around_cube(dim) if case["curvature"] is None else PoincareBall(case["curvature"])

    points, dim = [column.clone().requires_grad_() for column in case["points"]], case["points"].shape[-1]
    features = [{"points": column} for column in points]
    first = case.get("earlier", case)
    model = GivenEmbeddings(ball(first)).train(case.get("training", True))
    loss_function = HierarchyTransformerLoss(model, *first["settings"])
    if first is not case:
        loss_function(features, case["labels"])
        model.manifold = ball(case)
        for name, value in zip(SETTINGS, case["settings"], strict=True):
            setattr(loss_function, name, value)
    training, labels = model.training, case["labels"].clone()
    results = loss_function(features, labels)
    facts = {"mode": model.training == training, "dtypes": {name: str(value.dtype) for name, value in results.items()}}
    facts["labels_unchanged"] = torch.equal(labels, case["labels"])
    slopes = {name: gradients(value, points) for name, value in results.items()}
    if "kinks" in case:
        # The norm of a difference of 0 has no gradient.
        slopes = {name: [bool(slope.isfinite().all()) for slope in found] for name, found in slopes.items()}
    if points[0].dtype in HALF:
        # There right versions round in different places.
        finite = {name: [bool(found.isfinite().all()) for found in (results[name], *slopes[name])] for name in results}
        return {"finite": finite, **facts}
    key = "in_double" if points[0].dtype == torch.float64 else "in_single"
    return {key: {"results": results, "gradients": slopes}, **facts}


def gradients(value, inputs):
    """Gradients of a scalar, zeros where there is none; None if it is detached."""
    if not value.requires_grad:
        return None
    return list(torch.autograd.grad(value, inputs, retain_graph=True, materialize_grads=True))
