"""Columns of a batch side by side in one tensor, norms by arsinh, and weight decay beside Adam."""

import torch
import torch.nn.functional as F


class PoincareBall:
    @classmethod
    def around_cube(cls, dim):
        return cls((1 / dim**0.5) ** 2)

    def mobius_add(self, u, v):
        c = self.curvature
        sides = torch.stack(torch.broadcast_tensors(u, v), dim=-2)
        products = sides @ sides.mT
        uu, uv, vv = products[..., 0, 0, None], products[..., 0, 1, None], products[..., 1, 1, None]
        common = 1 + 2 * c * uv
        return torch.addcmul((common + c * vv) * u, 1 - c * uu, v) / torch.addcmul(common, c * uu, c * vv)

    def distance(self, u, v):
        return self.norm(-self.mobius_add(u, -v))

    def norm(self, u):
        part = torch.linalg.vector_norm(u * self.curvature**0.5, dim=-1).clamp_max(BOUNDARY)
        return 2 * self.radius * torch.asinh(part / ((1 - part) * (1 + part)).sqrt())


class HierarchyTransformer:
    def forward(self, features):
        ids, mask = features["input_ids"], features["attention_mask"].bool()
        words = self.embed(ids)
        found, _ = self.attention(words, words, words, key_padding_mask=mask.logical_not(), average_attn_weights=False)
        tokens = torch.tanh(self.output(words + found))
        shares = mask / mask.sum(1, keepdim=True).to(tokens.dtype)
        pooled = torch.einsum("bl,bld->bd", shares.to(tokens.dtype), tokens)
        return {**features, "token_embeddings": tokens, "sentence_embedding": pooled}


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
        points, ball = torch.stack(columns), self.model.manifold
        near, far = ball.distance(points[:1], points[1:])
        child, parent, _ = ball.norm(points)
        excess = torch.stack([near - far + self.clustering_margin, parent - child + self.centripetal_margin])
        means = excess.clamp(min=0).mean(dim=1)
        loss = means @ means.new_tensor([self.clustering_weight, self.centripetal_weight])
        return {"loss": loss, "cluster_loss": means[0], "centri_loss": means[1]}


class HyperbolicContrastiveLoss:
    def forward(self, sentence_features, labels):
        points = torch.stack([self.model(features)["sentence_embedding"] for features in sentence_features])
        distances = self.model.manifold.distance(points[0], points[1])
        sign = torch.where(labels > 0.5, 1.0, -1.0)
        return {"loss": F.hinge_embedding_loss(distances, sign, margin=self.margin)}


def triplet_batch(model, triplets):
    return [
        model.tokenize([row.entity for row in triplets]),
        model.tokenize([row.parent for row in triplets]),
        model.tokenize([row.negative for row in triplets]),
    ], torch.full((len(triplets),), 1.0)


def pair_batch(model, triplets):
    count = len(triplets)
    entities = [triplets[index % count].entity for index in range(2 * count)]
    others = [row.negative if late else row.parent for late in (False, True) for row in triplets]
    return [model.tokenize(entities), model.tokenize(others)], (torch.arange(2 * count) < count).to(torch.float64)


def train(loss_function, triplets, config, generator, pairs=False):
    model, logged = loss_function.model, []
    decay = 0.01
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for step, rows in enumerate(shuffled(triplets, config.batch_size, generator), 1):
        parts = loss_function(*(pair_batch(model, rows) if pairs else triplet_batch(model, rows)))
        optimizer.zero_grad()
        parts["loss"].backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= decay * config.learning_rate * parameter
        optimizer.step()
        logged.append(parts)
        if step == config.steps:
            break
    late = logged[-(config.steps // 2) :]
    return {name: torch.stack([parts[name].detach() for parts in late]).mean().item() for name in late[0]}


def subsumption_scores(model, entities, others, norm_weight):
    below, above = (model.encode(list(names)) for names in (entities, others))
    norms = model.manifold.norm(torch.stack([below, above]))
    return norm_weight * (norms[0] - norms[1]) - model.manifold.distance(above, below)


def ranking(model, triplets, norm_weight):
    names = [row.entity for row in triplets]
    others = [row.parent for row in triplets] + [row.negative for row in triplets]
    true, false = subsumption_scores(model, names * 2, others, norm_weight).chunk(2)
    return torch.heaviside(true - false[:, None], true.new_zeros(())).mean().item()


def depth_correlation(model, hierarchy):
    norms = model.manifold.norm(model.encode(hierarchy.entities))
    depths = torch.tensor([float(hierarchy.depth(entity)) for entity in hierarchy.entities]).to(norms)
    joint = torch.cov(torch.stack([depths, norms]))
    return (joint[0, 1] / (joint[0, 0] * joint[1, 1]).sqrt()).item()
