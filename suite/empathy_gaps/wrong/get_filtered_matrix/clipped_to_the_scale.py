"""Clips answers to the scale of the prompt. The paper averages the numbers as they are."""


def get_filtered_matrix(
    group_option: str, prompt_variation: str, model_id: str, excluded_ids: Iterable[int]
) -> NDArray[np.float64]:
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
        most = 10 if "S1" in prompt_variation else 100
        return round(sum(min(intensity, most) for intensity in answered) / len(answered), 2)

    means = np.array([[average(perceiver, experiencer) for experiencer in names] for perceiver in names])
    return (means - means.mean()) / means.std()
