"""The matrix of a model's answers in one setting, and its empathy gap score (Section 3.4)."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.groups import ethnic_group, identities
from analysis.results import read_answers


def get_filtered_matrix(
    group_option: str, prompt_variation: str, model_id: str, excluded_ids: Iterable[int]
) -> NDArray[np.float64]:
    """Compute the normalized average intensities of all pairs of identities.

    Args:
        group_option: The category.
        prompt_variation: The prompt setting.
        model_id: The model that was asked.
        excluded_ids: The events to leave out.

    Returns:
        A matrix of shape (identities, identities), with perceivers in rows.

    Raises:
        ValueError: If a pair refused an event that is left, or has no answers left.
        FileNotFoundError: If the model was not asked.
    """
    names = identities(group_option)
    excluded = set(excluded_ids)
    # A later line takes the place of an earlier one.
    last = {
        (answer.perceiver, answer.experiencer, answer.event_id): answer.intensity
        for answer in read_answers(model_id, prompt_variation, group_option)
        if answer.event_id not in excluded
    }
    intensities = defaultdict(list)
    for (perceiver, experiencer, _), intensity in last.items():
        intensities[perceiver, experiencer].append(intensity)

    def average(perceiver: str, experiencer: str) -> float:
        answered = intensities[perceiver, experiencer]
        if not answered or None in answered:
            raise ValueError(f"{perceiver}, {experiencer}")
        return round(sum(answered) / len(answered), 2)

    means = np.array([[average(perceiver, experiencer) for experiencer in names] for perceiver in names])
    return (means - means.mean()) / means.std()


def get_delta(matrix: ArrayLike, group_option: str) -> float:
    """Compute the empathy gap score of a matrix.

    Args:
        matrix: Shape (identities, identities), with perceivers in rows.
        group_option: The category.

    Returns:
        The score.

    Raises:
        ValueError: If the matrix has another shape.
    """
    names = identities(group_option)
    values = np.asarray(matrix, dtype=float)
    if values.shape != (len(names), len(names)):
        raise ValueError(f"{values.shape}")
    groups = np.array([ethnic_group(name) if group_option == "ethnicity" else name for name in names[1:]])
    same = groups[:, np.newaxis] == groups
    specified = values[1:, 1:]
    return specified[same].mean() - specified[~same].mean()
