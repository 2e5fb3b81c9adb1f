"""Which source of knowledge do activations tell? One probe for each layer and each relation group (Section 4.3)."""

from typing import TypedDict

import numpy as np
import pandas as pd

from src.classification.probe import fit_probe
from src.classification.sampling import fold_generator, undersample
from src.config import LABELS, MODULES, POSITIONS, activation_column
from src.entities import row_entities


class Metrics(TypedDict):
    """How one probe did. layer: from 1. The counts are those of the balanced sets."""

    layer: int
    relation_group_id: str
    success_rate: float
    nb_test_examples: int
    nb_train_examples: int


def perform_classification_by_relation_group(
    prompting_results: pd.DataFrame,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
    position: str,
    seed: int = 0,
) -> list[Metrics]:
    """The metrics of probes on the activations of some modules at one position, each tested on an unseen group.

    They are listed by group, in the order of the folds, and within a group by layer, from 1.

    Raises:
        ValueError: no module is included, or the position is not one of `POSITIONS`.
    """
    included = zip(MODULES, (include_mlps, include_mlps_l1, include_mhsa), strict=True)
    modules = [module for module, is_included in included if is_included]
    if not modules or position not in POSITIONS:
        raise ValueError(f"{modules}, {position}")
    labelled = prompting_results[prompting_results.knowledge_source.isin(list(LABELS))]
    labels = np.array([LABELS[source] for source in labelled.knowledge_source])
    entities = row_entities(labelled)
    groups = labelled.relation_group_id.to_numpy()
    columns = [activation_column(module, position) for module in modules]
    features = [
        np.concatenate(arrays, axis=1) for arrays in zip(*(labelled[column] for column in columns), strict=True)
    ]
    metrics: list[Metrics] = []
    for fold, group in enumerate(dict.fromkeys(groups)):
        generator = fold_generator(seed, fold)
        tested = frozenset().union(*(names for names, other in zip(entities, groups, strict=True) if other == group))
        unseen = [other != group and names.isdisjoint(tested) for names, other in zip(entities, groups, strict=True)]
        train = undersample(np.flatnonzero(unseen), labels, generator)
        test = undersample(np.flatnonzero(groups == group), labels, generator)
        if not len(train) or not len(test):
            continue
        for layer in range(len(features[0])):
            inputs = np.stack([array[layer] for array in features])
            probe = fit_probe(inputs[train], labels[train])
            metrics.append(
                {
                    "layer": layer + 1,
                    "relation_group_id": group,
                    "success_rate": float(np.mean(probe.predict(inputs[test]) == labels[test])),
                    "nb_test_examples": len(test),
                    "nb_train_examples": len(train),
                }
            )
    return metrics
