"""A loop over pairs of groups, with the entities of each group in a set."""


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    df = parametric_knowledge_dataset
    rows = {}
    for group, subject, answer in zip(df["relation_group_id"], df["statement_subject"], df["parametric_object"]):
        rows.setdefault(group, []).append({canonical(subject), canonical(answer)})
    overlap = {}
    for first in rows:
        overlap[first] = {}
        for second in rows:
            entities = set().union(*rows[second])
            overlap[first][second] = sum(1 for names in rows[first] if names & entities)
    return overlap
