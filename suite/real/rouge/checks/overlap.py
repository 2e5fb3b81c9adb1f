"""ROUGE-N, tables and subsequences, both levels of ROUGE-L, several references, whole scores and the experiment."""

import random
from collections import Counter

TYPES = ["rouge1", "rouge2", "rouge4", "rougeL", "rougeLsum"]


def cases(seed):
    generator = random.Random(seed)

    def sentence(least=1, most=9, words=6):
        # Equal tokens are no same objects.
        return ["".join(("w", str(generator.randrange(words)))) for _ in range(generator.randint(least, most))]

    def summary(count, **more):
        return [sentence(**more) for _ in range(count)]

    def text(count=3, words=9):
        lines = [" ".join(sentence(2, 7, words)) + generator.choice([".", "", " !"]) for _ in range(count)]
        return "\n".join(lines)

    def counter(keys, most=5):
        return {key: generator.randint(1, most) for key in keys if generator.random() < 0.6}

    keys = [("a",), ("b",), ("c",), ("d",), ("e",)]
    yield {"name": "n-grams", "counters": [[counter(keys), counter(keys)] for _ in range(8)]}
    pairs = [(first, second) for first in "abc" for second in "abc"]
    yield {"name": "pairs of tokens", "counters": [[counter(pairs), counter(pairs, 2)] for _ in range(6)]}
    some = {("a",): 3, ("b",): 1}
    yield {"name": "n-grams of one side", "counters": [[some, {}], [{}, some], [{}, {}]]}
    one, other = {("a",): 4}, {("a",): 1, ("b",): 2}
    yield {"name": "n-grams that differ in number", "counters": [[one, other], [other, one], [one, {("b",): 2}]]}
    big = [[{("a",): 10**6, ("b",): 3}, {("a",): 10**6 - 7, ("c",): 10**5}]]
    yield {"name": "many n-grams", "counters": big}
    joined = [[{("a b", "c"): 2}, {("a", "b c"): 1}], [{("ab", "c"): 1, ("a", "c"): 2}, {("a", "bc"): 3}]]
    yield {"name": "n-grams that are the same when joined", "counters": joined}

    drawn = [[sentence(), sentence()] for _ in range(12)]
    yield {"name": "sentences", "sentences": drawn}
    yield {"name": "sentences of two words", "sentences": [[sentence(words=2), sentence(words=2)] for _ in range(20)]}
    yield {
        "name": "sentences of many words",
        "sentences": [[sentence(5, 14, 40), sentence(5, 14, 40)] for _ in range(8)],
    }
    yield {
        "name": "long and short sentences",
        "sentences": [[sentence(30, 40), sentence(1, 3)], [sentence(1, 3), sentence(30, 40)]],
    }
    same = sentence(7, 7, 4)
    yield {
        "name": "sentences that are alike",
        "sentences": [
            [same, list(same)],
            [same, same[::-1]],
            [same, same + same],
            [same + same, same],
            [same[2:], same],
        ],
    }
    yield {
        "name": "sentences with nothing in common",
        "sentences": [[["a", "b"], ["c"]], [["a"], ["A", "a "]], [["ab"], ["a", "b"]]],
    }
    yield {"name": "empty sentences", "sentences": [[[], ["a"]], [["a"], []], [[], []]]}
    yield {
        "name": "sentences of one token",
        "sentences": [[["a"], ["a"]], [["a"], ["b"]], [["a"], ["b", "a", "a"]], [["a", "a"], ["a"]]],
    }
    ties = [
        "ab|ba",
        "abc|cab",
        "abab|baba",
        "aab|ba",
        "aba|ab",
        "axbycz|zxaybc",
        "aaba|abaa",
        "abcbdab|bdcaba",
        "xay|yax",
        "ab|bca",
        "aab|ab",
    ]
    yield {"name": "several subsequences", "sentences": [[list(side) for side in pair.split("|")] for pair in ties]}
    yield {"name": "a token of no length", "sentences": [[["", "a"], ["a", ""]], [[""], ["", ""]]]}
    yield {"name": "700 tokens", "sentences": [[sentence(700, 700, 30), sentence(60, 60, 30)]]}
    yield {"name": "700 candidate tokens", "sentences": [[sentence(40, 40, 25), sentence(700, 700, 25)]]}
    long = sentence(300, 300, 30)
    yield {"name": "300 tokens in common", "sentences": [[long, list(long)]]}
    # So long that a recursion over both sentences ends early.
    yield {
        "name": "many tokens on both sides",
        "sentences": [[["a", *(f"r{k}" for k in range(520))], ["a", *(f"c{k}" for k in range(520))]]],
    }

    yield {"name": "unions", "unions": [[sentence(3, 9), summary(count)] for count in (1, 2, 3, 5)]}
    yield {
        "name": "unions of two words",
        "unions": [[sentence(3, 9, 2), summary(count, words=2)] for count in (1, 2, 2, 3, 4)],
    }
    many = [[sentence(10, 20, 12), summary(50, most=5, words=12)]]
    yield {"name": "unions of 50 sentences", "unions": many}
    long = [f"r{k}" for k in range(700)]
    parts = [["r0", "r300", "r699"], ["r255", "r256", "r511", "r512", "r690"]]
    yield {"name": "unions in a long sentence", "unions": [[long, parts], [long, parts[1:]]]}
    yield {
        "name": "unions of nothing",
        "unions": [[["a", "b"], []], [[], [["a"]]], [[], []], [["a"], [[], []]], [["a", "b"], [[], ["b"]]]],
    }
    letters = [
        "abcde|abfgh acehe",
        "abcab|bc ab ca",
        "aabb|ab ba",
        "abcd|dcba badc",
        "aaa|a aa",
        "aba|ba ab",
        "abcabc|cab bca abc",
        "abab|ab xab",
        "abab|bab ab",
    ]
    given = [[list(item.split("|")[0]), [list(part) for part in item.split("|")[1].split()]] for item in letters]
    yield {"name": "unions of several subsequences", "unions": given}

    yield {"name": "summaries with a long sentence", "summaries": [[[long, ["r256"]], parts]]}
    for words in (2, 4, 9, 30):
        drawn = [
            [summary(generator.randint(1, 4), words=words), summary(generator.randint(1, 4), words=words)]
            for _ in range(6)
        ]
        yield {"name": f"summaries of {words} words", "summaries": drawn}
    yield {
        "name": "many reference sentences",
        "summaries": [[summary(9, words=5), summary(2, words=5)], [summary(50, most=4), summary(1)]],
    }
    yield {
        "name": "many candidate sentences",
        "summaries": [[summary(2, words=5), summary(9, words=5)], [summary(1), summary(50, most=4)]],
    }
    lines = summary(3)
    yield {
        "name": "summaries that are alike",
        "summaries": [
            [lines, [list(line) for line in lines]],
            [lines, lines[::-1]],
            [lines * 2, lines],
            [lines, lines * 2],
        ],
    }
    yield {
        "name": "empty summaries",
        "summaries": [
            [[], []],
            [[], [["a"]]],
            [[["a"]], []],
            [[[]], [["a"]]],
            [[["a"]], [[], []]],
            [[[]], [[]]],
            [[["a"], []], [[], ["a"]]],
        ],
    }
    yield {
        "name": "words that run out",
        "summaries": [
            [[["a"], ["a"], ["a"]], [["a"]]],
            [[["a", "b"], ["b", "a"]], [["a", "b", "c"]]],
            [[["a", "a"], ["a"]], [["a", "b"], ["a", "b"]]],
            [[["a"]], [["a"], ["a"], ["a"]]],
            [[["a", "b", "a"], ["b", "b"]], [["b", "a"], ["a", "c"]]],
        ],
    }
    yield {"name": "summaries with a token of no length", "summaries": [[[[""]], [["", ""]]], [[["", "a"]], [[""]]]]}
    yield {
        "name": "candidate sentences that are alike",
        "summaries": [[[["a"], ["a"]], [["a"], ["a"]]], [[["a", "b"], ["b"]], [["b"], ["a"], ["b"]]]],
    }
    paper = [[list("abcde")], [list("abfgh"), list("acehe")]]
    yield {"name": "summaries with a sentence that is shared", "summaries": [paper, [paper[1], paper[0]]]}

    def several(name, targets, prediction, types=TYPES, **more):
        return {
            "name": f"several references, {name}",
            "targets": targets,
            "prediction": prediction,
            "types": list(types),
            **more,
        }

    for count in (1, 2, 5):
        yield several(f"{count} of them", [text() for _ in range(count)], text(), best=True)
    clear = ["w1 w2 w3 w4", "w1 w2 w5 w6 w7 w8", "w9 w9"]
    for turn in range(3):
        yield several(f"clear, {turn}", clear[turn:] + clear[:turn], "w1 w2 w3 w8", ["rouge1", "rougeL"])
    # Each type has a choice of its own, and neither precision nor recall alone decides.
    own = ["b a d c", "a b x y", "a b c d e f g h i j k l", "d"]
    yield several("a choice for each type", own, "a b c d", ["rougeL", "rouge2", "rouge1", "rougeLsum"])
    equal = ["a b c x y z u v", "a b p q"]
    yield several("equally good", equal, "a b c d", ["rouge1", "rougeL", "rougeLsum"])
    yield several("equally good, turned", equal[::-1], "a b c d", ["rouge1", "rougeL", "rougeLsum"])
    # F-measures of 3334 / 5000 and of 3332 / 4997, of which the second is larger by 8e-8.
    near = [
        " ".join(f"w{k}" for k in range(1667 - hits, 1667 - hits + count))
        for hits, count in ((1667, 2000), (1666, 1997))
    ]
    prediction = " ".join([f"w{k}" for k in range(1667)] + ["x"] * 1333)
    yield several("nearly as good", near, prediction, ["rouge1"])
    yield several("nothing in common", ["a", "b c"], "x y")
    yield several("empty texts", ["", "a b", "."], "a b")
    yield several("only empty texts", ["", " "], "a b")
    yield several("an empty prediction", ["a", ""], "")
    yield several("lines", ["a b\nc d", "c d\na b", "a b c d"], "c d\n\na b", ["rougeLsum"])
    yield several("sentences to split", ["A b. C d!", "c d? A b."], "C d. A b.", ["rougeLsum", "rougeL"], split=True)
    yield several("sentences to split, turned", ["a b. c d.", "x"], "c d. a b.", ["rougeLsum"], split=True)
    yield several("one empty text", [""], "a b")
    yield several("endings", ["walked dogs", "walking dog"], "walks dogs", ["rouge1", "rouge2"], stem=True)
    yield several("no types", ["a"], "a", [])
    yield several("no types and no references", [], "a", [])
    yield several("types that change", ["a b", "b a c"], "a c", ["rouge1"], later=["rougeL", "rouge2"])
    yield {
        "name": "errors",
        "errors": [[[], ["rouge1"]], [[], ["rougeL", "rouge2"]], [["a"], ["rouge"]], [["a"], ["rouge1", "rouge0"]]],
    }
    yield {"name": "whole scores", "texts": [[text(4), text(3)] for _ in range(5)]}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from rouge_score import rouge_scorer as rouge

    if "counters" in case:
        return {"n-grams": [_ngrams(rouge, *pair) for pair in case["counters"]]}
    if "sentences" in case:
        return {"sentences": [_sentences(rouge, *pair) for pair in case["sentences"]]}
    if "unions" in case:
        return {"unions": [_unions(rouge, *pair) for pair in case["unions"]]}
    if "summaries" in case:
        return {"summaries": [_summaries(rouge, *pair) for pair in case["summaries"]]}
    if "errors" in case:
        return {"errors": [_error(rouge, *entry) for entry in case["errors"]]}
    if "texts" in case:
        found = []
        for settings in ({}, {"use_stemmer": True}, {"split_summaries": True}):
            scorer = rouge.RougeScorer(list(TYPES), **settings)
            found.append(
                [{name: _score(score) for name, score in scorer.score(*pair).items()} for pair in case["texts"]]
            )
        return {"scores": found}
    return {"chosen": _chosen(rouge, case)}


