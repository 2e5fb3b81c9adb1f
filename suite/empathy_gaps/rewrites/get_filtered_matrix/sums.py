"""Running sums and counts, from which a line that is asked again is taken away."""

import numpy as np
from analysis.groups import identities
from analysis.results import read_answers


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names = list(identities(group_option))
    dropped = set(excluded_ids)
    sums, counts = np.zeros((2, len(names), len(names)))
    now = {}
    for answer in read_answers(model_id, prompt_variation, group_option):
        if answer.event_id in dropped:
            continue
        cell = names.index(answer.perceiver), names.index(answer.experiencer)
        before = now.get((cell, answer.event_id))
        if before is not None:
            sums[cell] -= before
            counts[cell] -= 1
        now[cell, answer.event_id] = answer.intensity
        if answer.intensity is not None:
            sums[cell] += answer.intensity
            counts[cell] += 1
    if (counts == 0).any() or None in now.values():
        raise ValueError("too few answers")
    means = np.around(sums / counts, decimals=2)
    centred = means - means.mean()
    return centred / np.sqrt((centred**2).mean())
