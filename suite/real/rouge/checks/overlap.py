"""ROUGE-N, tables and subsequences, both levels of ROUGE-L, several references, whole scores and the experiment."""

import random
from collections import Counter

TYPES = ["rouge1", "rouge2", "rouge4", "rougeL", "rougeLsum"]


def cases(seed):
    from rouge_score.rouge_scorer import RougeScorer

    generator = random.Random(seed)

    def sentence(least=1, most=9, words=6):
        return [f"w{generator.randrange(words)}" for _ in range(generator.randint(least, most))]

    def summary(count, **more):
        return [sentence(**more) for _ in range(count)]

    def text(count=3, words=9):
        lines = [" ".join(sentence(4, 8, words)) + generator.choice([".", "", " !"]) for _ in range(count)]
        return "\n".join(lines)

    def counter(length, most=5, words="abcde"):
        ngrams = {tuple(generator.choice(words) for _ in range(length)): generator.randint(1, most) for _ in range(5)}
        return ngrams | {tuple(generator.choice(words) for _ in range(length)): generator.randint(1, most)}

    yield {"name": "words", "counters": [[counter(1), counter(1)] for _ in range(6)]}
    yield {"name": "pairs of words", "counters": [[counter(2, words="abc"), counter(2, 2, "abc")] for _ in range(6)]}
    yield {"name": "long texts", "counters": [[counter(1, 10**5), counter(1, 3 * 10**4)] for _ in range(3)]}

    for name, count, more in (
        ("sentences", 12, {}),
        ("sentences of two words", 20, {"words": 2}),
        ("sentences of three words", 20, {"words": 3}),
        ("sentences of many words", 6, {"least": 5, "most": 14, "words": 40}),
        ("sentences of one token", 8, {"most": 1, "words": 2}),
    ):
        yield {"name": name, "sentences": [[sentence(**more), sentence(**more)] for _ in range(count)]}
    pair = [sentence(30, 40), sentence(1, 3)]
    yield {"name": "long and short sentences", "sentences": [pair, [sentence(1, 3), sentence(30, 40)]]}
    same = sentence(6, 8, 4)
    alike = [[same, list(same)], [same, same[::-1]], [same, same + same], [same + same, same], [same[2:], same]]
    yield {"name": "sentences that are alike", "sentences": alike}
    parts = [[f"{side}{k}" for k in range(generator.randint(2, 5))] for side in "rc"]
    yield {"name": "sentences with nothing in common", "sentences": [parts, parts[::-1]]}

    for name, counts, more in (
        ("unions", (1, 2, 3, 5), {}),
        ("unions of two words", (1, 2, 2, 3, 4), {"words": 2}),
        ("unions of three words", (2, 2, 2, 3, 4), {"words": 3}),
        ("unions of many sentences", (12, 10), {"words": 12}),
    ):
        given = [[sentence(3, 12, more.get("words", 6)), summary(count, **more)] for count in counts]
        yield {"name": name, "unions": given}
    for words in (2, 4, 9, 30):
        sizes = [(generator.randint(1, 4), generator.randint(1, 4)) for _ in range(6)]
        drawn = [[summary(count, words=words) for count in pair] for pair in sizes]
        yield {"name": f"summaries of {words} words", "summaries": drawn}
    for name, counts in (("reference", (9, 2)), ("candidate", (2, 9))):
        drawn = [[summary(count, most=4, words=5) for count in counts] for _ in range(2)]
        yield {"name": f"many {name} sentences", "summaries": drawn}
    lines = summary(3)
    alike = [[lines, [list(line) for line in lines]], [lines, lines[::-1]], [lines * 2, lines], [lines * 2] * 2]
    yield {"name": "summaries that are alike", "summaries": alike}
    short = [[summary(4, most=2, words=2), summary(generator.randint(1, 2), most=2, words=2)] for _ in range(6)]
    yield {"name": "words that run out", "summaries": short}

    def several(name, count, types=TYPES, draw=text, **more):
        """References of which the best is clear, by each type."""
        types = generator.sample(types, len(types))
        while True:
            targets, prediction = [draw() for _ in range(count)], draw()
            scores = [RougeScorer(types).score(target, prediction) for target in targets]
            ranked = [sorted(score[kind].fmeasure for score in scores)[-2:] for kind in types]
            if all(best[-1] - best[0] > 1e-6 or best[-1] == 0 for best in ranked if len(best) == 2):
                break
        given = {"targets": targets, "prediction": prediction, "types": types, **more}
        return {"name": f"several references, {name}", **given}

    for count in (1, 2, 3, 5):
        yield several(str(count), count)
    for number in range(3):
        yield several(f"of many lengths, {number}", 4, draw=lambda: text(generator.randint(1, 4), 5))
    yield several("long", 3, ["rouge1", "rougeL"], lambda: text(9, 30))
    yield several("summaries alone", 3, ["rougeLsum"], lambda: text(4, 5))
    yield several("sentences to split", 2, ["rougeLsum", "rougeL"], lambda: text(3, 5).replace("\n", ". "), split=True)
    endings = ["walks", "walked", "walking", "dogs", "dog", "cat", "jumped", "jump"]
    spoken = several("endings", 3, ["rouge1", "rouge2"], lambda: " ".join(generator.sample(endings, 5)), stem=True)
    yield spoken
    yield {"name": "whole scores", "texts": [[text(4), text(3)] for _ in range(4)]}
    yield {"name": "experiment", "seed": seed % 1000}

    sides = [[counter(1), {}], [{}, counter(2)], [{}, {}]]
    yield {"name": "n-grams of one side", "counters": sides, "edge": True}
    yield {"name": "empty sentences", "sentences": [[[], sentence()], [sentence(), []], [[], []]], "edge": True}
    unions = [[sentence(), []], [[], summary(2)], [[], []], [sentence(), [[], []]], [sentence(), [[], sentence()]]]
    yield {"name": "unions of nothing", "unions": unions, "edge": True}
    empty = [[[], []], [[], summary(2)], [summary(2), []], [[[]], summary(1)], [summary(1), [[], []]], [[[]], [[]]]]
    beside = [[[*summary(2), []], [[], *summary(2)]]]
    yield {"name": "empty summaries", "summaries": empty + beside, "edge": True}
    # The first tokens are paired with each other, so every way leads through the whole sentence.
    pair = [["first", *sentence(9, 19, 25)], ["first", *sentence(1100, 1199, 25)]]
    yield {"name": "long sentences", "sentences": [pair, pair[::-1]], "edge": True}
    # Two F-measures of exactly a half, one with the better precision and one with the better recall.
    words = generator.sample("abcdefghijklmnop", 12)
    equal = [" ".join(words[:3] + words[7:]), " ".join(words[:2] + words[5:7])]
    for name, targets in (("", equal), (", turned", equal[::-1])):
        given = {"targets": targets, "prediction": " ".join(words[:4]), "types": ["rouge1", "rougeL", "rougeLsum"]}
        yield {"name": f"equally good references{name}", **given, "edge": True}
    texts = {"no words in some": ([".", text(), ""], text()), "no words in the prediction": ([text(), ""], "")}
    texts |= {"no words at all": (["", " "], " "), "nothing in common": (["x y", "z"], text())}
    for name, (targets, prediction) in texts.items():
        given = {"targets": targets, "prediction": prediction, "types": TYPES}
        yield {"name": f"several references, {name}", **given, "edge": True}
    yield {"name": "an invalid type", "refused": ["rouge1", f"rouge{generator.choice('SWx')}"], "edge": True}


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
    if "refused" in case:
        try:
            rouge.RougeScorer(case["refused"]).score_multi(["a", "b"], "a b")
        except Exception as error:
            return {"refused": isinstance(error, ValueError)}
        return {"refused": "nothing is raised"}
    if "texts" in case:
        found = []
        for settings in ({}, {"use_stemmer": True}, {"split_summaries": True}):
            scorer = rouge.RougeScorer(list(TYPES), **settings)
            scores = [scorer.score(*pair) for pair in case["texts"]]
            found.append([{name: _score(score) for name, score in item.items()} for item in scores])
        return {"scores": found}
    return {"chosen": _chosen(rouge, case)}


