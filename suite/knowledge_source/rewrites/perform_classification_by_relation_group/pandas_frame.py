"""Works on a frame with a new index, with boolean columns for the folds."""

import numpy as np
from src.classification.probe import fit_probe
from src.classification.sampling import fold_generator, undersample
from src.config import MODULES, POSITIONS, activation_column
from src.entities import row_entities


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, position, seed=0
):
    flags = (include_mlps, include_mlps_l1, include_mhsa)
    columns = [
        activation_column(module, position) for module, flag in zip(MODULES, flags) if flag and position in POSITIONS
    ]
    if len(columns) == 0:
        raise ValueError("nothing to probe")
    frame = prompting_results.loc[prompting_results.knowledge_source.isin(["CK", "PK"]).to_numpy()]
    frame = frame.reset_index(drop=True)
    frame["entities"] = row_entities(frame)
    frame["label"] = (frame.knowledge_source == "PK").astype("int64")
    labels = frame.label.to_numpy()
    result = []
    for fold, group in enumerate(frame.relation_group_id.unique()):
        rng = fold_generator(seed, fold)
        inside = (frame.relation_group_id == group).to_numpy()
        named = set()
        for names in frame.entities[inside]:
            named |= names
        clean = np.array([not (names & named) for names in frame.entities])
        sides = [undersample(np.nonzero(mask)[0], labels, rng) for mask in (~inside & clean, inside)]
        if min(map(len, sides)) == 0:
            continue
        train, test = sides
        cubes = [np.stack(frame[column].tolist()) for column in columns]
        cube = np.concatenate(cubes, axis=2)
        for layer in range(cube.shape[1]):
            probe = fit_probe(cube[train, layer], labels[train])
            rate = (probe.predict(cube[test, layer]) == labels[test]).mean()
            result.append(
                {
                    "layer": layer + 1,
                    "relation_group_id": group,
                    "success_rate": float(rate),
                    "nb_test_examples": len(test),
                    "nb_train_examples": len(train),
                }
            )
    return result
