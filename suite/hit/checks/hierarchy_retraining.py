"""Re-training from end to end: the ball, the encoder, losses, batches, the loop, measures. In double precision."""

from contextlib import contextmanager

import torch
from torch import nn

NAMES = ["oak tree", "robin", "very old oak tree", "personal computer", "cat"]


class Given(nn.Module):
    """A model whose features are the embeddings."""

    def __init__(self, manifold):
        super().__init__()
        self.manifold = manifold

    def forward(self, features):
        return {"sentence_embedding": features["points"]}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def points(count, batch, dim, curvature):
        """Rows at different distances from the origin, none near the boundary."""
        drawn = torch.randn(count, batch, dim, generator=generator, dtype=torch.float64)
        reach = 0.1 + 0.8 * torch.rand(count, batch, 1, generator=generator, dtype=torch.float64)
        return reach * drawn / drawn.norm(dim=-1, keepdim=True) / curvature**0.5

    for dim, curvature in ((24, None), (5, uniform(0.02, 0.1)), (3, uniform(2, 8))):
        given = {"dim": dim, "curvature": curvature, "points": points(2, 9, dim, curvature or 1 / dim)}
        yield {"name": f"a ball in {dim} dimensions", "function": "ball", **given}
    for dim, heads in ((12, 3), (8, 1)):
        order = torch.randperm(len(NAMES), generator=generator).tolist()
        given = {"names": [NAMES[index] for index in order], "dim": dim, "heads": heads, "seed": seed % 1000}
        yield {"name": f"an encoder with {heads} heads", "function": "encoder", **given}
    for number in range(3):
        curvature, batch = uniform(0.02, 0.5), 8 - number
        given = {"curvature": curvature, "points": points(3, batch, 6, curvature)}
        given["settings"] = [uniform(0.3, 2), uniform(0.5, 3), uniform(0.3, 2), uniform(0.1, 3)] if number else []
        yield {"name": f"triplets {number}", "function": "triplets", **given}
        given = {"curvature": curvature, "points": points(2, batch, 6, curvature)}
        given |= {"labels": torch.arange(batch) % 3 % 2, "settings": [uniform(2, 9)] if number else []}
        yield {"name": f"pairs {number}", "function": "pairs", **given}
    given = {"curvature": None, "seed": seed % 1000}
    yield {"name": "batches", "function": "batches", **given, "count": 7}
    for number, pairs in enumerate((False, True, False)):
        given = {
            "pairs": pairs,
            "seed": seed % 1000 + number,
            "count": 11 + number,
            "curvature": (None, 0.03)[number == 2],
        }
        given["config"] = {"steps": 2 * number + 2, "batch_size": 5 + number, "learning_rate": uniform(1e-3, 2e-2)}
        given["settings"] = (
            [uniform(3, 7)] if pairs else [uniform(0.5, 2), uniform(1, 4), uniform(0.5, 2), uniform(0.2, 1)]
        )
        yield {"name": f"training {number}", "function": "training", **given}
    for number in range(2):
        given = {"seed": seed % 1000 + 7 * number, "count": 20, "curvature": (None, 0.03)[number]}
        yield {"name": f"measures {number}", "function": "measures", **given, "norm_weight": uniform(0.1, 2)}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    functions = (ball, encoder, triplets, pairs, batches, training, measures)
    with double_precision():
        return {function.__name__: function for function in functions}[case["function"]](case)


def ball(case):
    from src.hierarchy_transformers.models.hyperbolic import PoincareBall

    ball = PoincareBall.around_cube(case["dim"]) if case["curvature"] is None else PoincareBall(case["curvature"])
    found = {"curvature": ball.curvature}
    for name in ("mobius_add", "distance", "norm"):
        inputs = [row.clone().requires_grad_() for row in case["points"]][: 1 if name == "norm" else 2]
        value = getattr(ball, name)(*inputs)
        weights = torch.linspace(0.5, 1.5, value.numel()).view(value.shape)
        found[name] = [value, *torch.autograd.grad((weights * value).sum(), inputs)]
    # At the boundary, and beyond it.
    u, _ = case["points"] / case["points"].norm(dim=-1, keepdim=True) * ball.radius
    found["bounded"] = [ball.norm(u * (1 - 1e-7)), ball.norm(1.1 * u), ball.norm(u * (1 - 1e-5))]
    found["opposite"] = ball.distance(u * (1 - 1e-5), -u * (1 - 1e-5))
    found["stacked"] = ball.distance(case["points"], case["points"].flip(1))
    return found


