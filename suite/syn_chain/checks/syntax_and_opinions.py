"""The table of a parse, and the opinions about aspects, in toy texts and in drawn trees; then the experiment."""

import random
from copy import deepcopy

NOUNS = ("food", "service", "bargain", "disaster", "choice", "delight", "letdown")
ADJECTIVES = ("great", "dreadful", "average", "red", "typical", "cold", "ordinary", "small")
VERBS = ("love", "hate", "be", "shine", "arrive", "disappoint")
JOINING = ("and", "but", "or", "yet", "but", "and")
TAGS = ("WDT", "WP", "PRP", "NN", "WP$", "WRB", "wdt")
OTHER = ("prep", "advmod", "ccomp", "xcomp", "csubj", "preconj", "acl", "poss", "nmod", "pobj", "iobj", "obj", "punct")
LABELS = ("nsubj", "nsubjpass", "dobj", "acomp", "attr", "oprd", "amod", "relcl", "conj", "conj", "cc", "neg", *OTHER)
NAMES = ("Number", "number[abs]", "NumberX", "Number[psor]", "NumType", "Case", "zeta", "alpha", "X", "X2", "x10", "Y")
VALUES = ("Plur", "Sing", "acc", "Nom", "3", "12", "Zz", "a", "b[c]", "bX", "B", "AB")
TEXTS = {
    "a clause": "The wine list was not great but superb.",
    "several sentences": "We loved the pizza. The waiter wasn't rude!  Luigi enjoyed the fresh pasta.",
    "relative clauses": "The pizza which was cold and the pasta that we hated arrived late.",
    "joined predicates": "The soup and the room arrived and were the great choice but never disappointed us.",
}
ODD_TEXTS = {
    "line ends": "\n The soup  and the room were bad,\nbland or cold.\n\nYou think the food didn't taste good .\n",
    "nothing": "",
    "white space": " \n ",
}


