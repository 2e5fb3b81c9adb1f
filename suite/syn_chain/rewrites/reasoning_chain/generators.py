"""Generators that call each other, with a small state class; the table into a buffer; counts for measures."""

import io
from collections import Counter
from itertools import chain


class _Walk:
    def __init__(self, parse):
        self.parse, self.tokens = parse, parse.tokens

    def below(self, place, names):
        for other in range(len(self.tokens)):
            token = self.tokens[other]
            if other != place and token.head == place and token.relation in names:
                yield other

    def odd(self, place):
        return bool(sum(1 for _ in self.below(place, NEGATIONS)) % 2)

    def to(self, state, other):
        _, negative, path = state
        return other, negative ^ self.odd(other), [*path, "down " + self.tokens[other].relation]

    def contrast(self, place, other):
        last = None
        for joining in self.below(place, CONJUNCTIONS):
            if place < joining < other:
                last = joining
        return last is not None and self.tokens[last].lemma in ADVERSATIVES

    def with_conjuncts(self, state):
        yield state
        for other in self.below(state[0], CONJUNCTS):
            after = self.to(state, other)
            if self.contrast(state[0], other):
                after = (other, self.odd(other), after[2])
            yield from self.with_conjuncts(after)

    def modifiers(self, state):
        for other in self.below(state[0], MODIFIERS):
            yield from self.with_conjuncts(self.to(state, other))

    def predicate(self, state):
        yield state
        yield from self.modifiers(state)
        for complement in self.below(state[0], COMPLEMENTS):
            for joined in self.with_conjuncts(self.to(state, complement)):
                yield joined
                yield from self.modifiers(joined)
        for other in self.below(state[0], CONJUNCTS):
            if next(self.below(other, SUBJECTS), None) is None:
                yield from self.predicate((other, self.odd(other), self.to(state, other)[2]))

    def clause(self, head):
        place, path = head, []
        while self.tokens[place].relation in CONJUNCTS:
            path.append("up " + self.tokens[place].relation)
            place = self.tokens[place].head
        relation, governor = self.tokens[place].relation, self.tokens[place].head
        state = (governor, self.odd(head) ^ self.odd(governor), [*path, "up " + relation])
        if relation in SUBJECTS:
            yield from self.predicate(state)
        if relation in OBJECTS:
            yield state

    def relative(self, start):
        for other in self.below(start[0], RELATIVE_CLAUSES):
            state = self.to(start, other)
            if {self.tokens[subject].tag for subject in self.below(other, SUBJECTS)} <= RELATIVE_TAGS:
                yield from self.predicate(state)
            else:
                yield state


def parse_to_conll(parse):
    buffer = io.StringIO()
    for places in parse.sentences():
        ids = {}
        for place in places:
            if parse.tokens[place].pos != SPACE:
                ids[place] = len(ids) + 1
        for place, number in ids.items():
            token = parse.tokens[place]
            pairs = [(name.lower(), name, sorted(values, key=str.lower)) for name, values in token.features.items()]
            feats = "|".join(f"{name}={','.join(values)}" for _, name, values in sorted(pairs))
            try:
                white = token.space or parse.tokens[place + 1].pos == SPACE
            except IndexError:
                white = token.space
            fields = [token.text, token.lemma, token.pos, token.tag, feats]
            fields += [str(ids[token.head]) if token.head != place else "0", token.relation.lower(), ""]
            fields += ["" if white else "SpaceAfter=No"]
            print(number, *(field if field else "_" for field in fields), sep="\t", file=buffer)
        if ids:
            print(file=buffer)
    return buffer.getvalue()


def find_opinions(parse, aspect, max_path=MAX_PATH):
    walk = _Walk(parse)
    span = set(range(*aspect))
    heads = [place for place in span if parse.tokens[place].head in {place} | set(range(len(parse.tokens))) - span]
    if len(heads) != 1:
        raise ValueError("heads")
    start = (heads[0], walk.odd(heads[0]), [])
    states = chain(walk.modifiers(start), walk.clause(heads[0]), walk.relative(start))
    by_place = {place: Opinion(place, negated, tuple(path)) for place, negated, path in states}
    return [
        by_place[place]
        for place in sorted(by_place)
        if place not in span and polarity(parse.tokens[place]) is not None and not len(by_place[place].path) > max_path
    ]


def make_prompt(step, text, aspect, given=""):
    def lines():
        yield "Sentence: " + " ".join(text.split())
        yield from given.split("\n") if given else ()
        if step == 1:
            yield EXPLANATION
        yield _QUESTIONS[step].format(aspect=aspect)

    return Prompt(step=step, system=_SYSTEMS[step], user="\n".join(lines()))


def sentiment_of(response):
    found = [word for word in response.split(".")[0].lower().split() if word in {"positive", "negative", "neutral"}]
    return [*found, "neutral"][0]


def run_chain(reader, sample, plan):
    responses, before = {}, ""
    for sign in plan:
        if sign == "+":
            continue
        if sign == "/":
            before = ""
            continue
        if sign == "1":
            before = parse_to_conll(parse(sample.text)).strip("\n")
        before = reader.answer(make_prompt(int(sign), sample.text, sample.aspect, before))
        responses[int(sign)] = before
    return Outcome(sample, responses, sentiment_of(responses[3]))


def macro_f1(outcomes):
    pairs = Counter((outcome.sample.sentiment, outcome.predicted) for outcome in outcomes)
    gold, predicted = Counter(), Counter()
    for (one, other), count in pairs.items():
        gold[one] += count
        predicted[other] += count
    every = set(gold) | set(predicted)
    return sum(2 * pairs[kind, kind] / (gold[kind] + predicted[kind]) for kind in every) / len(every)