def encoder_for(names, seed, **config):
    from src.hierarchy_transformers.models.encoder import EncoderConfig, build_encoder

    words = tuple(sorted({word for name in names for word in name.split()}))
    return build_encoder(EncoderConfig(words, **config), seed)


def encoder(case):
    model = encoder_for(case["names"][1:], case["seed"], dim=case["dim"], heads=case["heads"])
    features = model.tokenize(case["names"])
    found = model(features)
    embedding, mask = found["sentence_embedding"], features["attention_mask"][..., None]
    weights = torch.linspace(0.5, 1.5, embedding.numel()).view(embedding.shape)
    slopes = torch.autograd.grad((weights * embedding).sum(), list(model.parameters()))
    tokens = found["token_embeddings"].where(mask == 1, 0.0)
    kept = {name: found[name] for name in features}
    return {"embedding": embedding, "tokens": tokens, "kept": kept, "slopes": list(slopes)}


def loss_of(case, kind):
    from src.hierarchy_transformers.losses.contrastive_loss import HyperbolicContrastiveLoss
    from src.hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
    from src.hierarchy_transformers.models.hyperbolic import PoincareBall

    model = case["model"] if "model" in case else Given(PoincareBall(case["curvature"]))
    return (HyperbolicContrastiveLoss if kind == "pairs" else HierarchyTransformerLoss)(model, *case["settings"])


def triplets(case):
    inputs = [row.clone().requires_grad_() for row in case["points"]]
    features, labels = [{"points": row} for row in inputs], torch.ones(len(inputs[0]))
    found = loss_of(case, "triplets")(features, labels)
    slopes = {
        name: list(torch.autograd.grad(found[name], inputs, retain_graph=True, materialize_grads=True))
        for name in found
    }
    return {"parts": dict(sorted(found.items())), "slopes": dict(sorted(slopes.items()))}


def pairs(case):
    inputs = [row.clone().requires_grad_() for row in case["points"]]
    found = loss_of(case, "pairs")([{"points": row} for row in inputs], case["labels"])
    return {"parts": found, "slopes": list(torch.autograd.grad(found["loss"], inputs))}


def drawn(case):
    """An encoder of random weights, the hierarchy, and triplets of it."""
    from src.hierarchy_transformers.datasets import draw_triplets, things

    hierarchy, generator = things(), torch.Generator().manual_seed(case["seed"])
    every = hierarchy.direct() + hierarchy.indirect()
    rows = draw_triplets(hierarchy, every, 1, generator)
    chosen = [rows[index] for index in torch.randperm(len(rows), generator=generator)[: case["count"]].tolist()]
    model = encoder_for(hierarchy.entities, case["seed"], dim=8, heads=2, curvature=case["curvature"])
    return model, hierarchy, chosen


def batches(case):
    from src.hierarchy_transformers.training import pair_batch, triplet_batch

    model, _, rows = drawn(case)
    made = {"triplets": triplet_batch(model, rows), "pairs": pair_batch(model, rows)}
    return {name: [list(features), labels.double()] for name, (features, labels) in made.items()}


def training(case):
    from src.hierarchy_transformers.training import TrainConfig, train

    model, _, rows = drawn(case)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    loss = loss_of({**case, "model": model}, "pairs" if case["pairs"] else "triplets")
    generator = torch.Generator().manual_seed(case["seed"])
    parts = train(loss, rows, TrainConfig(**case["config"]), generator, pairs=case["pairs"])
    moved = [(now.detach() - then).flatten() for now, then in zip(model.parameters(), before, strict=True)]
    return {"parts": dict(sorted(parts.items())), "moved": torch.cat(moved)[::3]}


def measures(case):
    from src.hierarchy_transformers.evaluation import depth_correlation, ranking, subsumption_scores

    model, hierarchy, rows = drawn(case)
    entities, others = [row.entity for row in rows], [row.negative for row in rows]
    return {
        "scores": subsumption_scores(model, entities, others, case["norm_weight"]).detach(),
        "ranking": ranking(model, rows, case["norm_weight"]),
        "correlation": depth_correlation(model, hierarchy),
    }
