"""Tables and opinions of toy texts and drawn trees, prompts, chains of a reader that keeps prompts, and measures."""

import random
from copy import deepcopy

ADJECTIVES = ("great", "dreadful", "average", "red", "typical", "cold")
JOINING = ("and", "but", "or", "yet", "but")
TAGS = ("WDT", "WP", "PRP", "NN", "WDT")
CORE = (
    "nsubj",
    "nsubjpass",
    "dobj",
    "acomp",
    "attr",
    "oprd",
    "amod",
    "amod",
    "relcl",
    "conj",
    "conj",
    "conj",
    "cc",
    "cc",
)
LABELS = (*CORE, "neg", "neg", "prep", "advmod", "obj")
NAMES = ("Number", "number[abs]", "NumberX", "Case", "zeta", "alpha", "X", "X2", "x10", "Y")
VALUES = ("Plur", "Sing", "acc", "Nom", "3", "12", "Zz", "a", "b[c]", "bX", "B", "AB")
PLANS = ("3", "1+3", "2+3", "1+2/3", "1+2+3", "1/2+3", "1/3")
TEXTS = (
    "The wine list was not great but superb.",
    "We loved the pizza. The waiter wasn't rude!  Luigi enjoyed the fresh pizza.",
    "\n The soup  and the room were bad,\nbland or cold.\n\nYou think the food didn't taste good .\n",
    "The pizza which was cold and the pasta that we hated arrived late.",
    "The soup and the room arrived and were the great choice but never disappointed us.",
    "The music was average.  ",
)
ASPECTS = ("wine list", "pizza", "soup", "pasta", "room", "food", "music")