def cases(seed):
    generator = random.Random(seed)
    pick = generator.choice

    def chance(share):
        return generator.random() < share

    def token(text, lemma, pos, tag, head, relation, features=None, space=True, opens=False):
        return [text, lemma, pos, tag, head, relation, features or {}, space, opens]

    # Trees as nested lists: a token's first four columns, its relation, what it governs before it and after it.
    def node(lemma, pos, tag, relation, before=(), after=()):
        if chance(0.06):
            pos = pick(("ADV", "NOUN", "PROPN", "VERB"))
        text = pick((lemma, lemma.capitalize(), lemma.upper(), "good", "but", "not"))
        return [(text, lemma, pos, tag), relation, list(before), list(after)]

    def extras(tree, share=0.3):
        """Negations, conjunctions and others on either side."""
        for side in (2, 3):
            while chance(share):
                relation = pick(("neg", "neg", "cc", "cc", "cc", pick(OTHER)))
                lemma = {"neg": pick(("not", "never")), "cc": pick(JOINING)}.get(relation, pick(ADJECTIVES))
                child = node(lemma, "ADJ" if lemma in ADJECTIVES else "X", pick(TAGS), relation)
                tree[side].insert(generator.randrange(len(tree[side]) + 1), child)
        return tree

    def adjective(relation, depth):
        after = [adjective("conj", depth - 1)] if depth > 0 and chance(0.45) else []
        if after and chance(0.3):
            after.append(adjective("conj", depth - 1))
        return extras(node(pick(ADJECTIVES), "ADJ", "JJ", relation, after=after))

    def noun(relation, depth):
        before = [adjective("amod", depth - 1) for _ in range(2) if chance(0.35)]
        after = []
        if depth > 0:
            after += [predicate("relcl", depth - 1, pick((0.2, 0.8)))] if chance(0.25) else []
            after += [noun(pick(OTHER), depth - 1)] if chance(0.12) else []
            after += [noun("conj", depth - 1)] if chance(0.35) else []
        tree = extras(node(pick(NOUNS), "NOUN", "NN", relation, before, after), 0.2)
        if chance(0.25):
            tree[2].append(node(pick(ADJECTIVES), "ADJ", "JJ", pick(("compound", "amod"))))
        return tree

    def predicate(relation, depth, subjects=0.8):
        subject = pick(("nsubj", "nsubj", "nsubjpass"))
        before = [noun(subject, depth - 1)] if chance(subjects) else []
        if relation == "relcl" and before and chance(0.7):
            before = [node("that", "PRON", pick(TAGS), subject)]
        if relation == "relcl" and before and chance(0.2):
            before.append(node("we", "PRON", pick(TAGS), "nsubj"))
        after = [adjective(pick(("acomp", "oprd", "xcomp")), depth - 1)] if chance(0.5) else []
        after += [noun(pick(("attr", "attr", "oprd", "dobj")), depth - 1)] if chance(0.45) else []
        if depth > 0 and chance(0.45):
            after.append(predicate("conj", depth - 1, 0.3))
            after += [predicate("conj", depth - 1, 0.3)] if chance(0.2) else []
        return extras(node(pick(VERBS), pick(("VERB", "VERB", "AUX")), "VBD", relation, before, after))

    def laid_out(tree, tokens, head=None):
        """The tokens of a tree, in order; gives the place of its root."""
        columns, relation, before, after = tree
        left = [laid_out(child, tokens) for child in before]
        place = len(tokens)
        tokens.append(token(*columns, place if head is None else head, relation))
        for other in [*left, *(laid_out(child, tokens) for child in after)]:
            tokens[other][4] = place
        return place

    def drawn(depth):
        """A sentence of a drawn tree of clauses."""
        tokens = []
        root = laid_out(predicate("ROOT", depth), tokens)
        tokens[root][4] = root
        tokens[0][8] = True
        return tokens

    def labelled(count, labels=LABELS):
        """A sentence of any tree with any relations, its words in any order."""
        order = generator.sample(range(count), count)
        tokens = [None] * count
        for number, place in enumerate(order):
            lemma, pos = pick(
                [*((w, "ADJ") for w in ADJECTIVES), ("bargain", "NOUN"), ("love", "VERB"), ("but", "CCONJ")]
            )
            head = order[generator.randrange(max(0, number - 4), number)] if number else place
            tokens[place] = token(lemma, lemma, pos, pick(TAGS), head, pick(labels) if number else "ROOT")
        tokens[0][8] = True
        return tokens

    def spaced(tokens, share=0.1):
        """White space after some words; each token of it hangs on the word before."""
        places, result = {}, []
        for place, row in enumerate(tokens):
            places[place] = len(result)
            result.append(row)
            if chance(share):
                result.append(token(pick(("\n", " ", "\t\n")), " ", "SPACE", "_SP", -1 - place, "dep", space=False))
        for row in result:
            row[4] = places[row[4]] if row[4] >= 0 else places[-1 - row[4]]
        return result

    def text_of(*sentences):
        """The tokens of several sentences, counted through."""
        tokens = []
        for sentence in sentences:
            start = len(tokens)
            tokens += [[*row[:4], row[4] + start, *row[5:]] for row in sentence]
        return tokens

    def heads_of(tokens, first, last):
        inside = range(first, last)
        return [place for place in inside if tokens[place][4] == place or tokens[place][4] not in inside]

    def ask(tokens, share=1.0):
        """Each word, and some terms of several words that have one head, with any bound."""
        words = [place for place, row in enumerate(tokens) if row[2] != "SPACE"]
        queries = [[place, place + 1] for place in words if chance(share)]
        for _ in range(30):
            first, last = sorted((pick(words), pick(words)))
            inside = {row[2] for row in tokens[first : last + 1]}
            if last < first + 4 and "SPACE" not in inside and len(heads_of(tokens, first, last + 1)) == 1:
                queries.append([first, last + 1])
        bounds = (None, None, None, 1, 2, 3, 4, 5, 6, 7, 9, 100)
        return [(*query, pick(bounds)) for query in queries]

    for edge, texts in ((False, TEXTS), (True, ODD_TEXTS)):
        for name, text in texts.items():
            aspects = [word for word in ("pizza", "soup", "food", "pasta", "wine list") if word in text]
            yield {"name": f"text: {name}", "text": text, "aspects": aspects, "edge": edge}
    for number in range(3):
        yield {"name": f"toy reviews, {number}", "reviews": 8, "drawn": generator.randrange(10**6)}

    def features():
        return {
            name: generator.sample(VALUES, pick((1, 1, 1, 2, 3, 4)))
            for name in generator.sample(NAMES, pick((0, 0, 1, 2, 3, 6, 12)))
        }

    def sentence(count, share=0.15, opening=False):
        """A sentence for the table: any tree, any texts, any features, white space."""
        order = generator.sample(range(count), count)
        tokens = [None] * count
        for number, place in enumerate(order):
            text = pick(("Food", "was", "_", "#", "1", "|", "a=b", "n't", '"', "SPACE", "root", "-"))
            lemma, pos, tag = (
                pick(("food", "Be", "_", "|", "")),
                pick(("NOUN", "X", "PUNCT", "")),
                pick(("NN", "_SP", "")),
            )
            head = order[generator.randrange(number)] if number else place
            relation = pick(("nsubj", "acl:RelCl", "obl", "DEP", "dep", "x")) if number else "ROOT"
            tokens[place] = token(text, lemma, pos, tag, head, relation, features(), chance(0.6))
        tokens = spaced(tokens, share)
        if opening:
            blank = token("\n", "", "SPACE", "_SP", 0, "dep", {}, False)
            tokens = [blank, *([*row[:4], row[4] + 1, *row[5:]] for row in tokens)]
        tokens[0][8] = True
        return tokens

    blank = [token("  ", "", "SPACE", "", 0, "dep", {"SpaceType": ["X"]}, False, True)]
    blanks = [*blank, token("\n", "", "SPACE", "", 0, "dep", {}, False)]
    tables = {
        "one word": [sentence(1, 0)],
        "one word, then white space": [sentence(1, 1)],
        "two words": [sentence(2, 0)],
        "a sentence": [sentence(9)],
        "white space first": [sentence(6, opening=True)],
        "white space everywhere": [sentence(8, 0.9, True)],
        "sentences": [sentence(count, 0) for count in (3, 1, 7)],
        "sentences with white space": [sentence(count) for count in (4, 6, 2)],
        "a long sentence": [sentence(60, 0.05)],
        "many sentences": [sentence(2 + place % 3, 0.1) for place in range(12)],
    }
    opening = [sentence(count, 0, True) for count in (3, 2, 2, 1)]
    for part in opening:
        # Only the next sentence shows the white space after the last word.
        part[-1][7] = False
    odd_tables = {
        "sentences that begin with white space": opening,
        "a sentence of white space": [sentence(3, 0), blank, sentence(4, 0)],
        "sentences of white space": [blank, blanks, blank],
        "white space in front and at the end": [blanks, sentence(3, 0), blanks],
        "a very long sentence": [sentence(300, 0.05)],
    }
    for edge, kinds in ((False, tables), (True, odd_tables)):
        for name, parts in kinds.items():
            yield {"name": f"table: {name}", "parses": [{"tokens": text_of(*parts), "queries": []}], "edge": edge}

    def grown(least=8, most=70):
        while not least <= len(tokens := drawn(pick((1, 2, 3, 3, 4)))) <= most:
            pass
        return tokens

    def asked(name, *texts, share=1.0):
        parses = [{"tokens": tokens, "queries": ask(tokens, share)} for tokens in texts]
        return {"name": f"opinions: {name}", "parses": parses}

    for number in range(8):
        yield asked(f"trees of clauses, {number}", *(grown() for _ in range(6)))
    for number in range(3):
        yield asked(f"large trees of clauses, {number}", *(grown(50, 90) for _ in range(2)))
    yield asked("white space in trees", *(spaced(grown(), 0.3) for _ in range(5)))
    for number in range(3):
        yield asked(f"several sentences, {number}", text_of(*(spaced(grown(8, 50), 0.1) for _ in range(3))), share=0.5)
    for number in range(5):
        yield asked(f"any relations, {number}", *(labelled(pick((12, 20, 30))) for _ in range(6)))

    few = ("conj", "conj", "cc", "amod", "acomp", "neg", "nsubj", "relcl")
    for number in range(4):
        yield asked(f"few relations, {number}", *(labelled(pick((12, 20, 30)), few) for _ in range(6)))

    # Long ways: the bound itself, one less and one more.
    for count in (5, 6, 101):
        edge = {"edge": count > 9}
        ways = [(0, 1, bound) for bound in ((None, 1, 4, 5, 6) if count < 9 else (None, 99, 100))]
        head = token("food", "food", "NOUN", "NN", 0, "ROOT", opens=True)
        row = [token("good", "good", "ADJ", "JJ", place, "conj" if place else "amod") for place in range(count)]
        yield {
            "name": f"opinions: {count} joined adjectives",
            "parses": [{"tokens": [head, *row], "queries": ways}],
        } | edge
        head = token("food", "food", "NOUN", "NN", 1, "nsubj", opens=True)
        row = [token("loved", "love", "VERB", "VBD", max(n, 1), "conj" if n else "ROOT") for n in range(count)]
        row.append(token("not", "not", "PART", "RB", pick((2, 3, 4)), "neg"))
        yield {"name": f"opinions: {count} joined verbs", "parses": [{"tokens": [head, *row], "queries": ways}]} | edge
        row = [token("bargain", "bargain", "NOUN", "NN", place - 1, "conj") for place in range(count)]
        row[0] = token("bargain", "bargain", "NOUN", "NN", count, pick(("nsubj", "dobj", "nsubjpass")), opens=True)
        row.append(token("hated", "hate", "VERB", "VBD", count, "ROOT"))
        ways = [(place, place + 1, bound) for place, bound in ((0, 1), (3, None), (4, None), (count - 1, 100))]
        yield {"name": f"opinions: {count} joined nouns", "parses": [{"tokens": row, "queries": ways}]} | edge

    # Two adjectives with conjunctions before, between and after them, negated in front.
    fixed = []
    for words in ((), ("but",), ("and",), ("and", "but"), ("but", "and"), ("or", "yet"), ("yet", "or"), ("but", "but")):
        for before, after in (((), ()), (("but",), ()), ((), ("yet",))):
            # Without a conjunction between them, a negation tells whether another one is read.
            outer, inner = generator.randrange(2) if words else 1, pick((0, 0, 1, 2))
            lemmas = ["food", "be", *["not"] * outer, *before, "cold", *words, *["not"] * inner, "great", *after]
            first, second = lemmas.index("cold"), lemmas.index("great")
            row = []
            for place, lemma in enumerate(lemmas):
                text, pos, head, relation = pick((lemma, lemma.upper(), "and", "but")), "CCONJ", first, "cc"
                if place < 2:
                    pos, head, relation = ("AUX", 1, "ROOT") if place else ("NOUN", 1, "nsubj")
                elif place == first:
                    pos, head, relation = "ADJ", 1, pick(("acomp", "oprd"))
                elif place == second:
                    pos, relation = "ADJ", "conj"
                elif lemma == "not":
                    pos, head, relation = "PART", 1 if place < first else second, "neg"
                row.append(token(text, lemma, pos, pick(("CC", "X")), head, relation, opens=place == 0))
            fixed.append({"tokens": row, "queries": [(0, 1, None)]})
    yield {"name": "opinions: conjunctions around adjectives", "parses": fixed}

    # Predicates with and without subjects, in relative clauses and in the main one.
    fixed = []
    for relation in ("relcl", "ROOT"):
        for tags in ((), ("WDT",), ("WP",), ("PRP",), ("WDT", "PRP"), ("PRP", "WP"), ("WP", "WDT")):
            for other in ((), ("WDT",), ("WP",), ("PRP",)):
                start = 1 + len(tags)
                row = [token("food", "food", "NOUN", "NN", start if relation == "ROOT" else 0, "nsubj", opens=True)]
                row[0][5] = "nsubj" if relation == "ROOT" else "ROOT"
                row += [token("that", "that", "PRON", tag, start, pick(("nsubj", "nsubjpass"))) for tag in tags]
                row.append(token("loved", "love", "VERB", "VBD", start if relation == "ROOT" else 0, relation))
                row.append(token("cold", "cold", "ADJ", "JJ", start, "acomp"))
                second = len(row) + len(other)
                row += [token("that", "that", "PRON", tag, second, pick(("nsubj", "nsubjpass"))) for tag in other]
                row.append(token("hated", "hate", "VERB", "VBD", start, "conj"))
                row.append(token("great", "great", "ADJ", "JJ", second, "attr"))
                fixed.append({"tokens": row, "queries": [(0, 1, None)]})
    yield {"name": "opinions: subjects of predicates", "parses": fixed}

    # A way of eight edges: food, service, arrive, be, choice, bargain, great, cold, and as many negations.
    fixed = []
    for _ in range(6):
        row = []
        steps = [
            *(("service", "NOUN", 1, "conj"), ("food", "NOUN", 2, "nsubj"), ("arrive", "VERB", 2, "ROOT")),
            *(("love", "VERB", 2, "conj"), ("disaster", "NOUN", 3, "attr"), ("bargain", "NOUN", 4, "conj")),
            *(("great", "ADJ", 5, "amod"), ("cold", "ADJ", 6, "conj"), ("typical", "ADJ", 7, "conj")),
        ]
        for place, (lemma, pos, head, relation) in enumerate(steps):
            row.append(token(lemma, lemma, pos, "X", head, relation, opens=place == 0))
        row += [token("not", "not", "PART", "RB", place, "neg") for place in range(9) if chance(0.4)]
        fixed.append({"tokens": row, "queries": [(0, 1, bound) for bound in (None, 1, 2, 3, 4, 5, 6, 7, 8, 9)]})
    yield {"name": "opinions: a way of eight edges", "parses": fixed}

    def sentence_of(*words):
        """A sentence of these words, each with its governor and relation."""
        kinds = dict.fromkeys(ADJECTIVES, "ADJ") | dict.fromkeys(NOUNS, "NOUN")
        return [
            token(word, word, kinds.get(word, "X"), "X", head, relation, opens=place == 0)
            for place, (word, head, relation) in enumerate(words)
        ]

    first, second = generator.sample(("great", "dreadful", "cold", "typical"), 2)
    owned = [
        [("food", 1, "nsubj"), ("be", 1, "ROOT"), (first, 1, "acomp"), ("service", 4, "nsubj"), (second, 2, "conj")],
        [("food", 0, "ROOT"), (first, 0, "amod"), ("service", 3, "nsubj"), (second, 1, "conj")],
    ]
    fixed = [{"tokens": sentence_of(*words), "queries": [(0, 1, None)]} for words in owned]
    yield {"name": "opinions: joined adjectives that have subjects", "parses": fixed}
    modified = [("food", 1, "nsubj"), ("bargain", 1, "ROOT"), (first, 1, "amod"), (second, 2, "conj")]
    yield {
        "name": "opinions: a predicate that has modifiers",
        "parses": [{"tokens": sentence_of(*modified), "queries": [(0, 1, None), (0, 1, 2)]}],
    }
    fixed = []
    for joining in ("but", "yet", "and"):
        ahead = [(second, 3, "conj"), (joining, 3, "cc"), ("not", 3, "neg"), (first, 4, "amod"), ("food", 4, "ROOT")]
        fixed.append({"tokens": sentence_of(*ahead), "queries": [(4, 5, None)]})
    yield {"name": "opinions: conjunctions behind what is joined", "parses": fixed}
    for number in range(2):
        short = labelled(9)
        wide = [(first, last, None) for first in range(9) for last in range(first, 10)]
        yield {
            "name": f"opinions: every pair of places, {number}",
            "parses": [{"tokens": short, "queries": wide}],
            "edge": True,
        }
    white = spaced(grown(), 0.4)
    words = [place for place, row in enumerate(white) if row[2] != "SPACE"]
    wide = [(first, last + 1, None) for first in words for last in words if first < last < first + 7]
    yield {"name": "opinions: aspects with white space", "parses": [{"tokens": white, "queries": wide}], "edge": True}
    yield {"name": "experiment", "seed": seed % 1000}


