"""One search over states with a queue, instead of nested functions; the table by building columns one after another."""

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
