"""Without array functions wherever a loop can do it: sums, sorted scores, correlations by their definition."""


class Answer:
    @property
    def intensity(self):
        found = re.match(r"\s*([0-9]+(\.[0-9]+)?)", self.response)
        if found is None:
            return None
        return float(found[1])


def read_answers(model_id, prompt_variation, group_option):
    found = []
    with open(_path(model_id, prompt_variation, group_option)) as file:
        while line := file.readline():
            item = json.loads(line)
            found.append(Answer(item["perceiver"], item["experiencer"], item["event_id"], item["response"]))
    return found


def refused_ids(answers):
    ids, seen = set(), set()
    for answer in list(answers)[::-1]:
        key = (answer.perceiver, answer.experiencer, answer.event_id)
        if key not in seen and answer.intensity is None:
            ids.add(answer.event_id)
        seen.add(key)
    return ids


def ask(model, events, group_option, prompt_variation="P0S0T0"):
    def answer(event, perceiver, experiencer):
        system, task = make_prompt(event, perceiver, experiencer, prompt_variation)
        return Answer(perceiver, experiencer, event.id, model.respond(system=system, task=task, base=events[event]))

    found = []
    for event in events:
        for perceiver in identities(group_option):
            found += [answer(event, perceiver, experiencer) for experiencer in identities(group_option)]
    return found


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    ignored = frozenset(int(event_id) for event_id in excluded_ids)
    table = {}
    for answer in read_answers(model_id, prompt_variation, group_option):
        if answer.event_id in ignored:
            continue
        table.setdefault((answer.perceiver, answer.experiencer), {})[answer.event_id] = answer.intensity
    names, cells = identities(group_option), []
    for perceiver in names:
        for experiencer in names:
            given = list(table.get((perceiver, experiencer), {}).values())
            if len(given) == 0:
                raise ValueError("never asked")
            if any(value is None for value in given):
                raise ValueError("refused")
            cells.append(float(f"{sum(given) / len(given):.2f}"))
    mean = sum(cells) / len(cells)
    deviation = (sum((cell - mean) ** 2 for cell in cells) / len(cells)) ** 0.5
    return np.array([(cell - mean) / deviation for cell in cells]).reshape(len(names), len(names))


def get_delta(matrix, group_option):
    names = identities(group_option)
    shape = np.shape(matrix)
    if shape != (len(names),) * 2:
        raise ValueError(f"shape {shape}")
    totals, counts = [0.0, 0.0], [0, 0]
    for row, perceiver in enumerate(names):
        for column, experiencer in enumerate(names):
            if row == 0 or column == 0:
                continue
            if group_option == "ethnicity":
                same = ethnic_group(perceiver) == ethnic_group(experiencer)
            else:
                same = row == column
            totals[same] += float(matrix[row][column])
            counts[same] += 1
    return totals[1] / counts[1] - totals[0] / counts[0]


def permutation_bounds(matrix, group_option, permutations, seed, level=0.95):
    generator, scores = np.random.default_rng(seed), []
    while len(scores) < permutations:
        rows, columns = generator.permutation(len(matrix)), generator.permutation(len(matrix))
        scores.append(get_delta([[matrix[row][column] for column in columns] for row in rows], group_option))
    scores.sort()

    def quantile(share):
        place = share * (len(scores) - 1)
        below = int(place)
        above = min(below + 1, len(scores) - 1)
        return scores[below] + (place - below) * (scores[above] - scores[below])

    return quantile((1 - level) / 2), quantile(1 - (1 - level) / 2)


def view_similarity(matrix):
    names, totals, counts = identities("nationality"), {True: 0.0, False: 0.0}, {True: 0, False: 0}
    centred = [[cell - sum(row) / len(row) for cell in row] for row in matrix]
    for one in range(1, len(names)):
        for other in range(one + 1, len(names)):
            product = sum(x * y for x, y in zip(centred[one], centred[other], strict=True))
            lengths = [sum(x * x for x in centred[number]) ** 0.5 for number in (one, other)]
            kin = cultural_region(names[one]) == cultural_region(names[other])
            totals[kin] += product / lengths[0] / lengths[1]
            counts[kin] += 1
    return totals[True] / counts[True], totals[False] / counts[False]
