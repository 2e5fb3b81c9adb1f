"""The greatest similarity of each row, where containment counts as 2."""

import numpy as np
from src.entities import jaro_winkler, surface_forms


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    def alike(one, other):
        shorter, longer = sorted((one, other), key=len)
        return 2.0 if longer.find(shorter) >= 0 else jaro_winkler(other, one)

    scores = np.full(len(parametric_knowledge_dataset), -1.0)
    columns = (parametric_knowledge_dataset.statement_subject, parametric_knowledge_dataset.parametric_object)
    for place, names in enumerate(zip(*columns)):
        first, second = map(surface_forms, names)
        scores[place] = max(alike(one, other) for one in first for other in second)
    return parametric_knowledge_dataset.loc[scores < string_similarity_ratio].copy()
