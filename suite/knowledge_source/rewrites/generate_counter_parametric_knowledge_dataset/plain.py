"""Sorts the objects of each row by log-probability, after leaving out those that do not contradict it."""


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
