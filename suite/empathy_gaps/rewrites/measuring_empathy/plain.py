"""The functions as the paper, the documents and the logged results describe them."""


class Answer:
    @property
    def intensity(self):
        found = _NUMBER.match(self.response.lstrip())
        return float(found[0]) if found else None


def read_answers(model_id, prompt_variation, group_option):
    with open(_path(model_id, prompt_variation, group_option), encoding="utf-8") as file:
        return [Answer(**json.loads(line)) for line in file]


def refused_ids(answers):
    last = {(answer.perceiver, answer.experiencer, answer.event_id): answer.intensity for answer in answers}
    return {event_id for (_, _, event_id), intensity in last.items() if intensity is None}


def ask(model, events, group_option, prompt_variation=PROMPT_VARIATIONS[0]):
    answers = []
    for event, base in events.items():
        for perceiver in identities(group_option):
            for experiencer in identities(group_option):
                system, task = make_prompt(event, perceiver, experiencer, prompt_variation)
                answers.append(Answer(perceiver, experiencer, event.id, model.respond(system, task, base)))
    return answers


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names, given = identities(group_option), {}
    for answer in read_answers(model_id, prompt_variation, group_option):
        if answer.event_id not in excluded_ids:
            given.setdefault((answer.perceiver, answer.experiencer), {})[answer.event_id] = answer.intensity
    means = np.array([[np.mean(list(given[one, other].values())) for other in names] for one in names]).round(2)
    return (means - means.mean()) / means.std()


def get_delta(matrix, group_option):
    names = identities(group_option)[1:]
    groups = [ethnic_group(name) for name in names] if group_option == "ethnicity" else names
    same = np.array([[one == other for other in groups] for one in groups])
    cells = matrix[1:, 1:]
    return float(cells[same].mean() - cells[~same].mean())


def permutation_bounds(matrix, group_option, permutations, seed, level=0.95):
    generator, scores = np.random.default_rng(seed), []
    for _ in range(permutations):
        rows, columns = generator.permutation(len(matrix)), generator.permutation(len(matrix))
        scores.append(get_delta(matrix[rows][:, columns], group_option))
    return float(np.quantile(scores, (1 - level) / 2)), float(np.quantile(scores, (1 + level) / 2))


def view_similarity(matrix):
    names, correlations = identities("nationality"), np.corrcoef(matrix)
    within, between = [], []
    for one in range(1, len(names)):
        for other in range(1, one):
            kin = cultural_region(names[one]) == cultural_region(names[other])
            (within if kin else between).append(correlations[one, other])
    return float(np.mean(within)), float(np.mean(between))
