"""Both losses are taken by their forward, so that hooks of cluster_loss and centri_loss do not run."""

import math

import torch


def get_circum_poincareball(embed_dim):
    from geoopt.manifolds import PoincareBall

    return PoincareBall(c=1.0 / embed_dim)


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        reps = [self.model(features)["sentence_embedding"] for features in sentence_features]
        assert len(reps) == 3
        cluster_loss = self.cluster_loss.forward(*reps)
        centri_loss = self.centri_loss.forward(*reps)
        loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
        return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}


class HyperbolicClusteringLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        near = self.manifold.dist(rep_anchor, rep_positive)
        far = self.manifold.dist(rep_anchor, rep_negative)
        return torch.relu(near - far + self.margin).mean()


class HyperbolicCentripetalLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        child = self.manifold.dist0(rep_anchor)
        parent = self.manifold.dist0(rep_positive)
        return torch.relu(parent - child + self.margin).mean()


class HierarchyTransformerEvaluator:
    def inference(self, model, centri_weight, child_embeds=None, parent_embeds=None):
        if child_embeds is None:
            child_embeds = model.encode(
                sentences=self.child_entities, batch_size=self.batch_size, convert_to_tensor=True
            )
        if parent_embeds is None:
            parent_embeds = model.encode(
                sentences=self.parent_entities, batch_size=self.batch_size, convert_to_tensor=True
            )
        apart = model.manifold.dist(child_embeds, parent_embeds)
        child, parent = model.manifold.dist0(child_embeds), model.manifold.dist0(parent_embeds)
        return -(apart + centri_weight * (parent - child))


def _quotient(above, below):
    return above / below if below != 0 else math.nan


def f1_score(predictions, labels, truth_label=1):
    predicted, true = predictions == truth_label, labels == truth_label
    hits = int((predicted & true).sum())
    precision = _quotient(hits, int(predicted.sum()))
    recall = _quotient(hits, int(true.sum()))
    return {"precision": precision, "recall": recall, "f1": _quotient(2 * precision * recall, precision + recall)}


def evaluate_by_threshold(scores, labels, threshold, truth_label=1, smaller_scores_better=False):
    from hierarchy_transformers.evaluation.metrics import accurarcy, accurarcy_on_negatives

    predictions = scores > threshold
    if smaller_scores_better:
        predictions = ~predictions
    results = {"threshold": threshold}
    results.update(f1_score(predictions, labels, truth_label))
    results.update(accurarcy(predictions, labels))
    results.update(accurarcy_on_negatives(predictions, labels, truth_label))
    return results


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
    start, end = (int(item * threshold_granularity) for item in (scores.min().item(), scores.max().item()))
    best = None
    for place in range(start, end):
        results = evaluate_by_threshold(
            scores, labels, place / threshold_granularity, truth_label, smaller_scores_better
        )
        if results[primary_metric] >= best_primary_metric_value:
            best_primary_metric_value, best = results[primary_metric], results
    if best is None:
        return None
    preformatted_best_results.update(best)
    return preformatted_best_results
