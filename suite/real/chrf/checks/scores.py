"""CHRF of sacrebleu: counts, words, scores and choice among references; then whole scores and the experiment."""

import random
from collections import Counter


def cases(seed):
    from sacrebleu.metrics.chrf import CHRF

    generator = random.Random(seed)

    def counter(least=1):
        words = ["a", "b", "ab", "ba", "a b", "é", "the", "of the"]
        kept = generator.sample(words, generator.randint(least, len(words)))
        return {key: generator.randint(1, 5) for key in kept}

    def sentence():
        marks = ["", "", "", ",", ".", "...", "!", ")"]
        words = []
        for _ in range(generator.randint(5, 9)):
            word = "".join(generator.choice("aabcdeéß") for _ in range(generator.randint(2, 6)))
            words.append(generator.choice(["", "", "(", "“"]) + word + generator.choice(marks))
        return generator.choice([" ", "  "]).join(words).capitalize()

    def near(text, share):
        """The text with a share of its letters changed, and a word added or gone."""
        changed = (generator.choice("abcde") if generator.random() < share else letter for letter in text)
        letters = [new if old != " " else old for new, old in zip(changed, text, strict=True)]
        words = "".join(letters).split()
        words.insert(generator.randint(0, len(words)), sentence().split()[0])
        return " ".join(words[generator.randint(0, 1) :])

    def combined():
        return {
            "char_order": generator.randint(1, 8),
            "word_order": generator.randint(0, 4),
            "beta": generator.choice([1, 3, round(generator.uniform(0.25, 4), 3)]),
            "whitespace": generator.random() < 0.5,
            "eps_smoothing": generator.random() < 0.5,
            "lowercase": generator.random() < 0.5,
        }

    chosen = {
        "chrF": {},
        "chrF+": {"word_order": 1},
        "chrF++": {"word_order": 2},
        "more orders": {"char_order": generator.randint(7, 8), "word_order": generator.randint(3, 4)},
        "precision counts more": {"beta": round(generator.uniform(0.25, 0.8), 3)},
        "recall counts more": {"beta": generator.randint(3, 4), "char_order": generator.randint(2, 5)},
        "white space kept": {"whitespace": True, "word_order": generator.randint(0, 1)},
        "smoothed": {"eps_smoothing": True},
        "smoothed, with words": {"eps_smoothing": True, "word_order": 2, "beta": 1},
        "lower case": {"lowercase": True, "word_order": 2},
        **{f"combined, {number}": combined() for number in range(5)},
    }

    yield {"name": "counts", "pairs": [[counter(), counter()] for _ in range(9)]}
    yield {"name": "counts of few n-grams", "pairs": [[{"a": n}, {"a": m, "b": 1}] for n, m in ((1, 3), (4, 2))]}
    yield {"name": "words", "texts": [sentence() for _ in range(8)]}
    scraps = ["".join(generator.choices("ab.(-…1 \t\n", k=generator.randint(1, 14))) for _ in range(40)]
    yield {"name": "words of punctuation", "texts": scraps}
    mark = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    yield {"name": "all marks", "texts": [f"{m}x x{m} {m}{m}x{m}{m} {m} {m}{m}" for m in generator.sample(mark, 32)]}

    def triple(least=1):
        hypothesis, reference = generator.randint(1, 40), generator.randint(1, 40)
        return [hypothesis, reference, generator.randint(least, min(hypothesis, reference))]

    for name, settings in chosen.items():
        order = settings.get("char_order", 6) + settings.get("word_order", 0)
        lists = [[number for _ in range(order) for number in triple()] for _ in range(4)]
        # Higher orders are missing on one side or on both, and some orders have no match.
        for gaps in ([[0, 0, 0]], [[5, 0, 0]], [[0, 5, 0]], [[0, 0, 0], [4, 3, 0]], [[9, 7, 0], [6, 8, 1]]):
            full = [triple() for _ in range(max(1, order // 2))]
            rest = [gaps[place % len(gaps)] for place in range(order - len(full))]
            lists.append([number for numbers in (*full, *rest) for number in numbers])
        lists.append([6, 6, 6] * order)
        lists.append([number * 10**4 for _ in range(order) for number in triple()])
        yield {"name": f"scores, {name}", "settings": settings, "lists": lists}

    def choice(settings, count):
        """A hypothesis and references of which the best is clear."""
        while True:
            text = sentence()
            references = [near(text, generator.uniform(0.05, 0.4)) for _ in range(count)]
            scores = sorted(CHRF(**settings).sentence_score(text, [item]).score for item in references)
            if scores[0] > 0 and (count == 1 or scores[-1] - scores[-2] > 1e-6):
                return [text, references]

    for name, settings in chosen.items():
        given = [choice(settings, count) for count in (1, 2, 3, 5)]
        # The same hypothesis with another reference.
        given.append([given[1][0], [given[1][1][0]]])
        yield {"name": f"choice, {name}", "settings": settings, "given": given}
    hypotheses = [sentence() for _ in range(3)]
    references = [[near(text, 0.2) for text in hypotheses] for _ in range(2)]
    several = [chosen[name] for name in ("chrF", "chrF++", "smoothed", "combined, 0")]
    yield {"name": "whole scores", "hypotheses": hypotheses, "references": references, "several": several}
    yield {"name": "experiment", "seed": seed % 1000}

    def edge(name, **given):
        return {"name": name, "edge": True, **given}

    yield edge("counts, one side without n-grams", pairs=[[counter(), {}], [{}, counter()], [{}, {}]])
    yield edge("words of nothing", texts=["", " ", "\t\n"])
    for name in ("chrF++", "smoothed, with words", "combined, 1"):
        order = chosen[name].get("char_order", 6) + chosen[name].get("word_order", 0)
        matchless = [number for _ in range(order) for number in (generator.randint(1, 9), generator.randint(1, 9), 0)]
        lists = [[0] * (3 * order), matchless, [0, 3, 0] * order, [7, 0, 0] * order]
        yield edge(f"scores of nothing, {name}", settings=chosen[name], lists=lists)
    text, other = sentence(), sentence()
    empty = [["", [text]], ["", [""]], [text, [""]], [text, ["", other]], [text, [other, "", text]], ["", [text, ""]]]
    yield edge("empty texts", settings={"word_order": 2}, given=empty)
    # Letters that are exchanged for each other cost the same wherever they stand.
    equal = ["xbcdefgh", "abcdefgx", "xbcdefgh"]
    shown = [["abcdefgh", equal], ["abcdefgh", equal[::-1]], ["abc", ["xy", "uvwxyz"]], [text, [other, other]]]
    yield edge("equally good references", settings={"word_order": 1}, given=shown)
    yield edge("settings change", changed=[text, [near(text, 0.2), near(text, 0.3)]])


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from sacrebleu.metrics.chrf import CHRF

    if "pairs" in case:
        return {"counts": [_counted(pair) for pair in case["pairs"]]}
    if "texts" in case:
        return {"words": [CHRF(word_order=2)._remove_punctuation(text) for text in case["texts"]]}
    if "lists" in case:
        metric, found = CHRF(**case["settings"]), []
        for numbers in case["lists"]:
            given = list(numbers)
            score = metric._compute_f_score(given)
            found.append([score, isinstance(score, float), given == numbers])
        return {"scores": found}
    if "given" in case:
        metric = CHRF(**case["settings"])
        before = dict(vars(metric))
        found = [_chosen(metric, *pair) for pair in case["given"]]
        return {"chosen": found, "settings kept": vars(metric) == before}
    if "changed" in case:
        return {"after changes": _changed(*case["changed"])}
    whole = []
    for settings in case["several"]:
        whole.append(CHRF(**settings).corpus_score(case["hypotheses"], case["references"]).score)
        cached = CHRF(**settings, references=case["references"])
        whole.append(cached.corpus_score(case["hypotheses"], None).score)
    return {"whole": whole}


def _counted(pair):
    from sacrebleu.metrics.chrf import CHRF

    sides = [Counter(side) for side in pair]
    found = CHRF._get_match_statistics(*sides)
    return [found, _kinds(found), [dict(side) for side in sides] == pair]


def _chosen(metric, hypothesis, references):
    hypothesis = metric._preprocess_segment(hypothesis)
    told = metric._extract_reference_info([metric._preprocess_segment(text) for text in references])
    kept = [[Counter(counts) for counts in entry] for entry in told["ref_ngrams"]]
    found = metric._compute_segment_statistics(hypothesis, told)
    return [found, _kinds(found), told == {"ref_ngrams": kept}]


def _changed(hypothesis, references):
    from sacrebleu.metrics.chrf import CHRF

    metric, found = CHRF(), []
    for settings in (
        {},
        {"beta": 0.5},
        {"word_order": 2, "order": 8},
        {"char_order": 2, "order": 4},
        {"whitespace": True},
        {"eps_smoothing": True},
    ):
        vars(metric).update(settings)
        numbers = metric._compute_segment_statistics(hypothesis, metric._extract_reference_info(references))
        found.append([numbers, metric._compute_f_score(numbers)])
    return found


def _kinds(numbers):
    """Whether this is a list of ints."""
    return isinstance(numbers, list) and all(type(number) is int for number in numbers)
