"""Masks in pandas: `isin` of the entities of the second group, for both roles."""

import pandas as pd
from src.entities import canonical


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    frame = pd.DataFrame(
        {
            "group": parametric_knowledge_dataset.relation_group_id.to_numpy(dtype=object),
            "subject": [canonical(name) for name in parametric_knowledge_dataset.statement_subject],
            "answer": [canonical(name) for name in parametric_knowledge_dataset.parametric_object],
        }
    ).dropna(subset="group")
    result = {}
    for first in frame.group.unique():
        ones = frame[frame.group == first]
        result[first] = {}
        for second in frame.group.unique():
            others = frame[frame.group == second]
            names = set(others.subject) | set(others.answer)
            result[first][second] = int((ones.subject.isin(names) | ones.answer.isin(names)).sum())
    return result
