"""Datasets of parametric and of counter-parametric knowledge, and what is filtered from them (Sections 3 and 4).

A dataset keeps the index of the rows that a filter leaves, so that each row can be traced to where it came from.
"""

import numpy as np
import pandas as pd

from src.context_knowledge import COUNTER_COLUMNS, objects_of_relations, objects_to_first_token_id
from src.entities import canonical, jaro_winkler, row_entities, surface_forms


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    """The rows whose subject does not tell the object that the model answered (Section 3.1.3)."""

    def tells(subject: str, answer: str) -> bool:
        contained = subject in answer or answer in subject
        return contained or jaro_winkler(subject, answer) >= string_similarity_ratio

    kept = [
        not any(tells(subject, answer) for subject in surface_forms(named) for answer in surface_forms(answered))
        for named, answered in zip(
            parametric_knowledge_dataset.statement_subject, parametric_knowledge_dataset.parametric_object, strict=True
        )
    ]
    return parametric_knowledge_dataset[np.array(kept, dtype=bool)]


def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """The objects that contradict each row (equations 2 and 3), with the columns of `COUNTER_COLUMNS`.

    They come in the order of the rows that they contradict, then of rank, under the index 0, 1, 2 and so on.
    """
    objects = objects_of_relations(parametric_knowledge)
    token_ids = objects_to_first_token_id(parametric_knowledge)
    records = []
    for row in parametric_knowledge.itertuples():
        own, begun = canonical(row.parametric_object), row.parametric_object_token_ids[0]
        others = [name for name in objects[row.rel_lemma] if name != own and token_ids[name] != begun]
        log_probas = {name: float(row.first_token_log_probas[token_ids[name]]) for name in others}
        least_likely = sorted(others, key=log_probas.__getitem__)[:nb_counter_parametric_knowledge]
        for rank, name in enumerate(least_likely, start=1):
            record = {
                **row._asdict(),
                "parametric_knowledge_index": row.Index,
                "counter_knowledge_object": objects[row.rel_lemma][name],
                "counter_knowledge_rank": rank,
                "counter_knowledge_log_proba": log_probas[name],
            }
            records.append(record)
    return pd.DataFrame(records, columns=list(COUNTER_COLUMNS)).reset_index(drop=True)


def return_entity_overlap_between_relation_groups(
    parametric_knowledge_dataset: pd.DataFrame,
) -> dict[str, dict[str, int]]:
    """For each ordered pair of relation groups: how many rows of the first name an entity that occurs in the second.

    The result is read as `overlap[first][second]`. Both levels have the groups in the order of their first appearance.
    """
    entities = row_entities(parametric_knowledge_dataset[["statement_subject", "parametric_object"]])
    rows_of_groups: dict[str, list[frozenset[str]]] = {}
    for group, names in zip(parametric_knowledge_dataset.relation_group_id, entities, strict=True):
        if isinstance(group, str):
            rows_of_groups.setdefault(group, []).append(names)
    occurring = {group: frozenset().union(*rows) for group, rows in rows_of_groups.items()}
    return {
        first: {second: sum(not names.isdisjoint(occurring[second]) for names in rows) for second in rows_of_groups}
        for first, rows in rows_of_groups.items()
    }
