"""Takes the k smallest from a heap of values and places."""

import heapq

import pandas as pd
from src.context_knowledge import COUNTER_COLUMNS, objects_of_relations, objects_to_first_token_id
from src.entities import canonical


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    tokens = objects_to_first_token_id(parametric_knowledge)
    of_relations = objects_of_relations(parametric_knowledge)
    rows = []
    for record, index in zip(parametric_knowledge.to_dict("records"), parametric_knowledge.index):
        candidates = []
        for place, (key, written) in enumerate(of_relations[record["rel_lemma"]].items()):
            begins_alike = tokens[key] == record["parametric_object_token_ids"][0]
            if not begins_alike and key != canonical(record["parametric_object"]):
                candidates.append((float(record["first_token_log_probas"][tokens[key]]), place, written))
        for rank, (value, _, written) in enumerate(heapq.nsmallest(nb_counter_parametric_knowledge, candidates), 1):
            added = {
                "parametric_knowledge_index": index,
                "counter_knowledge_object": written,
                "counter_knowledge_rank": rank,
                "counter_knowledge_log_proba": value,
            }
            rows.append([{**record, **added}[column] for column in COUNTER_COLUMNS])
    return pd.DataFrame(rows, columns=COUNTER_COLUMNS)
