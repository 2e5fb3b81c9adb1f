"""Counts in how many rows of each group an entity occurs, and goes through plain lists."""

from collections import defaultdict

import numpy as np
from src.classification.probe import fit_probe
from src.classification.sampling import fold_generator, undersample
from src.config import LABELS, MODULES, POSITIONS, activation_column
from src.entities import row_entities


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, position, seed=0
):
    wanted = dict(zip(MODULES, [include_mlps, include_mlps_l1, include_mhsa]))
    if not any(wanted.values()):
        raise ValueError("no module")
    if position not in POSITIONS:
        raise ValueError(position)
    every_source = prompting_results["knowledge_source"].tolist()
    kept = [place for place, source in enumerate(every_source) if source in LABELS]
    labels = np.array([LABELS[every_source[place]] for place in kept], dtype=np.int64)
    every_group, every_entity = prompting_results["relation_group_id"].tolist(), row_entities(prompting_results)
    groups = [every_group[place] for place in kept]
    entities = [every_entity[place] for place in kept]
    groups_of_entity = defaultdict(set)
    for group, names in zip(groups, entities):
        for name in names:
            groups_of_entity[name].add(group)
    activations = []
    for module in MODULES:
        if wanted[module]:
            cells = prompting_results[activation_column(module, position)].tolist()
            activations.append([cells[place] for place in kept])
    order = []
    for group in groups:
        if group not in order:
            order.append(group)
    found = []
    for fold, group in enumerate(order):
        random_numbers = fold_generator(seed, fold)
        others = [
            place
            for place, other in enumerate(groups)
            if other != group and all(group not in groups_of_entity[name] for name in entities[place])
        ]
        own = [place for place, other in enumerate(groups) if other == group]
        train = undersample(np.array(others, dtype=np.int64), labels, random_numbers)
        test = undersample(np.array(own, dtype=np.int64), labels, random_numbers)
        if train.size == 0 or test.size == 0:
            continue
        for layer in range(activations[0][0].shape[0]):

            def rows(places, layer=layer):
                return np.array([np.hstack([cells[place][layer] for cells in activations]) for place in places])

            hits = fit_probe(rows(train), labels[train]).predict(rows(test)) == labels[test]
            found.append(
                {
                    "layer": layer + 1,
                    "relation_group_id": group,
                    "success_rate": int(hits.sum()) / len(test),
                    "nb_test_examples": int(test.size),
                    "nb_train_examples": int(train.size),
                }
            )
    return found