def _score(score):
    numbers = [float(score.precision), float(score.recall), float(score.fmeasure)]
    return [*numbers, type(score).__name__, isinstance(score, tuple)]


def _ngrams(rouge, target, prediction):
    sides = Counter(target), Counter(prediction)
    scores = [_score(rouge._score_ngrams(*sides)), _score(rouge._score_ngrams(*sides[::-1]))]
    return [scores, [dict(side) for side in sides] == [target, prediction]]


def _sentences(rouge, ref, can):
    first, second = list(ref), list(can)
    table = rouge._lcs_table(first, second)
    kept = [list(row) for row in table]
    places = rouge._backtrack_norec(table, first, second)
    kinds = [isinstance(table, list), all(isinstance(row, list) for row in table), isinstance(places, list)]
    kinds += [all(type(number) is int for row in (*table, places) for number in row)]
    kinds += [kept == table]
    # A large table is told by its last row and column.
    shown = kept if len(ref) * len(can) < 2000 else [kept[-1], [row[-1] for row in kept], sum(map(sum, kept))]
    scores = [_score(rouge._score_lcs(first, second)), _score(rouge._score_lcs(second, first))]
    return [shown, list(places), scores, kinds, [first, second] == [ref, can]]


def _unions(rouge, ref, lines):
    first, second = list(ref), [list(line) for line in lines]
    found = rouge._union_lcs(first, second)
    turned = rouge._union_lcs(first, second[::-1])
    return [list(found), list(turned), isinstance(found, list), [first, second] == [ref, lines]]


def _summaries(rouge, ref, can):
    first, second = [list(line) for line in ref], [list(line) for line in can]
    scores = [_score(rouge._summary_level_lcs(*sides)) for sides in ((first, second), (second, first))]
    scores.append(_score(rouge._summary_level_lcs(first, second[::-1])))
    return [scores, [first, second] == [ref, can]]


def _chosen(rouge, case):
    settings = {"use_stemmer": case.get("stem", False), "split_summaries": case.get("split", False)}
    scorer = rouge.RougeScorer(list(case["types"]), **settings)
    targets = list(case["targets"])
    scores = scorer.score_multi(targets, case["prediction"])
    shown = [[kind, _score(score)] for kind, score in scores.items()]
    unchanged = [targets == case["targets"], scorer.rouge_types == case["types"]]
    # The same scorer again, with one reference less.
    again = scorer.score_multi(targets[:1], case["prediction"])
    return [shown, isinstance(scores, dict), unchanged, [[kind, _score(score)] for kind, score in again.items()]]
