"""Edge: Takes a number inside a refusal for an intensity. A refusal that is left is a ValueError."""

import re


def get_filtered_matrix(
    group_option: str, prompt_variation: str, model_id: str, excluded_ids: Iterable[int]
) -> NDArray[np.float64]:
    def intensity(answer):
        found = re.search(r"\d+(?:\.\d+)?", answer.response)
        return float(found.group()) if found else None

    names = identities(group_option)
    excluded = set(excluded_ids)
    # A later line takes the place of an earlier one.
    last = {
        (answer.perceiver, answer.experiencer, answer.event_id): intensity(answer)
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
