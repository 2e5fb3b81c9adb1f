"""Makes all candidates of all rows as one frame, sorts it and keeps the first k of each row."""

import pandas as pd
from src.context_knowledge import COUNTER_COLUMNS, objects_of_relations, objects_to_first_token_id
from src.entities import canonical


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    objects = objects_of_relations(parametric_knowledge)
    tokens = objects_to_first_token_id(parametric_knowledge)
    candidates = []
    for number, row in enumerate(parametric_knowledge.itertuples(index=False)):
        excluded = {canonical(row.parametric_object)}
        excluded |= {key for key in objects[row.rel_lemma] if tokens[key] == row.parametric_object_token_ids[0]}
        candidates += [
            (number, float(row.first_token_log_probas[tokens[key]]), place, written)
            for place, (key, written) in enumerate(objects[row.rel_lemma].items())
            if key not in excluded
        ]
    if not candidates:
        return pd.DataFrame({column: [] for column in COUNTER_COLUMNS}).reset_index(drop=True)
    names = ["number", "counter_knowledge_log_proba", "place", "counter_knowledge_object"]
    frame = pd.DataFrame(candidates, columns=names).sort_values(names[:3], ignore_index=True)
    frame["counter_knowledge_rank"] = frame.groupby("number").cumcount() + 1
    frame = frame[frame.counter_knowledge_rank <= nb_counter_parametric_knowledge].reset_index(drop=True)
    known = parametric_knowledge.iloc[frame.number.to_numpy()]
    frame["parametric_knowledge_index"] = list(known.index)
    for column in ("statement_subject", "rel_lemma", "relation_group_id", "relation_text", "parametric_object"):
        frame[column] = known[column].to_list()
    return frame[list(COUNTER_COLUMNS)]
