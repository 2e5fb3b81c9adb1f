"""Calls the ball, and compares with booleans."""


def get_circum_poincareball(embed_dim):
    return PoincareBall(c=1 / embed_dim)


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
        assert len(embeddings) == 3
        cluster = self.cluster_loss(*embeddings)
        centri = self.centri_loss(*embeddings)
        total = self.cluster_weight * cluster + self.centri_weight * centri
        return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}


class HyperbolicClusteringLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        near = self.manifold.dist(rep_anchor, rep_positive)
        far = self.manifold.dist(rep_anchor, rep_negative)
        terms = F.relu(near - far + self.margin)
        return terms.mean()


class HyperbolicCentripetalLoss:
    def forward(self, rep_anchor, rep_positive, rep_negative):
        child = self.manifold.dist0(rep_anchor)
        parent = self.manifold.dist0(rep_positive)
        terms = F.relu(parent - child + self.margin)
        return terms.mean()


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
        distance = model.manifold.dist(child_embeds, parent_embeds)
        depth = model.manifold.dist0(parent_embeds) - model.manifold.dist0(child_embeds)
        return -(distance + centri_weight * depth)


def f1_score(predictions, labels, truth_label=1):
    predicted = predictions == truth_label
    true = labels == truth_label
    hits = (predicted & true).sum()
    precision = hits / predicted.sum()
    recall = hits / true.sum()
    f1 = 2 * precision * recall / (precision + recall)
    return {"precision": precision.item(), "recall": recall.item(), "f1": f1.item()}


def evaluate_by_threshold(scores, labels, threshold, truth_label=1, smaller_scores_better=False):
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
    best, highest = None, best_primary_metric_value
    start = int(scores.min() * threshold_granularity)
    end = int(scores.max() * threshold_granularity)
    for step in range(start, end):
        found = evaluate_by_threshold(scores, labels, step / threshold_granularity, truth_label, smaller_scores_better)
        if found[primary_metric] >= highest:
            best, highest = found, found[primary_metric]
    if best is None:
        return None
    preformatted_best_results.update(best)
    return preformatted_best_results
