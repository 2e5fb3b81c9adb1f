"""generate_counter_parametric_knowledge_dataset: which objects, in which order, written how; then the experiment."""

import numpy as np

OBJECTS = ("USA", "Great Britain", "Holland", "Norway", "Japan", "Brazil", "Kenya", "Czech Republic", "Peru", "Chad")
VARIANTS = {
    "USA": ("United States", "the united states", "America"),
    "Great Britain": ("UK", "the United Kingdom", "BRITAIN"),
    "Holland": ("the Netherlands", "holland", "Netherlands"),
    "Norway": ("norway", "Norway.", "The  Norway"),
    "Czech Republic": ("Czechia", "the Czech Republic"),
}
LABELS = {
    "words": lambda count: [f"row {number}" for number in range(count)],
    "repeated numbers": lambda count: [number // 2 for number in range(count)],
}


def cases(seed):
    generator = np.random.default_rng(seed)

    def rows(count, relations=2, variants=0.0, shared=1):
        """Subject, relation, group, object and its tokens of each row.

        variants: the share of objects under another name, which begins with another token. shared: how many objects
        begin with the same token.
        """
        made = []
        for number in range(count):
            place = int(generator.integers(len(OBJECTS)))
            written, token = OBJECTS[place], place // shared
            if generator.random() < variants and written in VARIANTS:
                written, token = str(generator.choice(VARIANTS[written])), int(generator.integers(10, 18))
            following = [int(token) for token in generator.integers(0, 18, generator.integers(0, 3))]
            relation = int(generator.integers(relations))
            made.append(
                [f"Subject {number}", f"relation {relation}", f"group {relation % 3}", written, [token, *following]]
            )
        return made

    def case(label, made, *ks, ties=False, scale=3.0, edge=False, **extra):
        values = -scale * np.abs(generator.normal(size=(len(made), 20)))
        values = np.round(values / scale) if ties else values
        truths = [str(generator.choice(OBJECTS)) for _ in made]
        found = {"name": label, "rows": made, "log_probas": values, "truths": truths, "ks": list(ks), **extra}
        return found | {"edge": True} if edge else found

    def shuffled(made):
        return [made[place] for place in generator.permutation(len(made))]

    for k in (1, 2, 3, 5, 100):
        yield case(f"k of {k}", rows(14), k)
    for relations in (1, 3, 6):
        yield case(f"{relations} relations", rows(16, relations), 3, 1)
    for number in range(4):
        yield case(f"other names {number}", rows(14, 2, 0.6), 2, 9)
    for number in range(3):
        yield case(f"ties {number}", rows(14, 1 + number, 0.3), 4, ties=True)
        yield case(f"first tokens in common {number}", rows(14, 1, shared=2 + number), 4, 2)
        yield case(f"first tokens in common, other names {number}", rows(16, 2, 0.4, 2), 3)
        # The row's own first token is not the one by which its object is known elsewhere.
        begun = [
            ("USA", [5]),
            ("Yemen", [7]),
            ("the United States", [7]),
            ("Japan", [9]),
            ("america", [9, 5]),
            ("Oman", [5]),
        ]
        answers = [[letter, "is in", "geo", *answer] for letter, answer in zip("ABCDEF", begun, strict=True)]
        yield case(f"answers that begin otherwise {number}", shuffled(answers), 1, 2, 5)
        places = [("is from", "UK", 4), ("is in", "Great Britain", 6), ("is in", "Kenya", 8), ("is in", "Peru", 10)]
        places += [("is from", "kenya", 12), ("is from", "PERU", 14)]
        answers = [[one, text, "geo", name, [token]] for one, (text, name, token) in zip("ABCDEF", places, strict=True)]
        yield case(f"objects that another relation has first {number}", shuffled(answers), 1, 2, 3)
    yield case("other labels", rows(9), 2, labels=[5 * number + 3 for number in range(9)][::-1])
    yield case(
        "a relation of one object", [["A", "s", "geo", "Peru", [4]], ["B", "s", "geo", "PERU", [5]], *rows(8)], 2
    )
    yield case("the same subject again", [["Same", *row[1:]] for row in rows(10)], 2)
    yield case("equal rows", rows(6, 1) * 2, 2)
    yield {"name": "experiment", "seed": seed % 1000}

    for label, make in LABELS.items():
        for number in range(2):
            yield case(f"labels: {label} {number}", rows(9, variants=0.3), 2, labels=make(9), edge=True)
    for number in range(3):
        yield case(f"far apart {number}", rows(12, 1 + number), 4, scale=2000.0, edge=True)
        yield case(f"unchanged {number}", rows(10, 2, 0.4), 3, 1, edge=True)
    yield case("one row", rows(1), 1, edge=True)
    yield case("no rows", [], 3, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    import pandas as pd
    from src.data import generate_counter_parametric_knowledge_dataset

    rows = case["rows"]
    columns = {
        "popularity": [0.5 for _ in rows],
        "first_token_log_probas": pd.Series([values.copy() for values in case["log_probas"]], dtype=object),
        "parametric_object_token_ids": pd.Series([list(row[4]) for row in rows], dtype=object),
        "parametric_object": [row[3] for row in rows],
        # What the knowledge base holds for true does not matter.
        "statement_object": case["truths"],
        "statement_query": [f"{row[0]} {row[1]}" for row in rows],
        "relation_text": [f"text of {row[1]}" for row in rows],
        "relation_group_id": [row[2] for row in rows],
        "rel_lemma": [row[1] for row in rows],
        "statement_subject": [row[0] for row in rows],
    }
    frame = pd.DataFrame(columns)
    # Without rows pandas would take texts for numbers.
    frame = frame.set_axis(case.get("labels", range(len(rows))), axis=0) if rows else frame.astype(object)
    before, results = frame.drop(columns="first_token_log_probas"), []
    for k in case["ks"]:
        counter = generate_counter_parametric_knowledge_dataset(frame, k)
        log_probas = [float(value) for value in counter["counter_knowledge_log_proba"]]
        others = [column for column in counter if column != "counter_knowledge_log_proba"]
        cells = {column: [str(value) for value in counter[column]] for column in others}
        labels = {"columns": list(counter.columns), "index": [int(label) for label in counter.index]}
        results.append(labels | {"cells": cells, "log_probas": log_probas})
    if not case.get("edge"):
        return {"results": results}
    tokens = [list(ids) for ids in frame.parametric_object_token_ids] == [row[4] for row in rows]
    arrays = zip(frame.first_token_log_probas, case["log_probas"], strict=True)
    same = tokens and all(np.array_equal(one, other) for one, other in arrays)
    after = frame.drop(columns="first_token_log_probas")
    return {"results": results, "unchanged": same and after.equals(before) and after.index.equals(before.index)}
