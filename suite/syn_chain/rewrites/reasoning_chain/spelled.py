"""For every opinion word the way from the aspect is spelled as a string of letters, which patterns match."""

import re


def parse_to_conll(parse):
    def rows(places):
        words = [place for place in places if parse.tokens[place].pos != SPACE]
        for place in words:
            token = parse.tokens[place]
            feats = (
                f"{name}={','.join(sorted(token.features[name], key=lambda value: value.lower()))}"
                for name in sorted(token.features, key=lambda name: name.lower())
            )
            after = parse.tokens[place + 1].pos if place + 1 < len(parse.tokens) else ""
            yield (
                words.index(place) + 1,
                token.text,
                token.lemma or "_",
                token.pos or "_",
                token.tag or "_",
                "|".join(feats) or "_",
                0 if token.relation == "ROOT" else words.index(token.head) + 1,
                token.relation.lower(),
                "_",
                "_" if token.space or after == SPACE else "SpaceAfter=No",
            )

    text = ""
    for places in parse.sentences():
        block = ["\t".join(map(str, row)) for row in rows(places)]
        if block:
            text += "\n".join(block) + "\n\n"
    return text


def find_opinions(parse, aspect, max_path=MAX_PATH):
    tokens = parse.tokens
    places = range(aspect[0], aspect[1])
    head = None
    for place in places:
        if tokens[place].head == place or tokens[place].head not in places:
            if head is not None:
                raise ValueError("two heads")
            head = place
    if head is None:
        raise ValueError("no head")

    def ancestors(place):
        line = [place]
        while tokens[line[-1]].head != line[-1]:
            line.append(tokens[line[-1]].head)
        return line

    def letter(place, down):
        relation = tokens[place].relation
        if relation in CONJUNCTS:
            return "j" if down else "J"
        if down:
            pairs = ((MODIFIERS, "m"), (RELATIVE_CLAUSES, "r"), (COMPLEMENTS, "c"))
        else:
            pairs = ((SUBJECTS, "S"), (OBJECTS, "O"))
        return next((mark for names, mark in pairs if relation in names), "x")

    def own_subjects(place):
        return parse.dependents(place, SUBJECTS)

    def negations(place):
        return len(parse.dependents(place, NEGATIONS))

    def contrast(governor, conjunct):
        between = [c for c in parse.dependents(governor, CONJUNCTIONS) if governor < c < conjunct]
        return between != [] and tokens[between[-1]].lemma in ADVERSATIVES

    from_head = ancestors(head)
    opinions = []
    for place, token in enumerate(tokens):
        if polarity(token) is None or place in places:
            continue
        from_word = ancestors(place)
        common = next((other for other in from_head if other in from_word), None)
        if common is None:
            continue
        ups = from_head[: from_head.index(common)]
        downs = from_word[: from_word.index(common)][::-1]
        if len(ups) + len(downs) > max_path:
            continue
        way = "".join(letter(p, False) for p in ups) + "".join(letter(p, True) for p in downs)
        partners = []
        if re.fullmatch(r"mj*|J*O", way):
            pass
        elif match := re.fullmatch(r"(r|J*S)(j*)(cj*(mj*)?|mj*)?", way):
            object_of = match[1] == "r" and any(tokens[c].tag not in RELATIVE_TAGS for c in own_subjects(downs[0]))
            if object_of and way != "r":
                continue
            first = 1 if match[1] == "r" else 0
            partners = downs[first : first + len(match[2])]
            if any(own_subjects(p) for p in partners):
                continue
        else:
            continue
        count = negations(head)
        if ups:
            count += negations(common)
        above = common
        for p in downs:
            if tokens[p].relation in CONJUNCTS and (p in partners or contrast(above, p)):
                count = 0
            count += negations(p)
            above = p
        path = [f"up {tokens[p].relation}" for p in ups] + [f"down {tokens[p].relation}" for p in downs]
        opinions.append(Opinion(place, count % 2 == 1, tuple(path)))
    return opinions


def make_prompt(step, text, aspect, given=""):
    first = "Sentence: " + re.sub(r"\s+", " ", text.strip())
    middle = [given] * bool(given) + [EXPLANATION] * (step == 1)
    return Prompt(step, _SYSTEMS[step], "\n".join([first, *middle, _QUESTIONS[step].replace("{aspect}", aspect)]))


def sentiment_of(response):
    sentence = re.match(r"[^.]*", response)[0].lower()
    found = re.search(r"(?<!\S)(positive|negative|neutral)(?!\S)", sentence)
    return found[1] if found else "neutral"


def run_chain(reader, sample, plan):
    responses = {}

    def ask(number, handed):
        text = re.sub(r"\n*\Z", "", parse_to_conll(parse(sample.text))) if number == 1 else handed
        return reader.answer(make_prompt(number, sample.text, sample.aspect, text))

    last = ""
    for match in re.finditer(r"(^|\+|/)([123])", plan):
        last = ask(int(match[2]), last if match[1] == "+" else "")
        responses[int(match[2])] = last
    return Outcome(sample, responses, sentiment_of(last))


def macro_f1(outcomes):
    golds = [outcome.sample.sentiment for outcome in outcomes]
    saids = [outcome.predicted for outcome in outcomes]
    scores = []
    for kind in sorted({*golds, *saids}):
        hits = sum(gold == said == kind for gold, said in zip(golds, saids))
        misses = sum(kind in pair and pair[0] != pair[1] for pair in zip(golds, saids))
        scores.append(hits / (hits + misses / 2))
    return sum(scores) / len(scores)
