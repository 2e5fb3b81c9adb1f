"""Distances in double precision by the inverse hyperbolic cosine, terms by where, metrics from counts in Python."""


def get_circum_poincareball(embed_dim):
    radius = embed_dim**0.5
    return PoincareBall(radius**-2)


def _distance(ball, x, y):
    x, y, c = x.double(), y.double(), float(ball.c)
    apart = (x - y).square().sum(dim=-1)
    x, y = (1 - c * side.square().sum(dim=-1) for side in (x, y))
    ratio = 2 * c * apart / (x * y)
    # Points that are one have no direction, and the root no gradient.
    ratio = torch.where(ratio > 0, ratio, 1.0)
    found = torch.log1p(ratio + (ratio * (ratio + 2)).sqrt()) / c**0.5
    return torch.where(apart > 0, found, torch.zeros_like(found))


def _norm(ball, x):
    return _distance(ball, x, torch.zeros_like(x))


def _mean_above_zero(terms, dtype):
    return torch.where(terms > 0, terms, torch.zeros_like(terms)).mean().to(dtype)


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        embeddings = []
        for features in sentence_features:
            embeddings.append(self.model(features)["sentence_embedding"])
        if len(embeddings) != 3:
            raise AssertionError("not a triplet")
        parts = {"cluster_loss": self.cluster_loss(*embeddings), "centri_loss": self.centri_loss(*embeddings)}
        parts["loss"] = parts["cluster_loss"] * self.cluster_weight + parts["centri_loss"] * self.centri_weight
        return parts


class HyperbolicClusteringLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        near = _distance(self.manifold, rep_anchor, rep_positive)
        far = _distance(self.manifold, rep_anchor, rep_negative)
        return _mean_above_zero(near - far + self.margin, rep_anchor.dtype)


class HyperbolicCentripetalLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        excess = _norm(self.manifold, rep_positive) - _norm(self.manifold, rep_anchor)
        return _mean_above_zero(excess + self.margin, rep_anchor.dtype)


class HierarchyTransformerEvaluator:
    def inference(self, model, centri_weight, child_embeds=None, parent_embeds=None):
        sides = []
        for given, names in ((child_embeds, self.child_entities), (parent_embeds, self.parent_entities)):
            if given is None:
                given = model.encode(sentences=names, batch_size=self.batch_size, convert_to_tensor=True)
            sides.append(given)
        child, parent = sides
        ball = model.manifold
        higher = _norm(ball, child) - _norm(ball, parent)
        return (centri_weight * higher - _distance(ball, child, parent)).to(child.dtype)


def _share(part, whole):
    return part / whole if whole else math.nan


def f1_score(predictions, labels, truth_label=1):
    pairs = [(a == truth_label, b == truth_label) for a, b in zip(predictions.tolist(), labels.tolist())]
    hits = sum(a and b for a, b in pairs)
    precision = _share(hits, sum(a for a, _ in pairs))
    recall = _share(hits, sum(b for _, b in pairs))
    both = precision + recall
    f1 = math.nan if both == 0 else 2 * (precision * recall) / both
    return {"f1": f1, "recall": recall, "precision": precision}


def evaluate_by_threshold(scores, labels, threshold, truth_label=1, smaller_scores_better=False):
    predictions = torch.le(scores, threshold) if smaller_scores_better else torch.gt(scores, threshold)
    return (
        f1_score(predictions, labels, truth_label=truth_label)
        | accurarcy(predictions, labels)
        | accurarcy_on_negatives(predictions, labels, truth_label=truth_label)
        | {"threshold": threshold}
    )


def grid_search(
    scores,
    labels,
    threshold_granularity=100,
    truth_label=1,
    smaller_scores_better=False,
    primary_metric="f1",
    best_primary_metric_value=-math.inf,
    preformatted_best_results=None,
):
    if preformatted_best_results is None:
        preformatted_best_results = {}
    low, high = (math.trunc(side.item() * threshold_granularity) for side in (scores.min(), scores.max()))
    every = [
        evaluate_by_threshold(scores, labels, step / threshold_granularity, truth_label, smaller_scores_better)
        for step in range(low, high)
    ]
    every = [found for found in every if found[primary_metric] >= best_primary_metric_value]
    if not every:
        return None
    highest = max(found[primary_metric] for found in every)
    for name, value in [found for found in every if found[primary_metric] == highest][-1].items():
        preformatted_best_results[name] = value
    return preformatted_best_results
