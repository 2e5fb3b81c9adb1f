"""The formulas of the paper, one function after the other, and AdamW of PyTorch."""

import torch


class PoincareBall:
    @classmethod
    def around_cube(cls, dim):
        return cls(1 / dim)

    def mobius_add(self, u, v):
        c = self.curvature
        uv = (u * v).sum(-1, keepdim=True)
        uu = (u * u).sum(-1, keepdim=True)
        vv = (v * v).sum(-1, keepdim=True)
        return ((1 + 2 * c * uv + c * vv) * u + (1 - c * uu) * v) / (1 + 2 * c * uv + c * c * uu * vv)

    def distance(self, u, v):
        return self.norm(self.mobius_add(-u, v))

    def norm(self, u):
        root = self.curvature**0.5
        return 2 / root * torch.atanh((root * u.norm(dim=-1)).clamp(max=BOUNDARY))


class HierarchyTransformer:
    def forward(self, features):
        mask = features["attention_mask"]
        words = self.embed(features["input_ids"])
        attended, _ = self.attention(words, words, words, key_padding_mask=mask == 0)
        tokens = self.output(words + attended).tanh()
        mean = (tokens * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return {**features, "token_embeddings": tokens, "sentence_embedding": mean}


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        entity, parent, negative = (self.model(features)["sentence_embedding"] for features in sentence_features)
        distance, norm = self.model.manifold.distance, self.model.manifold.norm
        cluster_loss = F.relu(distance(entity, parent) - distance(entity, negative) + self.clustering_margin).mean()
        centri_loss = F.relu(norm(parent) - norm(entity) + self.centripetal_margin).mean()
        loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
        return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}


class HyperbolicContrastiveLoss:
    def forward(self, sentence_features, labels):
        entity, other = (self.model(features)["sentence_embedding"] for features in sentence_features)
        distance = self.model.manifold.distance(entity, other)
        return {"loss": torch.where(labels == 1, distance, (self.margin - distance).relu()).mean()}


def triplet_batch(model, triplets):
    entities, parents, negatives = zip(*((row.entity, row.parent, row.negative) for row in triplets))
    return [model.tokenize(names) for names in (entities, parents, negatives)], torch.ones(len(triplets))


def pair_batch(model, triplets):
    entities, parents, negatives = zip(*((row.entity, row.parent, row.negative) for row in triplets))
    labels = torch.tensor([1.0] * len(triplets) + [0.0] * len(triplets))
    return [model.tokenize(entities + entities), model.tokenize(parents + negatives)], labels


def train(loss_function, triplets, config, generator, pairs=False):
    model = loss_function.model
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    batches = shuffled(triplets, config.batch_size, generator)
    logged = []
    for _ in range(config.steps):
        make = pair_batch if pairs else triplet_batch
        features, labels = make(model, next(batches))
        parts = loss_function(features, labels)
        optimizer.zero_grad()
        parts["loss"].backward()
        optimizer.step()
        logged.append({name: value.item() for name, value in parts.items()})
    second_half = logged[config.steps // 2 :]
    return {name: sum(parts[name] for parts in second_half) / len(second_half) for name in second_half[0]}


def subsumption_scores(model, entities, others, norm_weight):
    below, above = model.encode(entities), model.encode(others)
    ball = model.manifold
    return -(ball.distance(below, above) + norm_weight * (ball.norm(above) - ball.norm(below)))


def ranking(model, triplets, norm_weight):
    entities = [row.entity for row in triplets]
    true = subsumption_scores(model, entities, [row.parent for row in triplets], norm_weight)
    false = subsumption_scores(model, entities, [row.negative for row in triplets], norm_weight)
    return (true[:, None] > false).double().mean().item()


def depth_correlation(model, hierarchy):
    norms = model.manifold.norm(model.encode(hierarchy.entities))
    depths = torch.tensor([float(hierarchy.depth(entity)) for entity in hierarchy.entities], dtype=norms.dtype)
    return torch.corrcoef(torch.stack([depths, norms]))[0, 1].item()
