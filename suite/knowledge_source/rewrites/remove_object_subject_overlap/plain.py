"""The rule as Section 3.1.3 and the instruction put it, in a comprehension."""


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    def tells(subject, answer):
        return any(
            one in other or other in one or jaro_winkler(one, other) >= string_similarity_ratio
            for one in surface_forms(subject)
            for other in surface_forms(answer)
        )

    df = parametric_knowledge_dataset
    return df[[not tells(*names) for names in zip(df["statement_subject"], df["parametric_object"])]]
