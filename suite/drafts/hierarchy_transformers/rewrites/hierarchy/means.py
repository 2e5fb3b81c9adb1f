"""Sums of what is above zero, scores by one stack, thresholds from the highest down, metrics by inner products."""


def get_circum_poincareball(embed_dim):
    return PoincareBall(c=float(embed_dim) ** -1)


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        child, *parents = (self.model(item)["sentence_embedding"] for item in _three(sentence_features))
        cluster, centri = (loss(child, *parents) for loss in (self.cluster_loss, self.centri_loss))
        return {
            "loss": cluster * self.cluster_weight + self.centri_weight * centri,
            "cluster_loss": cluster,
            "centri_loss": centri,
        }


def _three(items):
    items = list(items)
    assert len(items) == 3, items
    return items


class HyperbolicClusteringLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        parents = torch.stack([rep_positive, rep_negative])
        near, far = self.manifold.dist(rep_anchor.expand_as(parents), parents)
        value = near - far + self.margin
        return (value * (value.detach() > 0)).sum() / len(value)


class HyperbolicCentripetalLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        parent, child = self.manifold.dist0(torch.stack([rep_positive, rep_anchor]))
        value = parent - child + self.margin
        return (value * (value.detach() > 0)).sum() / len(value)


class HierarchyTransformerEvaluator:
    def inference(self, model, centri_weight, child_embeds=None, parent_embeds=None):
        settings = {"batch_size": self.batch_size, "convert_to_tensor": True}
        child = model.encode(sentences=self.child_entities, **settings) if child_embeds is None else child_embeds
        parent = model.encode(sentences=self.parent_entities, **settings) if parent_embeds is None else parent_embeds
        child_norm, parent_norm = model.manifold.dist0(torch.stack([child, parent]))
        return centri_weight * child_norm - centri_weight * parent_norm - model.manifold.dist(parent, child)


def f1_score(predictions, labels, truth_label=1):
    a, b = ((side == truth_label).double() for side in (predictions, labels))
    precision = a @ b / a.sum()
    recall = a @ b / b.sum()
    f1 = 2 / (1 / precision + 1 / recall)
    f1 = f1 if precision > 0 else f1 * torch.nan
    return {name: float(item) for name, item in (("precision", precision), ("recall", recall), ("f1", f1))}


def evaluate_by_threshold(scores, labels, threshold, truth_label=1, smaller_scores_better=False):
    predictions = torch.logical_xor(scores > threshold, torch.tensor(bool(smaller_scores_better)))
    found = {"threshold": threshold}
    for measured in (
        f1_score(predictions, labels, truth_label),
        accurarcy(predictions, labels),
        accurarcy_on_negatives(predictions, labels, truth_label),
    ):
        found |= measured
    return found


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
    best, value = None, best_primary_metric_value
    steps = range(*(int(bound * threshold_granularity) for bound in (scores.min(), scores.max())))
    for step in reversed(steps):
        found = evaluate_by_threshold(scores, labels, step / threshold_granularity, truth_label, smaller_scores_better)
        measured = found[primary_metric]
        if measured > value or (best is None and measured == value):
            best, value = found, measured
    if best is not None:
        preformatted_best_results |= best
        best = preformatted_best_results
    return best
