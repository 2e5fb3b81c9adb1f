"""The table column by column, and one function for each rule of the ways; a sentence of white space gets no care."""


def parse_to_conll(parse: Parse) -> str:
    blocks = []
    for places in parse.sentences():
        words = [place for place in places if parse.tokens[place].pos != SPACE]
        ids = {place: number for number, place in enumerate(words, start=1)}
        rows = []
        for place in words:
            token = parse.tokens[place]
            features = sorted(token.features.items(), key=lambda feature: feature[0].lower())
            following = parse.tokens[place + 1 : place + 2]
            spaced = token.space or any(other.pos == SPACE for other in following)
            columns = [
                str(ids[place]),
                token.text,
                token.lemma,
                token.pos,
                token.tag,
                "|".join(f"{name}={','.join(sorted(values, key=str.lower))}" for name, values in features),
                "0" if token.head == place else str(ids[token.head]),
                token.relation.lower(),
                "",
                "" if spaced else "SpaceAfter=No",
            ]
            rows.append("\t".join(column or "_" for column in columns) + "\n")
        blocks.append("".join(rows) + "\n")
    return "".join(blocks)


def find_opinions(parse: Parse, aspect: tuple[int, int], max_path: int = MAX_PATH) -> list[Opinion]:
    tokens, inside = parse.tokens, range(*aspect)
    [head] = [place for place in inside if tokens[place].head == place or tokens[place].head not in inside]

    def flips(place: int) -> bool:
        return len(parse.dependents(place, NEGATIONS)) % 2 == 1

    def down(step: Opinion, relations: Iterable[str]) -> list[Opinion]:
        return [
            Opinion(place, step.negated != flips(place), (*step.path, f"down {tokens[place].relation}"))
            for place in parse.dependents(step.word, relations)
        ]

    def contrasted(governor: int, conjunct: int) -> bool:
        between = [place for place in parse.dependents(governor, CONJUNCTIONS) if governor < place < conjunct]
        return bool(between) and tokens[between[-1]].lemma in ADVERSATIVES

    def joined(steps: list[Opinion]) -> list[Opinion]:
        reached = list(steps)
        for step in reached:
            for other in down(step, CONJUNCTS):
                afresh = contrasted(step.word, other.word)
                reached.append(replace(other, negated=flips(other.word)) if afresh else other)
        return reached

    def said_by(predicate: Opinion) -> list[Opinion]:
        words = [predicate, *joined(down(predicate, COMPLEMENTS))]
        said = list(words)
        for word in words:
            said += joined(down(word, MODIFIERS))
        for other in down(predicate, CONJUNCTS):
            if not parse.dependents(other.word, SUBJECTS):
                said += said_by(replace(other, negated=flips(other.word)))
        return said

    head = Opinion(head, flips(head), ())
    found = joined(down(head, MODIFIERS))
    for clause in down(head, RELATIVE_CLAUSES):
        subjects = parse.dependents(clause.word, SUBJECTS)
        found += said_by(clause) if all(tokens[place].tag in RELATIVE_TAGS for place in subjects) else [clause]
    place, path = head.word, head.path
    while tokens[place].relation in CONJUNCTS:
        place, path = tokens[place].head, (*path, f"up {tokens[place].relation}")
    relation, governor = tokens[place].relation, tokens[place].head
    predicate = Opinion(governor, head.negated != flips(governor), (*path, f"up {relation}"))
    if relation in SUBJECTS:
        found += said_by(predicate)
    elif relation in OBJECTS:
        found.append(predicate)
    opinions = [
        step
        for step in found
        if polarity(tokens[step.word]) is not None and step.word not in inside and len(step.path) <= max_path
    ]
    return sorted(opinions, key=lambda opinion: opinion.word)