def built(rows):
    from parses import Parse, Token

    columns = [[*row[:6], {name: tuple(values) for name, values in row[6].items()}, *row[7:]] for row in rows]
    return Parse([Token(*row) for row in columns])


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from parser import parse

    if "text" in case:
        tree = parse(case["text"])
        return answers_of(tree, [(*tree.find(aspect), None) for aspect in case["aspects"]])
    if "drawn" in case:
        from data import make_samples

        samples = make_samples(case["reviews"], 0.5, case["drawn"])
        trees = [parse(sample.text) for sample in samples]
        finds = [(*tree.find(sample.aspect), None) for tree, sample in zip(trees, samples, strict=True)]
        return {"results": [answers_of(tree, [find]) for tree, find in zip(trees, finds, strict=True)]}
    return {"results": [answers_of(built(part["tokens"]), part["queries"]) for part in case["parses"]]}


def answers_of(tree, queries):
    from conll_tree import find_opinions, parse_to_conll

    kept, answers = deepcopy(tree), []
    for first, last, bound in queries:
        try:
            found = find_opinions(tree, (first, last), *([] if bound is None else [bound]))
        except ValueError:
            answers.append("refused")
            continue
        answers.append([[opinion.word, bool(opinion.negated), list(opinion.path)] for opinion in found])
    return {"table": parse_to_conll(tree), "answers": answers, "kept": tree == kept}
