"""Embeddings of a tree's nodes are trained on its edges. Do norms grow with depth, and are ancestors recognised?"""

import json
import random

import torch
from hierarchy_transformers import HierarchyTransformer
from hierarchy_transformers.evaluation import HierarchyTransformerEvaluator
from hierarchy_transformers.evaluation.metrics import grid_search
from hierarchy_transformers.losses import HierarchyTransformerLoss

_STEPS, _WIDTH = 40, 12


def _tree() -> list[str]:
    """Names of nodes; a node's ancestors are the beginnings of its name."""
    nodes = ["r"]
    for node in nodes:
        if len(node) < 4:
            nodes += [node + letter for letter in "abc"]
    return nodes


def _search(model: HierarchyTransformer, pairs: list[tuple[str, str]], weight: float) -> dict[str, float]:
    children, parents = (list(side) for side in zip(*pairs, strict=True))
    evaluator = HierarchyTransformerEvaluator(children, parents, [], batch_size=64)
    labels = torch.tensor([int(child.startswith(parent)) for child, parent in pairs])
    with torch.no_grad():
        scores = evaluator.inference(model, weight)
    return grid_search(scores, labels, threshold_granularity=5, preformatted_best_results={"weight": weight})


def run(seed: int = 0) -> dict[str, float]:
    """Norms by depth, and how well ancestors are recognised, with and without the centripetal loss."""
    generator = random.Random(seed)
    nodes = _tree()
    triplets = [
        (node, node[:-1], generator.choice([other for other in nodes if not node.startswith(other)]))
        for node in nodes[1:]
        for _ in range(2)
    ]
    pairs = [(child, parent) for child in nodes for parent in nodes if child != parent]
    results = {}
    for name, weight in (("both losses", 1.0), ("clustering alone", 0.0)):
        torch.manual_seed(seed)
        model = HierarchyTransformer(nodes, _WIDTH).double()
        loss = HierarchyTransformerLoss(model, 1.0, 3.0, weight, 0.5)
        optimizer = torch.optim.Adam([model.table], lr=0.05)
        features = [model.tokenize(list(side)) for side in zip(*triplets, strict=True)]
        for step in range(_STEPS):
            losses = loss(features, None)
            if step == 0:
                results |= {f"{name}/{part} at first": value.item() for part, value in losses.items()}
            optimizer.zero_grad()
            losses["loss"].backward()
            optimizer.step()
        results |= {f"{name}/{part} at last": value.item() for part, value in losses.items()}
        with torch.no_grad():
            norms = model.manifold.dist0(model.encode(nodes))
        for depth in range(4):
            here = [place for place, node in enumerate(nodes) if len(node) == depth + 1]
            results[f"{name}/norm at depth {depth}"] = norms[here].mean().item()
        for centri_weight in (0.0, 1.0):
            results[f"{name}/f1 with a weight of {centri_weight}"] = _search(model, pairs, centri_weight)["f1"]
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