def _score(score):
    numbers = all(isinstance(number, int | float) and not isinstance(number, bool) for number in score)
    return [
        float(score.precision),
        float(score.recall),
        float(score.fmeasure),
        type(score).__name__,
        isinstance(score, tuple),
        numbers,
    ]


def _ngrams(rouge, target, prediction):
    sides = Counter(target), Counter(prediction)
    scores = [_score(rouge._score_ngrams(*sides)), _score(rouge._score_ngrams(*sides))]
    turned = _score(rouge._score_ngrams(*sides[::-1]))
    return [scores, turned, [dict(side) for side in sides] == [target, prediction]]


def _sentences(rouge, ref, can):
    first, second = list(ref), list(can)
    table = rouge._lcs_table(first, second)
    kept = [list(row) for row in table]
    places = rouge._backtrack_norec(table, first, second)
    kinds = [isinstance(table, list), all(isinstance(row, list) for row in table), isinstance(places, list)]
    kinds += [
        all(type(number) is int for row in (*table, places) for number in row),
        len({*map(id, table)}) == len(table),
    ]
    kinds += [kept == table, [first, second] == [ref, can]]
    scores = [_score(rouge._score_lcs(first, second)), _score(rouge._score_lcs(second, first))]
    # A large table is told by its last row and column.
    shown = kept if len(ref) * len(can) < 2000 else [kept[-1], [row[-1] for row in kept], sum(map(sum, kept))]
    again = rouge.lcs_ind(first, second)
    places.append(-1)
    for row in table:
        row.append(9)
    return [shown, again, rouge.lcs_ind(first, second), scores, kinds, [first, second] == [ref, can], places]