def cases(seed):
    generator = random.Random(seed)
    pick = generator.choice

    def token(lemma, pos, tag, head, relation, **others):
        row = {"text": lemma, "lemma": lemma, "pos": pos, "tag": tag, "head": head, "relation": relation}
        return row | {"features": {}, "space": True, "opens": False} | others

    def tree(count, labels=LABELS):
        """A sentence of any tree with relations of any kind, its words in any order."""
        order = generator.sample(range(count), count)
        tokens = [None] * count
        for number, place in enumerate(order):
            relation = pick(labels) if number else "ROOT"
            words = [(word, "ADJ") for word in ADJECTIVES] + [("bargain", "NOUN"), ("love", "VERB"), ("hate", "VERB")]
            lemma, pos = (pick(JOINING), "CCONJ") if relation == "cc" else pick(words)
            head = order[generator.randrange(max(0, number - 4), number)] if number else place
            tokens[place] = token(lemma, pos, pick(TAGS), head, relation)
        tokens[0]["opens"] = True
        return tokens

    def words(count):
        """A sentence for the table: any texts and features, and white space between them."""
        tokens = tree(count, ("nsubj", "acl:RelCl", "DEP", "x"))
        for row in tokens:
            row |= {"text": pick(("Food", "_", "#", "1", "|", "a=b", "n't")), "lemma": pick(("food", "Be", "_", ""))}
            row |= {"pos": pick(("NOUN", "X", "")), "tag": pick(("NN", "_SP", "")), "space": generator.random() < 0.6}
            chosen = generator.sample(NAMES, pick((0, 1, 2, 5)))
            row["features"] = {name: generator.sample(VALUES, pick((1, 1, 3))) for name in chosen}
        return tokens

    def spaced(tokens, share):
        """White space after some words; each token of it hangs on the word before."""
        places, result = {}, []
        for place, row in enumerate(tokens):
            places[place] = len(result)
            result.append(row)
            if generator.random() < share:
                result.append(token("\n", "SPACE", "_SP", -1 - place, "dep", space=False))
        for row in result:
            row["head"] = places[row["head"]] if row["head"] >= 0 else places[-1 - row["head"]]
        return result

    def text_of(*sentences):
        tokens = []
        for sentence in sentences:
            start = len(tokens)
            tokens += [row | {"head": row["head"] + start} for row in sentence]
        return tokens

    def asked(tokens, share=1.0):
        places = [place for place, row in enumerate(tokens) if row["pos"] != "SPACE"]
        bounds = (None, None, None, 1, 2, 3, 4, 6, 9, 100)
        spans = [(place, place + 1) for place in places if generator.random() < share]
        for _ in range(4):
            first, last = sorted((pick(places), pick(places)))
            last = max(place for place in places if first <= place <= min(last, first + 4))
            spans.append((first, last + 1))
        return {"tokens": tokens, "queries": [[*span, pick(bounds)] for span in spans]}

    blank = token("  ", "SPACE", "", 0, "dep", space=False, opens=True)
    tables = [
        [],
        words(1),
        text_of(spaced(words(9), 0.3), spaced(words(3), 0.0), spaced(words(6), 0.7)),
        text_of(*(spaced(words(2 + number % 3), 0.3) for number in range(6))),
    ]
    yield {"name": "tables", "parses": [{"tokens": tokens, "queries": []} for tokens in tables]}
    first, second = words(3), words(4)
    first[-1]["space"] = second[-1]["space"] = False
    odd = text_of([blank], first, [blank], second, [blank])
    yield {"name": "sentences of white space", "parses": [{"tokens": odd, "queries": []}], "edge": True}
    yield {"name": "toy texts", "texts": list(TEXTS)}
    yield {"name": "toy reviews", "reviews": 25, "seed": generator.randrange(10**6)}
    for number in range(10):
        size = (9, 14, 20, 26, 34)[number % 5]
        yield {"name": f"trees, {number}", "parses": [asked(tree(size)) for _ in range(4)]}
    dense = ("conj", "conj", "cc", "amod", "acomp", "neg", "nsubj")
    yield {"name": "trees of few relations", "parses": [asked(tree(24, dense)) for _ in range(6)]}
    few = ("nsubj", "nsubj", "conj", "conj", "conj", "neg", "acomp", "amod", "dobj")
    for number in range(3):
        yield {"name": f"trees of nouns and verbs, {number}", "parses": [asked(tree(24, few)) for _ in range(6)]}
    several = text_of(*(spaced(tree(14), 0.2) for _ in range(3)))
    yield {"name": "several sentences", "parses": [asked(several, 0.6)]}
    fixed = []
    for between in ((), ("but",), ("and",), ("and", "but"), ("but", "and"), ("but", "but")):
        for before, after in (((), ()), (("but",), ()), ((), ("yet",))):
            lemmas = ["food", "be", "not", *before, "cold", *between, *["never"] * pick((0, 1, 1)), "great", *after]
            first, second = lemmas.index("cold"), lemmas.index("great")
            rows = []
            for place, lemma in enumerate(lemmas):
                kinds = {0: ("NOUN", 1, "nsubj"), 1: ("AUX", 1, "ROOT"), 2: ("PART", 1, "neg")}
                kinds |= {first: ("ADJ", 1, pick(("acomp", "oprd"))), second: ("ADJ", first, "conj")}
                other = ("PART", second, "neg") if lemma == "never" else ("CCONJ", first, "cc")
                pos, head, relation = kinds.get(place, other)
                rows.append(token(lemma, pos, "X", head, relation, opens=place == 0))
            fixed.append({"tokens": rows, "queries": [[0, 1, None], [first, first + 1, None]]})
    yield {"name": "conjunctions around adjectives", "parses": fixed}
    fixed = []
    for relation in ("relcl", "ROOT"):
        for tags in ((), ("WDT",), ("WP",), ("PRP",), ("WDT", "PRP"), ("PRP", "WP")):
            for other in ((), ("WDT",), ("PRP",)):
                start = 1 + len(tags)
                top = start if relation == "ROOT" else 0
                rows = [token("food", "NOUN", "NN", top, "nsubj" if top else "ROOT", opens=True)]
                rows += [token("that", "PRON", tag, start, pick(("nsubj", "nsubjpass"))) for tag in tags]
                rows += [token("love", "VERB", "VBD", top, relation), token("cold", "ADJ", "JJ", start, "acomp")]
                second = len(rows) + len(other)
                rows += [token("that", "PRON", tag, second, pick(("nsubj", "nsubjpass"))) for tag in other]
                rows += [token("hate", "VERB", "VBD", start, "conj"), token("great", "ADJ", "JJ", second, "attr")]
                fixed.append({"tokens": rows, "queries": [[0, 1, None]]})
    yield {"name": "subjects of predicates", "parses": fixed}
    # A joined noun, whose neighbour is the subject of three joined verbs; the last of them is judged.
    fixed = []
    for negated in range(7):
        columns = [("service", "NOUN", 1, "conj"), ("food", "NOUN", 2, "nsubj"), ("arrive", "VERB", 2, "ROOT")]
        columns += [("love", "VERB", 2, "conj"), ("hate", "VERB", 3, "conj"), ("great", "ADJ", 4, "acomp")]
        rows = [token(lemma, pos, "X", head, relation) for lemma, pos, head, relation in columns]
        rows[0]["opens"] = True
        governors = [negated] * (negated < 6) + [generator.randrange(6)] * generator.randrange(2)
        rows += [token("not", "PART", "RB", place, "neg") for place in governors]
        fixed.append({"tokens": rows, "queries": [[0, 1, None], [1, 2, None]]})
    yield {"name": "joined nouns and verbs", "parses": fixed}
    fixed = []
    for count in range(5):
        rows = [token("food", "NOUN", "NN", 1, "nsubj", opens=True), token("be", "AUX", "VBZ", 1, "ROOT")]
        rows += [token("not", "PART", "RB", count + 2, "neg") for _ in range(count)]
        rows.append(token("cold", "ADJ", "JJ", 1, "acomp"))
        fixed.append({"tokens": rows, "queries": [[0, 1, None]]})
    yield {"name": "negated several times", "parses": fixed}

    def response():
        return " ".join(pick(("Positive", "neutral", "negative.", "negative", "is", "so.", "it")) for _ in range(5))

    sentences = ["  The food \n was\tgood. ", "So."]
    prompts = [[step, pick(sentences), "a b", given] for step in (1, 2, 3) for given in ("", "one\ntwo")]
    responses = [response() for _ in range(40)]
    responses += ["", "It is positive", "So. It is negative.", "Neutral or positive.", "It is negatives or positive?"]
    yield {"name": "prompts", "prompts": prompts, "responses": responses}
    given = {"texts": [*TEXTS[5:], *(pick(TEXTS[:2]) for _ in range(2))], "responses": [response() for _ in range(3)]}
    yield {"name": "chains", "plans": list(PLANS), **given}
    kinds = ("positive", "negative", "neutral")
    outcomes = [[(pick(kinds), pick(kinds[:bound])) for _ in range(size)] for size, bound in ((9, 3), (12, 2), (5, 1))]
    outcomes += [
        [("positive", "positive")],
        [("positive", "negative")],
        [("positive", "positive"), ("positive", "negative")],
        [("neutral", "neutral"), ("positive", "neutral")],
    ]
    yield {"name": "measures", "outcomes": outcomes}


