"""Which groups occur with each entity, from which every row adds one to its line of counts."""

from collections import defaultdict

import pandas as pd
from src.entities import canonical


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    rows = [
        (group, canonical(subject), canonical(answer))
        for group, subject, answer in zip(
            parametric_knowledge_dataset.relation_group_id,
            parametric_knowledge_dataset.statement_subject,
            parametric_knowledge_dataset.parametric_object,
        )
        if not pd.isna(group)
    ]
    groups_of = defaultdict(set)
    for group, *names in rows:
        for name in names:
            groups_of[name].add(group)
    order = list(dict.fromkeys(group for group, *_ in rows))
    counts = {first: dict.fromkeys(order, 0) for first in order}
    for group, subject, answer in rows:
        for other in groups_of[subject] | groups_of[answer]:
            counts[group][other] += 1
    return counts
