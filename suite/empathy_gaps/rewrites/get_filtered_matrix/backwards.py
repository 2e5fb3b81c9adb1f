"""The file read from its end, so that the first line of a pair and event counts."""

import statistics

import numpy as np
from analysis.groups import identities
from analysis.results import read_answers


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    seen = set()
    dropped = set(excluded_ids)
    by_pair = {}
    for answer in reversed(list(read_answers(model_id, prompt_variation, group_option))):
        key = (answer.perceiver, answer.experiencer, answer.event_id)
        if key in seen or answer.event_id in dropped:
            continue
        seen.add(key)
        if answer.intensity is None:
            raise ValueError(f"refused: {key}")
        by_pair.setdefault(key[:2], []).append(answer.intensity)
    names = identities(group_option)
    try:
        cells = [round(statistics.fmean(by_pair[row, column]), 2) for row in names for column in names]
    except KeyError as error:
        raise ValueError(f"no answer: {error}") from error
    centre, spread = statistics.fmean(cells), statistics.pstdev(cells)
    return np.array([(cell - centre) / spread for cell in cells]).reshape(len(names), len(names))
