"""Group indicators as matrices, averages by counting, all permutations drawn first, correlations pair by pair."""

import collections


class Answer:
    @property
    def intensity(self):
        try:
            return float(_NUMBER.match(self.response.lstrip()).group())
        except AttributeError:
            return None


def read_answers(model_id, prompt_variation, group_option):
    lines = _path(model_id, prompt_variation, group_option).read_bytes().splitlines()
    yield from (Answer(**json.loads(line)) for line in lines)


def refused_ids(answers):
    by_event = {}
    for answer in answers:
        by_event.setdefault(answer.event_id, {})[answer.perceiver, answer.experiencer] = answer.intensity
    return {event_id for event_id, pairs in by_event.items() if None in pairs.values()}


def ask(model, events, group_option, prompt_variation=PROMPT_VARIATIONS[0]):
    names = identities(group_option)
    questions = [(event, one, other) for event in events for one in names for other in names]
    responses = [
        model.respond(*make_prompt(event, one, other, prompt_variation), events[event])
        for event, one, other in questions
    ]
    return [
        Answer(perceiver=one, experiencer=other, event_id=event.id, response=response)
        for (event, one, other), response in zip(questions, responses, strict=True)
    ]


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names, excluded = identities(group_option), {*excluded_ids}
    last = {}
    for answer in read_answers(model_id, prompt_variation, group_option):
        last[answer.perceiver, answer.experiencer, answer.event_id] = answer
    totals, counts = np.zeros((2, len(names), len(names)))
    for perceiver, experiencer, event_id in last:
        if event_id in excluded:
            continue
        intensity = last[perceiver, experiencer, event_id].intensity
        if intensity is None:
            raise ValueError(f"event {event_id} was refused")
        totals[names.index(perceiver), names.index(experiencer)] += intensity
        counts[names.index(perceiver), names.index(experiencer)] += 1
    if (counts == 0).any():
        raise ValueError("a pair was not asked")
    means = np.rint(totals / counts * 100) / 100
    return (means - np.mean(means)) / np.sqrt(np.var(means))


def get_delta(matrix, group_option):
    names = identities(group_option)
    values = np.asarray(matrix).astype(np.float64)
    if values.shape != (len(names), len(names)):
        raise ValueError("another shape")
    groups = [None, *(ethnic_group(name) if group_option == "ethnicity" else name for name in names[1:])]
    sizes = collections.Counter(groups[1:])
    members = np.array([[group == wanted for group in groups] for wanted in sizes], dtype=float)
    inside = np.trace(members @ values @ members.T)
    everyone = members.sum(axis=0)
    within = sum(size**2 for size in sizes.values())
    outside = everyone @ values @ everyone - inside
    return float(inside / within - outside / (everyone.sum() ** 2 - within))


def permutation_bounds(matrix, group_option, permutations, seed, level=0.95):
    generator = np.random.default_rng(seed)
    orders = [[generator.permutation(len(matrix)) for _ in ("rows", "columns")] for _ in range(permutations)]
    scores = [get_delta(np.take(np.take(matrix, rows, 0), columns, 1), group_option) for rows, columns in orders]
    return tuple(float(np.quantile(scores, 0.5 + side * level / 2)) for side in (-1, 1))


def view_similarity(matrix):
    nations = identities("nationality")[1:]
    groups = collections.defaultdict(list)
    for number, name in enumerate(nations, start=1):
        for before in range(1, number):
            kin = cultural_region(name) == cultural_region(nations[before - 1])
            groups[kin].append(np.corrcoef(matrix[number], matrix[before])[0, 1])
    return float(np.mean(groups[True])), float(np.mean(groups[False]))
