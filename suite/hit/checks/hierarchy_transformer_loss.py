"""hierarchy_transformer_loss: loss, parts, gradients, what stays as it is; for given embeddings and for an encoder."""

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
        self.part = nn.Identity()
        # Its dtype is not that of the embeddings.
        self.unused = nn.Parameter(torch.zeros((), dtype=torch.float32))
        self.seen, self.made = [], []

    def forward(self, features):
        self.seen.append(features["position"])
        self.made.append({"sentence_embedding": features["points"] * (1.0 if self.training else 0.5)})
        return self.made[-1]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def points(batch, dim, dtype=torch.float64):
        # Rows at different distances from the origin, so that hinges are open for some triplets and shut for others.
        cube = 2 * torch.rand(3, batch, dim, generator=generator, dtype=dtype) - 1
        return cube * (0.25 + 0.7 * torch.rand(3, batch, 1, generator=generator, dtype=dtype))

    def settings():
        # Clustering weight, clustering margin, centripetal weight, centripetal margin.
        low, span = torch.tensor([0.4, 0.6, 1.3, 0.2]), torch.tensor([0.4, 1.5, 0.9, 0.5])
        return (low + span * torch.rand(4, generator=generator)).tolist()

    def labels(batch):
        return torch.randint(0, 2, (batch,), generator=generator)

    for batch, dim, dtype in ((23, 16, torch.float64), (9, 5, torch.float32), (6, 64, torch.float32)):
        given = {"points": points(batch, dim, dtype), "labels": labels(batch)}
        yield {"name": f"{batch} triplets, {dim} dimensions", **given, "settings": settings()}
    for dtype in HALF:
        given = {"points": (0.5 * points(6, 8)).to(dtype), "labels": labels(6)}
        yield {"name": f"embeddings in {dtype}", **given, "settings": settings()}
    yield {"name": "one triplet", "points": points(1, 12), "labels": labels(1), "settings": [0.6, 9.0, 1.7, 6.0]}
    # The same values, laid out in memory as they lie after a transposition.
    given = {"points": points(8, 7).mT.contiguous().mT, "labels": labels(8)}
    given["labels"] = given["labels"].float()
    yield {"name": "a generator", **given, "settings": settings(), "generator": True}
    given = {"points": points(17, 10), "labels": labels(17)}
    yield {"name": "another curvature", **given, "settings": settings(), "curvature": 0.01, "view": True}
    given = {"points": 0.09 * points(6, 9), "labels": labels(6)}
    yield {"name": "a small ball", **given, "settings": settings(), "curvature": 10.0}
    yield {"name": "wide margins", "points": points(5, 8), "labels": labels(5), "settings": [0.003, 100.0, 1e5, 100.0]}
    given = {"points": 0.05 * points(9, 8), "labels": labels(9)}
    yield {"name": "no centripetal margin", **given, "settings": [20.0, 0.01, 0.002, 0.0]}
    given = {"points": points(9, 8), "labels": labels(9)}
    yield {"name": "hardly a clustering margin", **given, "settings": [0.8, 1e-3, 1.9, 0.4]}
    yield {"name": "margins of one", "points": points(9, 8), "labels": labels(9), "settings": [0.7, 1.0, 1.9, 1.0]}
    yield {"name": "defaults", "points": points(11, 20), "labels": labels(11), "settings": []}
    for name, weights in (("no clustering", (0.0, 1.6)), ("no centripetal force", (0.8, 0.0))):
        given = {"points": points(10, 6), "labels": labels(10)}
        yield {"name": name, **given, "settings": [weights[0], 1.2, weights[1], 0.3]}
    for dtype in (torch.uint8, torch.bool, torch.float64):
        given = {"points": points(5, 6, torch.float32), "labels": labels(5).to(dtype)}
        yield {"name": f"labels in {dtype}", **given, "settings": settings()}
    given = {"points": points(5, 6), "labels": torch.tensor([1, -100, 1, -1, 0])}
    yield {"name": "labels of any value", **given, "settings": settings()}
    yield {"name": "no weight at all", **given, "settings": [0.0, 1.2, 0.0, 0.3]}
    given = {"points": points(10, 6), "labels": labels(10), "settings": settings()}
    yield {"name": "in evaluation", **given, "training": False}
    earlier = {"points": points(10, 6), "labels": labels(10), "settings": settings(), "curvature": 0.11}
    given = {"points": points(10, 6), "labels": labels(10), "settings": settings()}
    yield {"name": "called again", **given, "earlier": earlier}
    # Near the boundary lie all, entities and their parents, entities and their negatives, parents alone.
    far = points(8, 7)
    shares = torch.where(torch.arange(8) % 2 == 0, 0.9999, 1 - 2e-6).unsqueeze(-1)
    far *= shares * 7**0.5 / far.norm(dim=-1, keepdim=True)
    far[1, :2] = far[0, :2] * (1 - 8e-6)
    far[2, 2:4] = 0.9999 * far[0, 2:4]
    far[1, 4:6] = 0.999 * far[0, 4:6]
    far[[0, 2], 6:] *= 0.02
    given = {"points": far, "labels": labels(8), "settings": [0.7, 60.0, 1.9, 40.0]}
    yield {"name": "near the boundary", **given, "near_boundary": True}
    close = points(5, 8)
    close[1] = close[0] * (1 + 4e-6)
    yield {"name": "parents close to entities", "points": close, "labels": labels(5), "settings": [0.7, 9.0, 1.9, 0.4]}
    alike = points(5, 8)
    alike[1] = alike[0]
    # Some lie at the origin.
    alike[:2, :2], alike[2, 2] = 0, 0
    yield {"name": "parents are the entities", "points": alike, "labels": labels(5), "settings": [0.7, 9.0, 1.9, 0.4]}
    short = 2e-3 * points(6, 8)
    short[1] = short[0] * (1 + 4e-6)
    yield {
        "name": "short, parents close to entities",
        "points": short,
        "labels": labels(6),
        "settings": [0.7, 9, 1.9, 2],
    }
    yield {"name": "one dimension", "points": points(4, 1), "labels": labels(4), "settings": settings()}
    yield {"name": "many triplets", "points": points(300, 3), "labels": labels(300), "settings": settings()}
    given = {"points": points(7, 5), "labels": labels(7)}
    yield {"name": "embeddings without gradients", **given, "settings": settings(), "frozen": True}
    yield {"name": "a model with a hook", **given, "settings": settings(), "hooked": True}
    same = points(6, 5)
    same[1] = same[0]
    yield {"name": "the same features twice", "points": same, "labels": labels(6), "settings": settings(), "same": True}
    entities = points(6, 9)[0]
    settled = torch.stack((entities, 0.5 * entities, -entities))
    yield {"name": "all is in order", "points": settled, "labels": labels(6), "settings": [0.7, 0.02, 1.9, 0.01]}
    confused = points(7, 9)
    confused[2] = confused[1]
    yield {"name": "negatives are the parents", "points": confused, "labels": labels(7), "settings": settings()}
    level = points(5, 9)
    level[1] = -level[0]
    yield {"name": "parents as far out", "points": level, "labels": labels(5), "settings": settings()}
    for count, generated in ((0, False), (2, False), (4, False), (0, True), (2, True), (4, True)):
        given = {"points": points(3, 4)[[0, 1, 2, 0][:count]], "labels": labels(3), "settings": settings()}
        yield {"name": f"{count} features{', generated' if generated else ''}", **given, "generator": generated}
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
        calls = []
        model.register_forward_pre_hook(lambda *_: calls.append(len(calls)))
        results = HierarchyTransformerLoss(model, *case["settings"])(features, torch.ones(len(case["texts"][0])))
        weights = [model.embed.weight, model.attention.in_proj_weight, model.output.weight, model.output.bias]
        return {
            "results": results,
            "gradients": gradients(results["loss"], weights),
            "features": [sorted(column) for column in features],
            # Those of the gradients included.
            "calls": len(calls),
        }

    def ball(case):
        return PoincareBall(case["curvature"]) if "curvature" in case else PoincareBall.around_cube(dim)

    def state():
        settings = {name: value for name, value in vars(loss_function).items() if isinstance(value, float)}
        modes = [loss_function.training, model.training, model.part.training]
        return [settings, sorted(vars(loss_function)), sorted(vars(model)), modes]

    points = [column.clone().requires_grad_("frozen" not in case) for column in case["points"]]
    dim = case["points"].shape[-1]
    first = case.get("earlier", case)
    model = GivenEmbeddings(ball(first)).train(case.get("training", True))
    if "hooked" in case:
        model.register_forward_hook(
            lambda _, given, made: made | {"sentence_embedding": 0.5 * made["sentence_embedding"]}
        )
    loss_function = HierarchyTransformerLoss(model, *first["settings"])
    model.part.train(not model.training)
    if first is not case:
        loss_function([{"points": column, "position": -1} for column in first["points"]], first["labels"])
        model.manifold = ball(case)
        for name, value in zip(SETTINGS, case["settings"], strict=True):
            setattr(loss_function, name, value)
    model.seen.clear()
    model.made.clear()
    before, labels = state(), case["labels"].clone()
    features = [{"points": column, "position": position} for position, column in enumerate(points)]
    if "same" in case:
        features[1] = features[0]
    given = (column for column in features) if case.get("generator") else features
    given = dict(enumerate(features)).values() if case.get("view") else given
    try:
        results = loss_function(given, labels)
    except ValueError:
        return {"raised": "ValueError"}
    unchanged = {
        "points": [bool(torch.equal(now, then)) for now, then in zip(points, case["points"], strict=True)],
        "features": [sorted(column) for column in features],
        "objects": state() == before,
        "labels": bool(torch.equal(labels, case["labels"])),
        "seen": [model.seen, [sorted(made) for made in model.made]],
        "hooks": [bool(x._backward_hooks) for x in (*points, *(made["sentence_embedding"] for made in model.made))],
    }
    slopes = {name: gradients(value, points) for name, value in results.items()}
    if case["name"] in ("parents are the entities", "the same features twice"):
        # The norm of a difference of 0 has no gradient.
        slopes = {name: [bool(x.isfinite().all()) for x in values or ()] for name, values in slopes.items()}
    dtype = case["points"].dtype
    if dtype in HALF:
        # There right versions round in different places.
        facts = {name: [str(value.dtype), bool(value.isfinite())] for name, value in results.items()}
        finite = [bool(slope.isfinite().all()) for slope in slopes["loss"]]
        return {"facts": facts, "finite": finite, "unchanged": unchanged}
    key = "near_boundary" if "near_boundary" in case else "in_double" if dtype == torch.float64 else "in_single"
    return {key: {"results": results, "gradients": slopes}, "unchanged": unchanged}


def gradients(value, inputs):
    """Gradients of a scalar, zeros where there is none; None if it is detached."""
    if not value.requires_grad:
        return None
    return list(torch.autograd.grad(value, inputs, retain_graph=True, materialize_grads=True))
