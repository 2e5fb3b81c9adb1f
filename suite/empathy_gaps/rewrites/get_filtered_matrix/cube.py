"""A cube of intensities by event, filled from the file and averaged along one axis."""

import numpy as np
from analysis.groups import identities
from analysis.results import read_answers


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    places = {name: place for place, name in enumerate(identities(group_option))}
    dropped = frozenset(excluded_ids)
    kept = [a for a in read_answers(model_id, prompt_variation, group_option) if a.event_id not in dropped]
    events = {event: place for place, event in enumerate(sorted({answer.event_id for answer in kept}))}
    # NaN: never asked; infinite: refused.
    cube = np.full((len(places), len(places), len(events)), np.nan)
    for answer in kept:
        value = np.inf if answer.intensity is None else answer.intensity
        cube[places[answer.perceiver], places[answer.experiencer], events[answer.event_id]] = value
    asked = ~np.isnan(cube)
    if np.isinf(cube).any() or not asked.any(axis=2).all():
        raise ValueError("refused, or not asked")
    means = np.round(np.where(asked, cube, 0).sum(axis=2) / asked.sum(axis=2), 2)
    return (means - np.mean(means)) / np.std(means, ddof=0)
