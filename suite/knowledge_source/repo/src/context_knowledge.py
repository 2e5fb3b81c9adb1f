"""Counter-parametric knowledge (Section 3.2): which objects can contradict what a model knows?

Objects are compared by their first tokens alone. One whose first token is that with which the model began its own
answer can't be told from that answer, and contradicts nothing.
"""

import pandas as pd

from src.entities import canonical

# The columns of a dataset of counter-knowledge, in this order. parametric_knowledge_index: the index of the row of
# parametric knowledge that is contradicted. counter_knowledge_rank: the rank of equation 3, from 1.
# counter_knowledge_log_proba: that of the object's first token under the query.
COUNTER_COLUMNS = (
    "parametric_knowledge_index",
    "statement_subject",
    "rel_lemma",
    "relation_group_id",
    "relation_text",
    "parametric_object",
    "counter_knowledge_object",
    "counter_knowledge_rank",
    "counter_knowledge_log_proba",
)


def objects_of_relations(parametric_knowledge: pd.DataFrame) -> dict[str, dict[str, str]]:
    """For each relation its objects: the set O_r of Section 3.2, of what the model answered.

    Objects are keys by their canonical names, in order of appearance; the value is the name as it was first written.
    """
    objects: dict[str, dict[str, str]] = {}
    for row in parametric_knowledge.itertuples():
        objects.setdefault(row.rel_lemma, {}).setdefault(canonical(row.parametric_object), row.parametric_object)
    return objects


def objects_to_first_token_id(parametric_knowledge: pd.DataFrame) -> dict[str, int]:
    """The first token of each object, by its canonical name: as the model wrote it where it first answered so."""
    first: dict[str, int] = {}
    for row in parametric_knowledge.itertuples():
        first.setdefault(canonical(row.parametric_object), row.parametric_object_token_ids[0])
    return first
