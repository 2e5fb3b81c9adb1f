"""A frame of masks in pandas, with the verdict on each pair of spellings worked out once."""

import pandas as pd
from src.entities import jaro_winkler, surface_forms


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    verdicts = {}
    pairs = list(zip(parametric_knowledge_dataset.statement_subject, parametric_knowledge_dataset.parametric_object))
    for subject, answer in dict.fromkeys(pairs):
        answers = surface_forms(answer)
        verdicts[subject, answer] = all(
            form not in other and other not in form and jaro_winkler(form, other) < string_similarity_ratio
            for form in surface_forms(subject)
            for other in answers
        )
    mask = pd.Series([verdicts[pair] for pair in pairs], dtype=bool).to_numpy()
    return parametric_knowledge_dataset[mask]
