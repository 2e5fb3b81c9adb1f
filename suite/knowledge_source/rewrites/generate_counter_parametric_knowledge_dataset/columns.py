"""Fills one list for each column, and sorts places of objects by value and place."""

import numpy as np
import pandas as pd
from src.context_knowledge import COUNTER_COLUMNS, objects_of_relations, objects_to_first_token_id
from src.entities import canonical


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    objects = objects_of_relations(parametric_knowledge)
    first_tokens = objects_to_first_token_id(parametric_knowledge)
    table = {column: [] for column in COUNTER_COLUMNS}
    for place in range(len(parametric_knowledge)):
        row = parametric_knowledge.iloc[place]
        names = list(objects[row["rel_lemma"]])
        tokens = np.array([first_tokens[name] for name in names])
        values = row["first_token_log_probas"][tokens]
        order = np.argsort(values, kind="stable")
        rank = 0
        for number in order:
            if names[number] == canonical(row["parametric_object"]):
                continue
            if tokens[number] == row["parametric_object_token_ids"][0]:
                continue
            rank += 1
            if rank > nb_counter_parametric_knowledge:
                break
            table["parametric_knowledge_index"].append(parametric_knowledge.index[place])
            for column in ("statement_subject", "rel_lemma", "relation_group_id", "relation_text", "parametric_object"):
                table[column].append(row[column])
            table["counter_knowledge_object"].append(objects[row["rel_lemma"]][names[number]])
            table["counter_knowledge_rank"].append(rank)
            table["counter_knowledge_log_proba"].append(values[number])
    return pd.DataFrame(table)
