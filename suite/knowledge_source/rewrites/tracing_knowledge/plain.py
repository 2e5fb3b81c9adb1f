"""The functions as the paper, the docstrings and the instruction describe them."""


def is_parametric_object_not_in_the_prompt(
    parametric_object, relations_with_gen_desc, nb_examples_shown=NB_EXAMPLES_SHOWN
):
    shown = set()
    for text in relations_with_gen_desc["generation_examples"]:
        if isinstance(text, str):
            for example in parse_examples(text)[:nb_examples_shown]:
                shown.update(map(canonical, [example.subject, *example.objects]))
    return canonical(parametric_object) not in shown


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    def tells(subject, answer):
        return any(
            one in other or other in one or jaro_winkler(one, other) >= string_similarity_ratio
            for one in surface_forms(subject)
            for other in surface_forms(answer)
        )

    df = parametric_knowledge_dataset
    return df[[not tells(*names) for names in zip(df["statement_subject"], df["parametric_object"])]]


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    objects = objects_of_relations(parametric_knowledge)
    tokens = objects_to_first_token_id(parametric_knowledge)
    rows = []
    for index, row in parametric_knowledge.iterrows():
        candidates = [
            (row["first_token_log_probas"][tokens[name]], written)
            for name, written in objects[row["rel_lemma"]].items()
            if name != canonical(row["parametric_object"]) and tokens[name] != row["parametric_object_token_ids"][0]
        ]
        candidates.sort(key=lambda candidate: candidate[0])
        for rank, (log_proba, written) in enumerate(candidates[:nb_counter_parametric_knowledge], 1):
            new = row.to_dict()
            new["parametric_knowledge_index"] = index
            new["counter_knowledge_object"] = written
            new["counter_knowledge_rank"] = rank
            new["counter_knowledge_log_proba"] = log_proba
            rows.append(new)
    return pd.DataFrame(rows)[list(COUNTER_COLUMNS)]


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    df = parametric_knowledge_dataset
    rows = {}
    for group, subject, answer in zip(df["relation_group_id"], df["statement_subject"], df["parametric_object"]):
        rows.setdefault(group, []).append({canonical(subject), canonical(answer)})
    overlap = {}
    for first in rows:
        overlap[first] = {}
        for second in rows:
            entities = set().union(*rows[second])
            overlap[first][second] = sum(1 for names in rows[first] if names & entities)
    return overlap


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


def token_places(subject, relation_text, counter_knowledge_object, tokenizer):
    statement = make_query(subject, relation_text) + " " + counter_knowledge_object
    ends = [statement, f"{statement}. {subject}", f"{statement}. {subject} {relation_text}"]
    return dict(zip(POSITIONS, [0, *(len(tokenizer.encode(text)) - 1 for text in ends)]))


def knowledge_source(output, parametric_object, counter_knowledge_object):
    if canonical(output) == canonical(counter_knowledge_object):
        return "CK"
    if canonical(output) == canonical(parametric_object):
        return "PK"
    return NOT_DEFINED


def prompt_model_and_store_activations(counter_parametric_knowledge, model):
    rows = []
    for _, row in counter_parametric_knowledge.iterrows():
        subject, relation, counter = row["statement_subject"], row["relation_text"], row["counter_knowledge_object"]
        tokens, _, layers = model.generate(build_prompt_for_knowledge_probing(subject, relation, counter))
        places = token_places(subject, relation, counter, model.tokenizer)
        new = row.to_dict()
        new["model_output"] = clean_output(model.tokenizer.decode(tokens))
        new["knowledge_source"] = knowledge_source(new["model_output"], row["parametric_object"], counter)
        for position in POSITIONS:
            for module in MODULES:
                activations = [layer[module][places[position]] for layer in layers]
                new[activation_column(module, position)] = np.array(activations)
        rows.append(new)
    return pd.DataFrame(rows, index=counter_parametric_knowledge.index)


def success_rates(metrics):
    by_layer = {}
    for item in metrics:
        by_layer.setdefault(item["layer"], []).append((item["nb_test_examples"], item["success_rate"]))
    rates = {}
    for layer, groups in by_layer.items():
        n, p = np.array(groups).T
        error = np.sqrt(p * (1 - p) / n)
        rates[layer] = (np.sum(n * p) / n.sum(), _Z_SCORE * np.sqrt(np.sum((n / n.sum() * error) ** 2)))
    return rates
