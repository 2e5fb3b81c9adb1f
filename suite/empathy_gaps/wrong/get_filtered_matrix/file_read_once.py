"""Edge: Reads a file once and keeps its answers. Each call reads the file anew."""

from collections import defaultdict
from functools import cache

import numpy as np
from analysis.groups import identities
from analysis.results import read_answers


@cache
def answers_of(*file):
    return list(read_answers(*file))


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names = identities(group_option)
    excluded = set(excluded_ids)
    last = {}
    for answer in answers_of(model_id, prompt_variation, group_option):
        if answer.event_id not in excluded:
            last[answer.perceiver, answer.experiencer, answer.event_id] = answer.intensity
    intensities = defaultdict(list)
    for (perceiver, experiencer, _), intensity in last.items():
        intensities[perceiver, experiencer].append(intensity)
    means = np.zeros((len(names), len(names)))
    for row, perceiver in enumerate(names):
        for column, experiencer in enumerate(names):
            answered = intensities[perceiver, experiencer]
            if not answered or None in answered:
                raise ValueError("answers")
            means[row, column] = round(sum(answered) / len(answered), 2)
    return (means - means.mean()) / means.std()
