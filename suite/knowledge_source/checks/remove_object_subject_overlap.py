"""remove_object_subject_overlap: which rows are left, under several ratios, and their labels; then the experiment."""

import numpy as np

# Names of one entity each.
ALIASES = (
    ("USA", "United States of America", "America", "United States"),
    ("UK", "Great Britain", "Britain", "United Kingdom"),
    ("Holland", "Netherlands"),
    ("Czech Republic", "Czechia"),
    ("Deutsch", "German"),
    ("Fiddle", "Violin"),
    ("Goalie", "Keeper", "Goalkeeper"),
)
SYLLABLES = ("ba", "co", "del", "fe", "gri", "lum", "nov", "tas", "vor", "yx")
LABELS = {
    "words": lambda count: [f"row {number}" for number in range(count)],
    "repeated numbers": lambda count: [number // 3 for number in range(count)],
    "one label": lambda count: [7] * count,
}


def cases(seed):
    generator = np.random.default_rng(seed)

    def one_of(options):
        return options[generator.integers(len(options))]

    def name(most=3):
        return "".join(generator.choice(SYLLABLES, generator.integers(2, most + 1))).capitalize()

    def spelled(text):
        """A name in another spelling: of case, articles, white space and endings."""
        spelling = one_of(
            (str.upper, str.lower, "the {}".format, "A {}".format, "{}'s".format, "{}.".format, " {} ".format)
        )
        return spelling(text)

    def unlike():
        return name(), name()

    def contained():
        word = name()
        return one_of(
            (f"{word} {name()} Press", f"Press of {word}", f"{name()}{word.lower()}", f"{word}{name(2).lower()}")
        ), word

    def similar():
        """A name and the same with two letters exchanged, one replaced, or another end."""
        word = name(4)
        place = int(generator.integers(len(word) - 1))
        exchanged = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        return word, one_of((exchanged, word[:place] + "q" + word[place + 1 :], word[:-2] + name(2).lower()))

    def aliased():
        """A subject that holds, or resembles, another name of the object than the one that is given."""
        names = one_of(ALIASES)
        first, second = (str(word) for word in generator.permutation(names)[:2])
        subject = one_of((f"{first} {name()}", f"{name()}{first.lower()}", f"Q{first[1:].lower()}", f"{first[:-2]}o"))
        return subject, second

    def pairs(count, *kinds):
        """Subjects and objects of these kinds, in either role and in various spellings."""
        made = []
        for number in range(count):
            pair = [str(word) for word in kinds[number % len(kinds)]()]
            pair = pair[::-1] if generator.random() < 0.4 else pair
            made.append([spelled(word) if generator.random() < 0.3 else word for word in pair])
        return [made[place] for place in generator.permutation(count)]

    def case(label, given, *ratios, labels=None, edge=False):
        # The object of the knowledge base tells, or does not tell, what the model's own does not.
        others = [pair[0] if generator.random() < 0.5 else "Quixxy" for pair in given]
        found = {"name": label, "pairs": given, "others": others, "ratios": list(ratios), "labels": labels}
        return found | {"edge": True} if edge else found

    def ratio():
        return float(generator.uniform(0.5, 0.98))

    every = (unlike, contained, similar, aliased)
    for number in range(4):
        yield case(f"all kinds {number}", pairs(14, *every), None, ratio(), ratio())
    for kind in every:
        for number in range(3):
            yield case(f"{kind.__name__} {number}", pairs(12, kind, kind, unlike), None, ratio(), 1.0)
    for number in range(3):
        spellings = [[spelled(word), spelled(spelled(word))] for word in (name() for _ in range(4))]
        yield case(f"spellings of one name {number}", [*spellings, *pairs(8, unlike)], 1.0, None)
        articles = [
            [f"the {name()}", one_of(("he", "th", "The"))],
            [f"{name()} the {name()}", "The"],
            ["the He", name()],
        ]
        yield case(f"articles {number}", [*articles, *pairs(6, unlike, similar)], 1.0, ratio())
    alike = [pair for pair in (similar() for _ in range(40)) if pair[0] not in pair[1] and pair[1] not in pair[0]]
    for number, pair in enumerate(alike[:3]):
        yield case(f"as alike as the ratio {number}", [list(pair), *pairs(6, unlike), list(pair[::-1])], list(pair))
    yield case("equal rows", pairs(5, *every) * 3, None, ratio())
    yield case("sorted labels, backwards", pairs(9, *every), None, labels=list(range(9, 0, -1)))
    yield {"name": "experiment", "seed": seed % 1000}

    for label, make in LABELS.items():
        yield case(f"labels: {label}", pairs(12, *every), None, ratio(), labels=make(12), edge=True)
    for number in range(2):
        one, two = name(), name()
        signs = [
            [f"{one}x{two} Hall", f"{one}.{two}"],
            [f"{one}.{two} Hall", f"{one}.{two}"],
            [f"{one}{one[-1]}{two} Hall", f"{one}+{two}"],
            [f"{one} Hall", f"{one}|Quito"],
            [f"Hall {one}", f"({one})"],
            [f"Hall [{one}", f"[{one}"],
            [f"{one}?x", f"Hall {one}?x*"],
        ]
        yield case(f"signs {number}", [*signs, *pairs(4, unlike)], 1.0, ratio(), edge=True)
    yield case("none left", pairs(6, contained), 0.9, labels=LABELS["repeated numbers"](6), edge=True)
    yield case("no rows", [], None, ratio(), edge=True)
    yield case("no rows, words for labels", [], None, labels=[], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    import pandas as pd
    from src.data import remove_object_subject_overlap
    from src.entities import jaro_winkler, normalise

    count = len(case["pairs"])
    frame = pd.DataFrame(
        {
            "number": list(range(count)),
            "statement_object": case["others"],
            "parametric_object": [answer for _, answer in case["pairs"]],
            "first_token_log_probas": [np.full(2, float(number)) for number in range(count)],
            "statement_subject": [subject for subject, _ in case["pairs"]],
            "remark": [None if number % 3 == 0 else "x" for number in range(count)],
        },
        index=case["labels"],
    )
    # Without rows pandas would take texts for numbers.
    frame = frame if count else frame.astype(object)
    before, results = frame.copy(), []
    for ratio in case["ratios"]:
        settings = {}
        if ratio is not None:
            is_pair = isinstance(ratio, list)
            settings["string_similarity_ratio"] = jaro_winkler(*map(normalise, ratio)) if is_pair else ratio
        left = remove_object_subject_overlap(frame, **settings)
        columns = {name: [str(value) for value in left[name]] for name in left if name != "first_token_log_probas"}
        order = list(left.columns)
        results.append({"columns": order, "labels": [str(label) for label in left.index], "cells": columns})
    if not case.get("edge"):
        return {"results": results}
    frame, before = (table.drop(columns="first_token_log_probas") for table in (frame, before))
    return {"results": results, "unchanged": frame.equals(before) and frame.index.equals(before.index)}
