"""One search over states with a queue, instead of nested functions; F1 by precision and recall."""

from collections import deque

from relations import (
    ADVERSATIVES as BUTS,
)


def parse_to_conll(parse):
    from parses import SPACE as BLANK

    tokens = parse.tokens
    out = []
    for sentence in parse.sentences():
        number = 0
        number_of = [0] * len(tokens)
        for place in sentence:
            if tokens[place].pos != BLANK:
                number += 1
                number_of[place] = number
        if number == 0:
            continue
        for place in sentence:
            if number_of[place] == 0:
                continue
            word = tokens[place]
            feats = []
            for name in sorted(word.features, key=str.lower):
                feats.append(name + "=" + ",".join(sorted(word.features[name], key=str.lower)))
            glued = not word.space and (place + 1 == len(tokens) or tokens[place + 1].pos != BLANK)
            out.append(
                "\t".join(
                    [
                        str(number_of[place]),
                        word.text,
                        word.lemma or "_",
                        word.pos or "_",
                        word.tag or "_",
                        "|".join(feats) or "_",
                        str(0 if word.head == place else number_of[word.head]),
                        word.relation.lower(),
                        "_",
                        "SpaceAfter=No" if glued else "_",
                    ]
                )
            )
        out.append("")
    return "".join(line + "\n" for line in out)


def find_opinions(parse, aspect, max_path=MAX_PATH):
    tokens = parse.tokens
    start, end = aspect
    tops = {p for p in range(start, end) if tokens[p].head == p or not start <= tokens[p].head < end}
    if len(tops) != 1:
        raise ValueError(aspect)
    children = {p: [] for p in range(len(tokens))}
    for p, token in enumerate(tokens):
        if token.head != p:
            children[token.head].append(p)

    def negations(p):
        return sum(tokens[c].relation in NEGATIONS for c in children[p])

    def subjects(p):
        return [c for c in children[p] if tokens[c].relation in SUBJECTS]

    (head,) = tops
    found = []
    queue = deque()
    # Each state says of which kind its word is; the kinds say which steps go on from there.
    queue.append(("aspect", head, negations(head), ()))
    climbed, steps = head, ()
    while tokens[climbed].relation in CONJUNCTS:
        steps += ("up " + tokens[climbed].relation,)
        climbed = tokens[climbed].head
    relation, governor = tokens[climbed].relation, tokens[climbed].head
    if relation in SUBJECTS | OBJECTS:
        kind = "predicate" if relation in SUBJECTS else "verb"
        queue.append((kind, governor, negations(head) + negations(governor), (*steps, "up " + relation)))
    while queue:
        kind, place, count, path = queue.popleft()
        if kind != "aspect":
            found.append((place, count, path))
        for child in children[place]:
            relation = tokens[child].relation
            both = count + negations(child)
            way = (*path, "down " + relation)
            if relation in CONJUNCTS and kind == "predicate":
                if not subjects(child):
                    queue.append(("predicate", child, negations(child), way))
            elif relation in CONJUNCTS and kind in ("complement", "modifier"):
                joining = [c for c in children[place] if tokens[c].relation in CONJUNCTIONS and place < c < child]
                if joining and tokens[max(joining)].lemma in BUTS:
                    both = negations(child)
                queue.append((kind, child, both, way))
            elif relation in MODIFIERS and kind in ("aspect", "complement", "predicate"):
                queue.append(("modifier", child, both, way))
            elif relation in COMPLEMENTS and kind == "predicate":
                queue.append(("complement", child, both, way))
            elif relation in RELATIVE_CLAUSES and kind == "aspect":
                relative = all(tokens[c].tag in RELATIVE_TAGS for c in subjects(child))
                queue.append(("predicate" if relative else "verb", child, both, way))
    kept = sorted(item for item in found if not start <= item[0] < end and len(item[2]) <= max_path)
    return [Opinion(place, bool(count & 1), path) for place, count, path in kept if polarity(tokens[place]) is not None]


def make_prompt(step, text, aspect, given=""):
    user = f"Sentence: {' '.join(text.split())}\n"
    if len(given) > 0:
        user += given + "\n"
    if step == 1:
        user += EXPLANATION + "\n"
    return Prompt(step, _SYSTEMS[step], user + _QUESTIONS[step].format(aspect=aspect))


def sentiment_of(response):
    first = response.lower()
    if "." in first:
        first = first[: first.index(".")]
    for word in first.split():
        if word in ("positive", "negative", "neutral"):
            return word
    return "neutral"


def run_chain(reader, sample, plan):
    table = parse_to_conll(parse(sample.text))
    while table.endswith("\n"):
        table = table[:-1]
    responses = {}
    for part in plan.split("/"):
        handed = ""
        for number in map(int, part.split("+")):
            prompt = make_prompt(number, sample.text, sample.aspect, table if number == 1 else handed)
            responses[number] = handed = reader.answer(prompt)
    return Outcome(sample=sample, responses=responses, predicted=sentiment_of(responses[3]))


def macro_f1(outcomes):
    scores = {}
    for sentiment in SENTIMENTS.values():
        gold = [outcome.sample.sentiment == sentiment for outcome in outcomes]
        said = [outcome.predicted == sentiment for outcome in outcomes]
        if True not in gold + said:
            continue
        right = sum(one and other for one, other in zip(gold, said))
        precision = right / sum(said) if right else 0.0
        recall = right / sum(gold) if right else 0.0
        scores[sentiment] = 2 * precision * recall / (precision + recall) if right else 0.0
    return sum(scores.values()) / len(scores)
