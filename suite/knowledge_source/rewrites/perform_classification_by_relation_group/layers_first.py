"""Draws all folds, then goes through the layers, and sorts the metrics at the end."""

import numpy as np
from src.classification.probe import fit_probe
from src.classification.sampling import fold_generator, undersample
from src.config import LABELS, MODULES, POSITIONS, activation_column
from src.entities import row_entities


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, position, seed=0
):
    modules = [m for m, use in zip(MODULES, (include_mlps, include_mlps_l1, include_mhsa)) if use]
    if position not in POSITIONS or modules == []:
        raise ValueError((modules, position))
    mask = np.array([source in LABELS for source in prompting_results.knowledge_source], dtype=bool)
    results = prompting_results[mask]
    if not len(results):
        return []
    labels = results.knowledge_source.map(LABELS).to_numpy(dtype=np.int64)
    groups, entities = list(results.relation_group_id), row_entities(results)
    codes = {}
    for group in groups:
        codes.setdefault(group, len(codes))
    code = np.array([codes[group] for group in groups])
    folds = []
    for group, fold in codes.items():
        named = frozenset(name for place in np.flatnonzero(code == fold) for name in entities[place])
        candidates = [place for place in range(len(groups)) if code[place] != fold and not entities[place] & named]
        drawn = fold_generator(seed, fold)
        train = undersample(np.asarray(candidates, dtype=np.int64), labels, drawn)
        test = undersample(np.flatnonzero(code == fold), labels, drawn)
        if len(train) and len(test):
            folds.append((fold, group, train, test))
    metrics = []
    layers = len(results[activation_column(modules[0], position)].iloc[0])
    for layer in range(layers):
        per_module = [np.array([cell[layer] for cell in results[activation_column(m, position)]]) for m in modules]
        inputs = np.concatenate(per_module, axis=1)
        for fold, group, train, test in folds:
            predicted = fit_probe(inputs[train], labels[train]).predict(inputs[test])
            rate = 1 - np.abs(predicted - labels[test]).mean()
            metrics.append((fold, layer + 1, group, float(rate), len(test), len(train)))
    names = ("layer", "relation_group_id", "success_rate", "nb_test_examples", "nb_train_examples")
    return [dict(zip(names, item[1:])) for item in sorted(metrics, key=lambda item: item[:2])]
