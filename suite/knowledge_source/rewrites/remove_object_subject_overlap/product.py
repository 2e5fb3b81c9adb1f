"""Pairs of names from a product, with one function for each row, and `iloc`."""

from itertools import product

from src.entities import jaro_winkler, surface_forms


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    subjects = parametric_knowledge_dataset["statement_subject"].tolist()
    objects = parametric_knowledge_dataset["parametric_object"].tolist()
    places = []
    for place, (subject, answer) in enumerate(zip(subjects, objects)):
        overlap = False
        for one, other in product(surface_forms(subject), surface_forms(answer)):
            if one in other or other in one or not jaro_winkler(one, other) < string_similarity_ratio:
                overlap = True
                break
        if not overlap:
            places.append(place)
    return parametric_knowledge_dataset.iloc[places]
