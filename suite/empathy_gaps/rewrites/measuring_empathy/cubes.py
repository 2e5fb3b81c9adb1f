"""Arrays throughout: a cube of answers by pair and event, masks of groups, rows standardised before their product."""

from itertools import product


class Answer:
    @property
    def intensity(self):
        digits = self.response.lstrip()
        end, points = 0, 0
        while end < len(digits) and (digits[end].isdigit() or (digits[end] == "." and end and not points)):
            points += digits[end] == "."
            end += 1
        return float(digits[:end]) if end else None


def read_answers(model_id, prompt_variation, group_option):
    text = _path(model_id, prompt_variation, group_option).read_text(encoding="utf-8")
    return iter([Answer(**json.loads(line)) for line in text.split("\n") if line])


def refused_ids(answers):
    refused = set()
    for answer in answers:
        key = answer.event_id, answer.perceiver, answer.experiencer
        (refused.add if answer.intensity is None else refused.discard)(key)
    return {event_id for event_id, _, _ in refused}


def ask(model, events, group_option, prompt_variation=PROMPT_VARIATIONS[0]):
    answers, names = [], identities(group_option)
    for event, (perceiver, experiencer) in product(events, product(names, repeat=2)):
        system, task = make_prompt(event, perceiver, experiencer, prompt_variation)
        response = model.respond(system, task, events[event])
        answers.append(Answer(perceiver, experiencer, event.id, response))
    return answers


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    excluded = list(excluded_ids)
    answers = [x for x in read_answers(model_id, prompt_variation, group_option) if x.event_id not in excluded]
    places = {name: place for place, name in enumerate(identities(group_option))}
    events = {event: place for place, event in enumerate(sorted({x.event_id for x in answers}))}
    cube, asked = np.zeros((len(places), len(places), len(events))), np.zeros((len(places), len(places), len(events)))
    for answer in answers:
        cell = places[answer.perceiver], places[answer.experiencer], events[answer.event_id]
        cube[cell] = np.nan if answer.intensity is None else answer.intensity
        asked[cell] = 1
    counts = asked.sum(axis=2)
    if np.isnan(cube).any() or not counts.all():
        raise ValueError("answers do not suffice")
    means = np.round(cube.sum(axis=2) / counts, 2)
    centred = means - means.mean()
    return centred / np.sqrt((centred**2).mean())


def get_delta(matrix, group_option):
    names = identities(group_option)
    values = np.array(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != len(names) or values.shape[1] != len(names):
        raise ValueError("another shape")
    weights = np.zeros(values.shape)
    for row in range(1, len(names)):
        for column in range(1, len(names)):
            pair = names[row], names[column]
            same = len({ethnic_group(name) for name in pair} if group_option == "ethnicity" else set(pair)) == 1
            weights[row, column] = 1 if same else -1
    inside, outside = weights > 0, weights < 0
    return float((values * inside).sum() / inside.sum() - (values * outside).sum() / outside.sum())


def permutation_bounds(matrix, group_option, permutations, seed, level=0.95):
    generator = np.random.default_rng(seed)
    scores = np.empty(permutations)
    for number in range(permutations):
        rows = generator.permutation(len(matrix))
        columns = generator.permutation(len(matrix))
        scores[number] = get_delta(matrix[np.ix_(rows, columns)], group_option)
    tail = 50 * (1 - level)
    return float(np.percentile(scores, tail)), float(np.percentile(scores, 100 - tail))


def view_similarity(matrix):
    names = identities("nationality")[1:]
    rows = np.asarray(matrix, dtype=float)[1:]
    rows = rows - rows.mean(axis=1, keepdims=True)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    products = rows @ rows.T
    regions = np.array([cultural_region(name) for name in names])
    upper = np.triu(np.ones(products.shape, dtype=bool), 1)
    kin = regions[:, None] == regions[None, :]
    return float(products[upper & kin].mean()), float(products[upper & ~kin].mean())
