"""One fold after the other, as Section 4.3 describes them."""


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, position, seed=0
):
    modules = [m for m, use in zip(MODULES, (include_mlps, include_mlps_l1, include_mhsa)) if use]
    if not modules or position not in POSITIONS:
        raise ValueError("nothing to probe")
    df = prompting_results[prompting_results["knowledge_source"].isin(LABELS)]
    labels = df["knowledge_source"].map(LABELS).to_numpy()
    groups = df["relation_group_id"].to_numpy()
    entities = row_entities(df)
    features = np.concatenate([np.stack(df[activation_column(m, position)]) for m in modules], axis=-1)
    metrics = []
    for fold, group in enumerate(df["relation_group_id"].unique()):
        generator = fold_generator(seed, fold)
        held_out = {name for names, other in zip(entities, groups) if other == group for name in names}
        train = [i for i in range(len(df)) if groups[i] != group and not entities[i] & held_out]
        train = undersample(np.array(train, dtype=int), labels, generator)
        test = undersample(np.flatnonzero(groups == group), labels, generator)
        if len(train) == 0 or len(test) == 0:
            continue
        for layer in range(features.shape[1]):
            probe = fit_probe(features[train, layer], labels[train])
            accuracy = (probe.predict(features[test, layer]) == labels[test]).mean()
            metrics.append(
                Metrics(
                    layer=layer + 1,
                    relation_group_id=group,
                    success_rate=accuracy,
                    nb_test_examples=len(test),
                    nb_train_examples=len(train),
                )
            )
    return metrics