def _unions(rouge, ref, lines):
    first, second = list(ref), [list(line) for line in lines]
    found = rouge._union_lcs(first, second)
    kinds = [isinstance(found, list), [first, second] == [ref, lines], found is not first]
    return [list(found), rouge._union_lcs(first, second[::-1]), rouge._union_lcs(first, second), kinds]


def _summaries(rouge, ref, can):
    first, second = [list(line) for line in ref], [list(line) for line in can]
    scores = [_score(rouge._summary_level_lcs(first, second)) for _ in range(2)]
    scores += [_score(rouge._summary_level_lcs(second, first)), _score(rouge._summary_level_lcs(first, second[::-1]))]
    return [scores, [first, second] == [ref, can]]


def _error(rouge, targets, types):
    scorer = rouge.RougeScorer(list(types))
    before = dict(vars(scorer))
    try:
        scorer.score_multi(list(targets), "a b")
    except Exception as error:
        return [isinstance(error, ValueError), vars(scorer) == before]
    return "none"


def _chosen(rouge, case):
    scorer = rouge.RougeScorer(
        list(case["types"]), use_stemmer=case.get("stem", False), split_summaries=case.get("split", False)
    )
    targets, found = list(case["targets"]), []
    for types in (case["types"], case["types"], case.get("later", case["types"])):
        scorer.rouge_types = list(types)
        before = dict(vars(scorer))
        scores = scorer.score_multi(targets, case["prediction"])
        # Of references that are drawn, two may be equally good but for rounding.
        shown = [float(score.fmeasure) if case.get("best") else _score(score) for score in scores.values()]
        found.append(
            [list(scores), shown, isinstance(scores, dict), targets == case["targets"], vars(scorer) == before]
        )
    return found
