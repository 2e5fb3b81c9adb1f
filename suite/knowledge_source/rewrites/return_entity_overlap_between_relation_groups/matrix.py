"""A matrix of rows by entities against one of groups by entities."""

import numpy as np
from src.entities import row_entities


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    entities = row_entities(parametric_knowledge_dataset[["statement_subject", "parametric_object"]])
    groups = list(parametric_knowledge_dataset.relation_group_id)
    kept = [place for place, group in enumerate(groups) if isinstance(group, str)]
    order = list(dict.fromkeys(groups[place] for place in kept))
    names = {name: number for number, name in enumerate(sorted(set().union(*entities)))}
    rows = np.zeros((len(kept), len(names)), dtype=np.int64)
    members = np.zeros((len(order), len(kept)), dtype=np.int64)
    for number, place in enumerate(kept):
        rows[number, [names[name] for name in entities[place]]] = 1
        members[order.index(groups[place]), number] = 1
    touching = (rows @ (members @ rows).T > 0).astype(np.int64)
    counts = members @ touching
    return {
        first: {second: int(counts[one, other]) for other, second in enumerate(order)}
        for one, first in enumerate(order)
    }
