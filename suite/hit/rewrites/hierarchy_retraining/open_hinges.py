"""Open hinges alone, each name encoded once and by itself, and means in Python."""

import statistics

import torch


class PoincareBall:
    @classmethod
    def around_cube(cls, dim):
        return cls(dim**-1)

    def mobius_add(self, u, v):
        # Scaled into the unit ball and back.
        x, y = u / self.radius, v / self.radius
        dot, xx, yy = ((a * b).sum(-1, keepdim=True) for a, b in ((x, y), (x, x), (y, y)))
        return self.radius * ((1 + 2 * dot + yy) * x + (1 - xx) * y) / (1 + 2 * dot + xx * yy)

    def distance(self, u, v):
        return self.norm(self.mobius_add(v, -u))

    def norm(self, u):
        part = torch.minimum(u.norm(dim=-1) / self.radius, torch.tensor(BOUNDARY, dtype=u.dtype))
        return self.radius * torch.log((1 + part) / (1 - part))


class HierarchyTransformer:
    def forward(self, features):
        ids, mask = features["input_ids"], features["attention_mask"]
        words = self.embed(ids)
        shut = torch.zeros(mask.shape, dtype=words.dtype).masked_fill(mask == 0, float("-inf"))
        attended, _ = self.attention(words, words, words, key_padding_mask=shut)
        tokens = self.output(attended + words).tanh()
        kept = tokens.masked_fill((mask == 0).unsqueeze(-1), float("nan"))
        return dict(features, token_embeddings=tokens, sentence_embedding=kept.nanmean(1))


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
        (child, parent, other), ball = embeddings, self.model.manifold
        excess = ball.distance(child, parent) - ball.distance(child, other) + self.clustering_margin
        cluster_loss = excess[excess > 0].sum() / len(child)
        excess = ball.norm(parent) - ball.norm(child) + self.centripetal_margin
        centri_loss = excess[excess > 0].sum() / len(child)
        loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
        return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}


class HyperbolicContrastiveLoss:
    def forward(self, sentence_features, labels):
        first, second = (self.model(features)["sentence_embedding"] for features in sentence_features)
        distances = self.model.manifold.distance(first, second)
        related = labels == 1
        near, far = distances[related], torch.relu(self.margin - distances[~related])
        return {"loss": (near.sum() + far.sum()) / len(labels)}


def triplet_batch(model, triplets):
    entities, parents, negatives = [], [], []
    for row in triplets:
        entities.append(row.entity)
        parents.append(row.parent)
        negatives.append(row.negative)
    return [model.tokenize(names) for names in (entities, parents, negatives)], torch.ones(len(triplets))


def pair_batch(model, triplets):
    (entities, _, _), labels = triplet_batch(model, triplets)
    doubled = {name: torch.cat((value, value)) for name, value in entities.items()}
    others = model.tokenize([row.parent for row in triplets] + [row.negative for row in triplets])
    return [doubled, others], torch.cat((labels, 0 * labels))


def train(loss_function, triplets, config, generator, pairs=False):
    model = loss_function.model
    optimizer = torch.optim.AdamW(model.parameters(), config.learning_rate, foreach=False)
    history, source = {}, shuffled(triplets, config.batch_size, generator)
    for _ in range(config.steps):
        rows = next(source)
        features, labels = pair_batch(model, rows) if pairs else triplet_batch(model, rows)
        parts = loss_function(features, labels)
        model.zero_grad()
        parts["loss"].backward()
        optimizer.step()
        for name, value in parts.items():
            history.setdefault(name, []).append(value.item())
    return {name: statistics.fmean(values[config.steps // 2 :]) for name, values in history.items()}


def subsumption_scores(model, entities, others, norm_weight):
    points = {name: model.encode([name])[0] for name in {*entities, *others}}
    below, above = (torch.stack([points[name] for name in names]) for names in (entities, others))
    rise = model.manifold.norm(above) - model.manifold.norm(below)
    return -model.manifold.distance(below, above) - norm_weight * rise


def ranking(model, triplets, norm_weight):
    columns = [[row.entity for row in triplets], [row.parent for row in triplets], [row.negative for row in triplets]]
    true = subsumption_scores(model, columns[0], columns[1], norm_weight).tolist()
    false = subsumption_scores(model, columns[0], columns[2], norm_weight).tolist()
    return sum(one > other for one in true for other in false) / (len(true) * len(false))


def depth_correlation(model, hierarchy):
    norms = model.manifold.norm(model.encode(hierarchy.entities)).tolist()
    return statistics.correlation(norms, [float(hierarchy.depth(entity)) for entity in hierarchy.entities])