def observe(case):
    kinds = {"parses": parses, "texts": texts, "reviews": reviews, "prompts": prompts, "outcomes": measures}
    if "plans" in case:
        return chains(case)
    return next(function(case) for kind, function in kinds.items() if kind in case)


def parses(case):
    from parses import Parse, Token

    found = []
    for part in case["parses"]:
        rows = [
            row | {"features": {key: tuple(row["features"][key]) for key in row["features"]}} for row in part["tokens"]
        ]
        found.append(answers(Parse([Token(**row) for row in rows]), part["queries"]))
    return {"found": found}


def answers(tree, queries):
    from conll_tree import find_opinions, parse_to_conll

    kept, found = deepcopy(tree), []
    for first, last, bound in queries:
        try:
            opinions = find_opinions(tree, (first, last), *([] if bound is None else [bound]))
            found.append([[opinion.word, bool(opinion.negated), list(opinion.path)] for opinion in opinions])
        except ValueError:
            found.append("refused")
    return {"table": parse_to_conll(tree), "found": found, "kept": tree == kept}


def texts(case):
    from parser import parse

    found = []
    for text in case["texts"]:
        tree = parse(text)
        found.append(answers(tree, [[*tree.find(aspect), None] for aspect in ASPECTS if aspect in text]))
    return {"found": found}


def reviews(case):
    from data import make_samples
    from parser import parse

    found = []
    for sample in make_samples(case["reviews"], 0.5, case["seed"]):
        tree = parse(sample.text)
        found.append(answers(tree, [[*tree.find(sample.aspect), None]]))
    return {"found": found}


def prompts(case):
    from prompts import make_prompt, sentiment_of

    found = [
        make_prompt(step, text, aspect, *([given] if given else [])) for step, text, aspect, given in case["prompts"]
    ]
    shown = [[prompt.step, prompt.system, prompt.user] for prompt in found]
    return {"prompts": shown, "sentiments": [sentiment_of(response) for response in case["responses"]]}


class Reader:
    """Gives one response after another, and keeps what it was asked."""

    def __init__(self, responses):
        self.responses, self.seen = responses, []

    def answer(self, prompt):
        self.seen.append([prompt.step, prompt.system, prompt.user])
        return self.responses[(len(self.seen) - 1) % len(self.responses)]


def chains(case):
    from chain import run_chain
    from data import Sample

    found = []
    for plan in case["plans"]:
        for text in case["texts"]:
            sample, reader = Sample(text, "pizza", "negative", 1, False), Reader(case["responses"])
            outcome = run_chain(reader, sample, plan)
            responses = [[number, outcome.responses[number]] for number in sorted(outcome.responses)]
            found.append([reader.seen, responses, outcome.predicted, outcome.right, outcome.sample == sample])
    return {"found": found}


def measures(case):
    from chain import Outcome
    from data import Sample
    from evaluation import accuracy, macro_f1

    found = []
    for pairs in case["outcomes"]:
        outcomes = [Outcome(Sample("So.", "it", gold, 1, False), {}, predicted) for gold, predicted in pairs]
        found.append([float(accuracy(outcomes)), float(macro_f1(outcomes))])
    return {"found": found}
