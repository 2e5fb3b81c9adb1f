"""CHRF of sacrebleu: counts, words, scores and choice among references; then whole scores and the experiment."""

import random
from collections import Counter

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
SETTINGS = {
    "chrF": {},
    "chrF+": {"word_order": 1},
    "chrF++": {"word_order": 2},
    "one order": {"char_order": 1},
    "many orders": {"char_order": 8, "word_order": 4},
    "precision counts more": {"beta": 0.25},
    "both count alike": {"beta": 1, "word_order": 2},
    "recall counts more": {"beta": 3.5, "char_order": 4},
    "white space kept": {"whitespace": True, "word_order": 1},
    "smoothed": {"eps_smoothing": True},
    "smoothed, with words": {"eps_smoothing": True, "word_order": 2, "beta": 1},
    "smoothed, one order": {"eps_smoothing": True, "char_order": 1, "whitespace": True},
    "lower case": {"lowercase": True, "word_order": 2},
}


def cases(seed):
    generator = random.Random(seed)

    def counter(keys, empty=False):
        return {} if empty else {key: generator.randint(1, 5) for key in keys if generator.random() < 0.6}

    keys = ["a", "b", "ab", "ba", "a b", "é", "the", "of the"]
    pairs = [[counter(keys), counter(keys)] for _ in range(8)]
    yield {"name": "counts", "pairs": pairs}
    some = {"a": 2, "b": 1}
    yield {
        "name": "counts, one side without n-grams",
        "pairs": [[some, {}], [{}, some], [{}, {}]],
    }
    yield {
        "name": "counts that differ",
        "pairs": [[{"a": 3}, {"a": 1}], [{"a": 1}, {"a": 4}], [{"a": 2}, {"b": 2}]],
    }

    texts = [_sentence(generator) for _ in range(6)]
    texts += [
        "",
        " ",
        "\t\n",
        ".",
        "..",
        "...",
        "(a)",
        "(a",
        "a)",
        ".a",
        "a.",
        "-",
        "--",
        "a-b",
        "'tis.",
        "e.g.",
        '"Yes,"',
        "( a )",
    ]
    texts += [
        " ".join(f"{mark}x x{mark} {mark}{mark}x{mark}{mark}" for mark in PUNCTUATION),
        "«a» …b… a… ¿a? a。",
        "a\u00a0b.\u2003c",
        "1,000.5 $5 5%",
    ]
    yield {"name": "words", "texts": texts}

    for name, settings in SETTINGS.items():
        order = settings.get("char_order", 6) + settings.get("word_order", 0)
        lists = [[number for _ in range(order) for number in _triple(generator)] for _ in range(6)]
        # The higher orders are missing on one side or on both.
        for gaps in ([(0, 0, 0)], [(5, 0, 0)], [(0, 5, 0)], [(0, 0, 0), (4, 3, 0)]):
            full = [_triple(generator) for _ in range(max(1, order // 2))]
            rest = [gaps[place % len(gaps)] for place in range(order - len(full))]
            lists.append([number for triple in (*full, *rest) for number in triple])
        lists.append([0] * (3 * order))
        lists.append([7, 9, 0] * order)
        lists.append([6, 6, 6] * order)
        lists.append([number for place in range(order) for number in ((4, 4, 4) if place == order - 1 else (0, 3, 0))])
        lists.append([number for place in range(order) for number in (1000003 + place, 999000 - place, 3 + place)])
        yield {"name": f"scores, {name}", "settings": settings, "lists": lists}

    for name, settings in SETTINGS.items():
        given = []
        order = settings.get("char_order", 6) + settings.get("word_order", 0)
        for count in (1, 2, 3):
            text = _sentence(generator)
            # With one order, scores of other lengths may be equal but for rounding.
            given.append([text, [_near(generator, text, order > 1) for _ in range(count)]])
        given.append([given[0][0], [given[0][1][0], given[0][0], given[0][0]]])
        given += [
            ["a", ["abcdefghij", "a b"]],
            ["ab cd", ["ab"]],
            ["aXb", ["axb", "AXB"]],
            ["abc", ["", "xabc"]],
            [" ab  c ", ["ab c", " ab  c "]],
        ]
        yield {"name": f"choice, {name}", "settings": settings, "given": given}
    # Nothing matches, or a side is empty: the first of equals.
    none = [
        ["", ["abc"]],
        ["", [""]],
        ["abc", [""]],
        ["abc", ["", ""]],
        ["abc", ["xy", "uvwxyz"]],
        ["xyz", ["abcd", ""]],
        ["x", []],
    ]
    yield {"name": "choice among equals", "settings": {"word_order": 2}, "given": none}
    yield {
        "name": "choice of one, smoothed",
        "settings": {"eps_smoothing": True},
        "given": [["", ["abc"]], ["a", ["b"]], ["a", []]],
    }
    # What is right for precision or for recall alone is not what the F of both chooses.
    far = [
        ["abcdef", ["abcdefghijklmnop", "abc"]],
        ["abcdefghijklmnop", ["abcdef", "xyzabcdefghijklmnopqrstuvw"]],
    ]
    for beta in (0.25, 1, 4):
        yield {
            "name": f"choice with a beta of {beta}",
            "settings": {"beta": beta, "char_order": 3},
            "given": far,
        }

    yield {
        "name": "settings changed later",
        "changed": [["a bc. (d)", ["a bd. d)", "(a bc"]]],
    }
    yield {
        "name": "whole scores",
        "hypotheses": [_sentence(generator) for _ in range(4)],
        "near": seed,
    }
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from sacrebleu.metrics.chrf import CHRF

    if "pairs" in case:
        observed = []
        for pair in case["pairs"]:
            sides = [Counter(side) for side in pair]
            # Called on the class, and on an object.
            found = [
                CHRF._get_match_statistics(*sides),
                CHRF()._get_match_statistics(*sides),
            ]
            observed.append(
                [
                    found,
                    _kinds(found),
                    [side == Counter(given) for side, given in zip(sides, pair, strict=True)],
                ]
            )
        return {"counts": observed}
    if "texts" in case:
        return {"words": [CHRF(word_order=2)._remove_punctuation(text) for text in case["texts"]]}
    if "lists" in case:
        metric = CHRF(**case["settings"])
        before = dict(vars(metric))
        scores, kinds = [], []
        for numbers in case["lists"]:
            given = list(numbers)
            scores += [metric._compute_f_score(given) for _ in range(2)]
            kinds.append([isinstance(scores[-1], float), given == numbers])
        return {
            "scores": scores,
            "kinds": kinds,
            "settings kept": vars(metric) == before,
        }
    if "given" in case:
        metric = CHRF(**case["settings"])
        before = dict(vars(metric))
        observed = []
        for hypothesis, references in case["given"]:
            hypothesis = metric._preprocess_segment(hypothesis)
            told = metric._extract_reference_info([metric._preprocess_segment(text) for text in references])
            kept = [[Counter(counts) for counts in entry] for entry in told["ref_ngrams"]]
            found = metric._compute_segment_statistics(hypothesis, told)
            again = metric._compute_segment_statistics(hypothesis, told)
            observed.append([found, again, _kinds(found), told == {"ref_ngrams": kept}])
        return {"chosen": observed, "settings kept": vars(metric) == before}
    if "changed" in case:
        metric = CHRF()
        observed = []
        for settings in (
            {},
            {"beta": 0.5},
            {"word_order": 2, "order": 8},
            {"char_order": 2, "order": 4},
            {"whitespace": True},
            {"eps_smoothing": True},
        ):
            for name, value in settings.items():
                setattr(metric, name, value)
            for hypothesis, references in case["changed"]:
                found = metric._compute_segment_statistics(hypothesis, metric._extract_reference_info(references))
                observed.append([found, metric._compute_f_score(found)])
        metric._PUNCTS = {"x", "."}
        observed.append(metric._remove_punctuation("xa ax. (b) b."))
        return {"after changes": observed}
    generator = random.Random(case["near"])
    references = [[_near(generator, text) for text in case["hypotheses"]] for _ in range(2)]
    whole = {}
    for name, settings in SETTINGS.items():
        metric = CHRF(**settings)
        whole[name] = metric.corpus_score(case["hypotheses"], references).score
        cached = CHRF(**settings, references=references)
        whole[f"{name}, cached"] = cached.corpus_score(case["hypotheses"], None).score
    return {"whole": whole}


def _triple(generator):
    hypothesis, reference = generator.randint(1, 40), generator.randint(1, 40)
    return hypothesis, reference, generator.randint(1, min(hypothesis, reference))


def _sentence(generator):
    marks = ["", "", "", ",", ".", "...", "!", ")"]
    words = []
    for _ in range(generator.randint(3, 9)):
        word = "".join(generator.choice("aabcdeéß") for _ in range(generator.randint(1, 6)))
        words.append(generator.choice(["", "", "(", "“"]) + word + generator.choice(marks))
    return generator.choice([" ", "  "]).join(words).capitalize()


def _near(generator, text, other_length=True):
    """The text with a few letters changed and, if its length may change, a few words gone or added."""
    if not other_length:
        return "".join(generator.choice("abcde") if letter in "abcde" else letter for letter in text)
    letters = [generator.choice("abcde ") if generator.random() < 0.15 else letter for letter in text]
    words = [word for word in "".join(letters).split() if generator.random() < 0.9]
    return " ".join([*words, _sentence(generator).split()[0]])


def _kinds(numbers):
    """Whether all of a nested list are ints and lists."""
    if isinstance(numbers, list):
        return all(_kinds(item) for item in numbers)
    return type(numbers) is int
