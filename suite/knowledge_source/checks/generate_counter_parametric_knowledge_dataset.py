"""generate_counter_parametric_knowledge_dataset: which objects, in which order, written how; then the experiment."""

import random

import numpy as np

COUNTRIES = ("USA", "Great Britain", "Holland", "Norway", "Japan", "Brazil", "Kenya", "Czech Republic", "Peru", "Chad")
VARIANTS = {
    "USA": ("United States", "the united states", "America"),
    "Great Britain": ("UK", "the United Kingdom", "BRITAIN"),
    "Holland": ("the Netherlands", "holland", "Netherlands"),
    "Norway": ("norway", "Norway.", "The  Norway"),
    "Czech Republic": ("Czechia", "the Czech Republic"),
}
KINDS = {
    "default": lambda count: None,
    "words": lambda count: [f"row {number}" for number in range(count)],
    "repeated": lambda count: [number // 2 for number in range(count)],
    "gaps": lambda count: [5 * number + 3 for number in range(count)][::-1],
}


def cases(seed):
    generator = np.random.default_rng(seed)

    def row(subject, relation, answer, token, group="geo", begun=None):
        """token: the first of the model's own answer. begun: all of them, where there are more."""
        return [subject, relation, group, answer, [token, *(begun or [])]]

    def rows(count, relations=2, objects=COUNTRIES, variants=0.0, tokens=None):
        """Rows whose objects begin with the tokens that stand for them."""
        tokens = tokens or {name: 3 + 2 * place for place, name in enumerate(objects)}
        made = []
        for number in range(count):
            name = str(generator.choice(objects))
            token, written = tokens[name], name
            if generator.random() < variants and name in VARIANTS:
                written = str(generator.choice(VARIANTS[name]))
                token = int(generator.integers(30, 38))
            relation = f"relation {generator.integers(relations)}"
            following = [int(token) for token in generator.integers(0, 40, generator.integers(0, 3))]
            made.append(row(f"Subject {number}", relation, written, token, begun=following))
        return made

    def case(label, made, *ks, index="default", size=40, scale=3.0, ties=False, close=None, **extra):
        values = -np.abs(generator.normal(0, scale, (len(made), size))) - np.linspace(0, 1e-3, size)
        if ties:
            values = np.round(values * 2 / scale)
        if close is not None:
            values = close - 1.5e-6 * np.array([generator.permutation(size) for _ in made])
        return {"name": label, "rows": made, "log_probas": values, "ks": list(ks), "index": index, **extra}

    for k in (1, 2, 3, 5, 9, 10, 100):
        yield case(f"k of {k}", rows(14), k)
    for relations in (1, 3, 6):
        yield case(f"{relations} relations", rows(16, relations), 3, 1)
    for number in range(4):
        yield case(f"other names {number}", rows(14, 2, variants=0.6), 2, 9)
    for kind in KINDS:
        yield case(f"index {kind}", rows(9), 2, index=kind)
    for number in range(3):
        yield case(f"ties {number}", rows(14, 2, variants=0.3), 4, ties=True)
    same = {name: 3 + place // 3 for place, name in enumerate(COUNTRIES)}
    for number in range(3):
        yield case(f"first tokens in common {number}", rows(14, 1, tokens=same), 4)
    yield case("far apart", rows(12), 4, scale=2000.0)
    yield case("nearly alike", rows(12), 4, scale=1e-2)
    yield case("as near as may be", rows(16, 1), 4, close=-40.0)
    # The row's own first token is not the one by which its object is known elsewhere.
    own = [
        row("A", "is in", "USA", 5),
        row("B", "is in", "United Arab Emirates", 7),
        row("C", "is in", "the United States", 7),
        row("D", "is in", "Japan", 9),
        row("E", "is in", "america", 9, begun=[5]),
        row("F", "is in", "Usable", 5),
    ]
    yield case("an answer that begins otherwise", own, 1, 2, 5)
    elsewhere = [
        row("A", "is from", "UK", 4),
        row("B", "is in", "Great Britain", 6),
        row("C", "is in", "Kenya", 8),
        row("D", "is in", "Peru", 10),
        row("E", "is from", "kenya", 12),
        row("F", "is from", "PERU", 14),
    ]
    yield case("an object that another relation has first", elsewhere, 1, 2, 3)
    yield case("an object that another relation has first, backwards", elsewhere[::-1], 1, 2, 3)
    yield case(
        "the first token of the vocabulary",
        [row(s, "r", o, t) for s, o, t in zip("ABC", COUNTRIES[:3], (0, 1, 2), strict=True)],
        2,
        1,
    )
    yield case(
        "the first token of the vocabulary, twice",
        [row(s, "r", s * 3, t) for s, t in zip("ABC", (0, 0, 3), strict=True)],
        2,
    )
    yield case(
        "a relation of one object", [row("A", "r", "Peru", 4), row("B", "r", "PERU", 4), row("C", "q", "Chad", 5)], 2
    )
    yield case("one row", [row("A", "r", "Peru", 4)], 1)
    yield case("no rows", [], 3)
    yield case("no rows, words", [], 1, index="words")
    many = [f"Name{number}" for number in range(30)]
    tokens = {name: 300 + 10 * place for place, name in enumerate(many)}
    yield case("many objects", rows(40, 1, many, tokens=tokens), 3, 100, size=1000)
    yield case("ties of many objects", rows(40, 1, many, tokens=tokens), 5, 12, size=1000, ties=True)
    yield case(
        "objects of two groups", [[*made[:2], f"group {n % 2}", *made[3:]] for n, made in enumerate(rows(12))], 3
    )
    yield case("the same subject again", [["Same", *made[1:]] for made in rows(10)], 2)
    yield case("equal rows", rows(3) * 3, 2)
    yield case("called again with other rows", rows(12), 2, later=rows(12, 1))
    yield case("read only", rows(9), 3, read_only=True)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    import pandas as pd
    from src.data import generate_counter_parametric_knowledge_dataset

    def frame_of(rows):
        arrays = [np.array(values) for values in case["log_probas"]]
        for values in arrays:
            values.setflags(write=not case.get("read_only", False))
        frame = pd.DataFrame(
            {
                "popularity": [0.5 for _ in rows],
                "first_token_log_probas": pd.Series(arrays, dtype=object),
                "parametric_object_token_ids": pd.Series([list(row[4]) for row in rows], dtype=object),
                "parametric_object": [row[3] for row in rows],
                # What the knowledge base holds for true does not matter.
                "statement_object": ["Norway" for _ in rows],
                "statement_query": [f"{row[0]} {row[1]}" for row in rows],
                "relation_text": [f"text of {row[1]}" for row in rows],
                "relation_group_id": [row[2] for row in rows],
                "rel_lemma": [row[1] for row in rows],
                "statement_subject": [row[0] for row in rows],
                "remark": pd.Series([None if n % 3 == 0 else "x" for n in range(len(rows))], dtype=object),
            }
        ).set_axis(KINDS[case["index"]](len(rows)) or range(len(rows)), axis=0)
        # Without rows pandas would take texts for numbers.
        return frame if rows else frame.astype(object)

    results = []
    for rows in (case["rows"], *([case["later"]] if "later" in case else [])):
        for k in case["ks"]:
            frame, before = frame_of(rows), frame_of(rows)
            counter = generate_counter_parametric_knowledge_dataset(frame, k)
            plain = [column for column in frame if column != "first_token_log_probas"]
            arrays = zip(frame.first_token_log_probas, before.first_token_log_probas, strict=True)
            unchanged = (
                list(frame.columns) == list(before.columns)
                and list(frame.index) == list(before.index)
                and all(list(frame[column]) == list(before[column]) for column in plain)
                and all(np.array_equal(one, other) for one, other in arrays)
            )
            log_probas = [float(value) for value in counter["counter_knowledge_log_proba"]]
            others = [column for column in counter if column != "counter_knowledge_log_proba"]
            results.append(
                {
                    "columns": list(counter.columns),
                    "index": [int(label) for label in counter.index],
                    "cells": {column: [str(value) for value in counter[column]] for column in others},
                    "log_probas": log_probas,
                    "unchanged": unchanged,
                }
            )
    return {"results": results, "drawn": [random.random(), float(np.random.rand())]}
