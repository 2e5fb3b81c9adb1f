"""Masks in pandas: `isin` of the entities of the second group, for both roles, counted by groups."""

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
    counts = {}
    for second in frame.group.unique():
        others = frame[frame.group == second]
        names = set(others.subject) | set(others.answer)
        named = frame.subject.isin(names) | frame.answer.isin(names)
        counts[second] = named.groupby(frame.group, sort=False).sum()
    return {first: {second: int(named[first]) for second, named in counts.items()} for first in counts}
