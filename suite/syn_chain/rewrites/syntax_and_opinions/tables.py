"""Works on columns, lists of governors, relations and negations, filled once; closes sets of places."""


def parse_to_conll(parse):
    tokens = parse.tokens
    blank = [token.pos == SPACE for token in tokens] + [False]
    shift = []
    for places in parse.sentences():
        seen = 0
        for place in places:
            seen += not blank[place]
            shift.append(seen)
    lines = []
    for places in parse.sentences():
        if all(blank[place] for place in places):
            continue
        for place in places:
            if not blank[place]:
                token = tokens[place]
                head = 0 if token.head == place else shift[token.head]
                misc = "_" if token.space or blank[place + 1] else "SpaceAfter=No"
                feats = [
                    "=".join((name, ",".join(sorted(values, key=str.lower)))) for name, values in token.features.items()
                ]
                feats.sort(key=lambda feat: feat.split("=")[0].lower())
                lines.append(
                    f"{shift[place]}\t{token.text}\t{token.lemma or '_'}\t{token.pos or '_'}\t{token.tag or '_'}\t"
                    f"{'|'.join(feats) or '_'}\t{head}\t{token.relation.lower()}\t_\t{misc}"
                )
        lines.append("")
    return "\n".join([*lines, ""]) if lines else ""


def find_opinions(parse, aspect, max_path=MAX_PATH):
    tokens = parse.tokens
    size = len(tokens)
    governor = [token.head for token in tokens]
    relation = [token.relation for token in tokens]
    inside = range(aspect[0], aspect[1])
    heads = [place for place in inside if governor[place] == place or governor[place] not in inside]
    if len(heads) != 1:
        raise ValueError(f"{aspect}")
    head = heads[0]
    odd = [False] * size
    for place in range(size):
        if relation[place] in NEGATIONS and governor[place] != place:
            odd[governor[place]] = not odd[governor[place]]
    has_subject = [False] * size
    plain_subject = [False] * size
    for place in range(size):
        if relation[place] in SUBJECTS and governor[place] != place:
            has_subject[governor[place]] = True
            plain_subject[governor[place]] |= tokens[place].tag not in RELATIVE_TAGS
    reached = {}

    def reach(place, negated, path):
        reached[place] = (negated, path)
        return place

    def step(above, place, anew=False):
        negated, path = reached[above]
        return reach(place, odd[place] != (negated and not anew), [*path, f"down {relation[place]}"])

    def below(above, names):
        return [place for place in range(size) if governor[place] == above != place and relation[place] in names]

    def close(places):
        places = list(places)
        position = 0
        while position < len(places):
            above = places[position]
            for place in below(above, CONJUNCTS):
                joining = [other for other in below(above, CONJUNCTIONS) if other in range(above + 1, place)]
                places.append(step(above, place, bool(joining) and tokens[joining[-1]].lemma in ADVERSATIVES))
            position += 1
        return places

    def modify(places):
        for above in places:
            close([step(above, place) for place in below(above, MODIFIERS)])

    reach(head, odd[head], [])
    modify([head])
    predicates = []
    for place in below(head, RELATIVE_CLAUSES):
        step(head, place)
        if not plain_subject[place]:
            predicates.append(place)
    place, path = head, []
    while relation[place] in CONJUNCTS:
        path.append(f"up {relation[place]}")
        place = governor[place]
    if relation[place] in SUBJECTS | OBJECTS:
        verb = reach(governor[place], odd[head] != odd[governor[place]], [*path, f"up {relation[place]}"])
        if relation[place] in SUBJECTS:
            predicates.append(verb)
    while predicates:
        above = predicates.pop()
        modify([above, *close([step(above, place) for place in below(above, COMPLEMENTS)])])
        predicates += [step(above, place, True) for place in below(above, CONJUNCTS) if not has_subject[place]]
    return [
        Opinion(place, reached[place][0], tuple(reached[place][1]))
        for place in range(size)
        if place in reached
        and place not in inside
        and polarity(tokens[place]) is not None
        and len(reached[place][1]) <= max_path
    ]
