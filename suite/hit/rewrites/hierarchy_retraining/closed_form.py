"""Distances in closed form, names of one length together, and AdamW written out."""

from math import sqrt

import torch


class PoincareBall:
    @classmethod
    def around_cube(cls, dim):
        return cls(curvature=1.0 / dim)

    def mobius_add(self, u, v):
        c, dot = self.curvature, torch.einsum("...d,...d->...", u, v).unsqueeze(-1)
        uu, vv = u.pow(2).sum(-1, keepdim=True), v.pow(2).sum(-1, keepdim=True)
        below = 1 + 2 * c * dot + c * c * uu * vv
        return u * ((1 + 2 * c * dot + c * vv) / below) + v * ((1 - c * uu) / below)

    def distance(self, u, v):
        c = self.curvature
        room = (1 - c * u.square().sum(-1)) * (1 - c * v.square().sum(-1))
        between = torch.linalg.vector_norm(u - v, dim=-1)
        bound = 2 * self.radius * torch.atanh(torch.tensor(BOUNDARY, dtype=u.dtype))
        return (2 * self.radius * torch.asinh(sqrt(c) * between / room.sqrt())).clamp(max=bound.item())

    def norm(self, u):
        part = (sqrt(self.curvature) * u.square().sum(-1).sqrt()).clamp(max=BOUNDARY)
        return self.radius * (torch.log1p(part) - torch.log1p(-part))


class HierarchyTransformer:
    def forward(self, features):
        ids, lengths = features["input_ids"], features["attention_mask"].sum(1)
        tokens = self.embed.weight.new_zeros(*ids.shape, self.embed.embedding_dim)
        for length in lengths.unique().tolist():
            rows = (lengths == length).nonzero()[:, 0]
            words = self.embed(ids[rows, :length])
            attended = self.attention(words, words, words)[0]
            found = self.output(words + attended).tanh()
            tokens = tokens.index_put((rows[:, None], torch.arange(length)), found)
        return features | {"token_embeddings": tokens, "sentence_embedding": tokens.sum(1) / lengths[:, None]}


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        found = [self.model(features)["sentence_embedding"] for features in sentence_features]
        ball, (child, parent, other) = self.model.manifold, found
        clusters = F.relu(self.clustering_margin - (ball.distance(child, other) - ball.distance(child, parent)))
        centres = F.relu(self.centripetal_margin - (ball.norm(child) - ball.norm(parent)))
        parts = {"cluster_loss": clusters.sum() / len(child), "centri_loss": centres.sum() / len(child)}
        weights = {"cluster_loss": self.clustering_weight, "centri_loss": self.centripetal_weight}
        return {"loss": sum(weights[name] * parts[name] for name in parts), **parts}


class HyperbolicContrastiveLoss:
    def forward(self, sentence_features, labels):
        first, second = [self.model(features)["sentence_embedding"] for features in sentence_features]
        apart = self.model.manifold.distance(first, second)
        related, missing = labels.to(apart.dtype), (self.margin - apart).relu()
        return {"loss": (related * apart + (1 - related) * missing).sum() / len(apart)}


def triplet_batch(model, triplets):
    names = [[getattr(row, field) for row in triplets] for field in ("entity", "parent", "negative")]
    return [model.tokenize(column) for column in names], torch.tensor([1.0] * len(triplets))


def pair_batch(model, triplets):
    pairs = [(row.entity, row.parent, 1.0) for row in triplets] + [(row.entity, row.negative, 0.0) for row in triplets]
    first, second, labels = zip(*pairs, strict=True)
    return [model.tokenize(first), model.tokenize(second)], torch.tensor(labels)


def train(loss_function, triplets, config, generator, pairs=False):
    parameters = [item for item in loss_function.model.parameters() if item.requires_grad]
    means, squares = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    source, history = shuffled(triplets, config.batch_size, generator), []
    for step in range(1, config.steps + 1):
        rows = next(source)
        features, labels = (pair_batch if pairs else triplet_batch)(loss_function.model, rows)
        parts = loss_function(features, labels)
        slopes = torch.autograd.grad(parts["loss"], parameters, materialize_grads=True)
        history.append({name: value.item() for name, value in parts.items()})
        with torch.no_grad():
            for item, slope, mean, square in zip(parameters, slopes, means, squares, strict=True):
                mean.mul_(0.9).add_(0.1 * slope)
                square.mul_(0.999).add_(0.001 * slope * slope)
                item.mul_(1 - 0.01 * config.learning_rate)
                scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
                item.sub_(config.learning_rate * mean / (1 - 0.9**step) / scale)
    late = history[len(history) // 2 :]
    return {name: sum(parts[name] for parts in late) / len(late) for name in late[0]}


def subsumption_scores(model, entities, others, norm_weight):
    ball = model.manifold
    points = model.encode([*entities, *others])
    below, above = points[: len(entities)], points[len(entities) :]
    return norm_weight * (ball.norm(below) - ball.norm(above)) - ball.distance(below, above)


def ranking(model, triplets, norm_weight):
    entities = [row.entity for row in triplets]
    scores = [
        subsumption_scores(model, entities, [getattr(row, field) for row in triplets], norm_weight)
        for field in ("parent", "negative")
    ]
    # Of how many false pairs each true one is ahead.
    below = torch.searchsorted(scores[1].sort().values, scores[0])
    return below.sum().item() / len(triplets) ** 2


def depth_correlation(model, hierarchy):
    norms = model.manifold.norm(model.encode(hierarchy.entities))
    depths = norms.new_tensor([hierarchy.depth(entity) for entity in hierarchy.entities])
    x, y = norms - norms.mean(), depths - depths.mean()
    return (x @ y / (x.norm() * y.norm())).item()
