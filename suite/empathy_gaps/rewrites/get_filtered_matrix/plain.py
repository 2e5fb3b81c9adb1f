"""The formulas of the paper, over the last answer of each pair about each event."""


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names, given = identities(group_option), {}
    for answer in read_answers(model_id, prompt_variation, group_option):
        if answer.event_id not in excluded_ids:
            given.setdefault((answer.perceiver, answer.experiencer), {})[answer.event_id] = answer.intensity
    means = np.array([[np.mean(list(given[one, other].values())) for other in names] for one in names]).round(2)
    return (means - means.mean()) / means.std()
