"""return_entity_overlap_between_relation_groups: counts for ordered pairs of groups; then the experiment."""

from string import punctuation

import numpy as np

NAMES = ("USA", "UK", "Holland", "Czechia", "Violin", "Keeper", "Oslo", "Kenya", "Peru", "Chad", "Quito", "Cairo")
VARIANTS = {
    "USA": ("United States", "the united states of america", "AMERICA", "usa"),
    "UK": ("Great Britain", "the United Kingdom", "britain's", "U K"),
    "Holland": ("the Netherlands", "HOLLAND", "netherlands."),
    "Czechia": ("Czech  Republic", "the czech republic"),
    "Violin": ("fiddle", "a Violin", "Fiddle's"),
    "Keeper": ("goalkeeper", "Goalie", "the Goalkeeper."),
    "Oslo": ("oslo", "OSLO", "Oslo's", " Oslo", "the Oslo", "Oslo  Bay"),
    "Kenya": ("KENYA", "kenya.", "Keny", "Kenyan"),
}
KINDS = {
    "default": lambda count: None,
    "words": lambda count: [f"row {number}" for number in range(count)],
    "repeated": lambda count: [number // 3 for number in range(count)],
}


def cases(seed):
    generator = np.random.default_rng(seed)

    def name(variants, fresh):
        if generator.random() < fresh:
            return f"Name{generator.integers(10**6)}"
        chosen = str(generator.choice(NAMES))
        if generator.random() < variants and chosen in VARIANTS:
            return str(generator.choice(VARIANTS[chosen]))
        return chosen

    def rows(count, groups, variants=0.0, fresh=0.7):
        return [[name(variants, fresh), name(variants, fresh), str(generator.choice(groups))] for _ in range(count)]

    def case(label, made, index="default", **extra):
        # The object of the knowledge base may name what else the row does not.
        others = [str(generator.choice(NAMES)) for _ in made]
        return {"name": label, "rows": made, "others": others, "index": index, **extra}

    groups = ["media", "religion", "geo", "Geo"]
    for count in (1, 2, 5, 12, 30):
        yield case(f"{count} rows", rows(count, groups))
    for number in range(4):
        yield case(f"other names {number}", rows(20, groups, 0.6))
    for number in range(3):
        yield case(f"few in common {number}", rows(20, groups, 0.4, fresh=0.9))
    for kind in KINDS:
        yield case(f"index {kind}", rows(10, groups), kind)
    yield case("nothing in common", rows(9, groups, fresh=1.0))
    yield case("one group", rows(8, ["geo"], 0.5))
    yield case("many groups", rows(30, [f"group {number}" for number in range(12)], 0.5, 0.6))
    yield case("more groups than a word has bits", [["Oslo", f"Name{n}", f"group {n}"] for n in range(70)])
    often = [["Oslo", f"Name{n}", "often"] for n in range(256)]
    often += [["Kenya", f"Name{n}", "more"] for n in range(300, 440)]
    yield case("named 256 times and 140 times", [*often, ["Oslo", "A", "c"], ["B", "Kenya", "d"]])
    yield case("more than 256 rows", [["Oslo", f"Name{n}", "ab"[n % 2]] for n in range(620)] + rows(3, ["c"]))
    roles = [
        ["Oslo", "Kenya", "first"],
        ["Kenya", "Quito", "second"],
        ["Cairo", "Oslo", "third"],
        ["Peru", "Chad", "fourth"],
        ["Chad", "Chad", "fifth"],
    ]
    yield case("subjects that are objects", roles)
    yield case("subjects that are objects, backwards", roles[::-1])
    uneven = [["Oslo", "A", "one"], ["Oslo", "B", "two"], ["oslo", "C", "two"], ["D", "Oslo", "two"], ["E", "F", "two"]]
    yield case("not symmetric", uneven)
    both = [["Oslo", "Kenya", "one"], ["Kenya", "Oslo", "two"], ["Oslo", "Oslo", "two"], ["Oslo", "Kenya", "two"]]
    yield case("both entities in common", both)
    yield case("equal rows", [["Oslo", "Kenya", "one"]] * 3 + [["Kenya", "X", "two"]] * 2)
    part = [["Oslo", "A", "one"], ["Oslo Bay", "B", "two"], ["Os", "A B", "three"], ["the Oslo", "C", "four"]]
    yield case("parts of names", part)
    for number in range(2):
        one, two = (f"Name{generator.integers(10**6)}" for _ in range(2))
        articles = [[f"the A {one}", "P", "one"], [f"a {one}", "Q", "two"], ["R", one, "three"]]
        yield case(f"two articles {number}", [*articles, [f"A the {one}", "S", "four"]])
        spaces = [[f"{one}  {two}", "P", "one"], [f" {one} {two} ", "Q", "two"], ["R", f"{one}\t{two}", "three"]]
        yield case(f"white space {number}", [*spaces, [f"{one}{two}", one, "four"], [two, "T", "five"]])
    marks = [[f"One{number}{mark}Two{number}", f"P{number}", "one"] for number, mark in enumerate(punctuation)]
    marks += [[f"Two{number}", f"Q{number}", "two"] for number in range(len(marks))]
    yield case("names with marks", [*marks, *([f"R{number}", f"One{number}", "three"] for number in range(len(marks)))])
    for missing in ("none", "nan"):
        made = rows(14, groups, 0.3)
        for place in generator.permutation(14)[:4]:
            made[place][2] = None
        yield case(f"rows without a group, {missing}", made, missing=missing)
        bridge = [["Oslo", "A", "one"], ["Oslo", "B", None], ["C", "B", "two"], ["D", "E", None], ["F", "D", "one"]]
        yield case(f"in common with a row without a group, {missing}", bridge, missing=missing)
        yield case(f"only rows without a group, {missing}", [["Oslo", "A", None]] * 2, missing=missing)
    yield case("a group first of a row without one", [["Oslo", "A", None], ["Oslo", "A", "one"]])
    yield case(
        "groups that differ in case and space", [["Oslo", "A", group] for group in ("geo", "GEO", "geo ", " geo")]
    )
    yield case(
        "groups that are names of one entity",
        [["Oslo", "USA", "USA"], ["Oslo", "B", "America"], ["C", "D", "nan"], ["E", "D", "None"]],
    )
    yield case("an empty group", [["Oslo", "A", ""], ["B", "Oslo", "one"], ["", "C", "two"]][:2])
    yield case("no rows", [])
    yield case("no rows, words", [], "words")
    yield case("called again with other rows", rows(8, groups), later=rows(9, groups[::-1]))
    again = [[f"Name{n}", f"Name{n + 50}", "ab"[n % 2]] for n in range(6)]
    yield case("called again with other names in the same groups", again, later=[["Oslo", *row[1:]] for row in again])
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    import pandas as pd
    from src.data import return_entity_overlap_between_relation_groups

    missing = float("nan") if case.get("missing") == "nan" else None
    results, attributes = [], {}
    for rows in (case["rows"], *([case["later"]] if "later" in case else [])):
        frame = pd.DataFrame(
            {
                "relation_group_id": pd.Series([missing if row[2] is None else row[2] for row in rows], dtype=object),
                "statement_object": (case["others"] * 2)[: len(rows)],
                "parametric_object": [row[1] for row in rows],
                "counter_knowledge_object": (case["others"][::-1] * 2)[: len(rows)],
                "rel_lemma": [f"relation {number % 3}" for number in range(len(rows))],
                "statement_subject": [row[0] for row in rows],
                "remark": pd.Series([None if n % 3 == 0 else "x" for n in range(len(rows))], dtype=object),
            }
        )
        # Without rows pandas would take texts for numbers.
        frame = frame if rows else frame.astype(object)
        index = KINDS[case["index"]](len(rows))
        frame = frame if index is None else frame.set_axis(index, axis=0)
        # As in a part of the dataset before, which has its attributes.
        frame.attrs = {"source": "a table", **attributes}
        before = frame.copy()
        overlap = return_entity_overlap_between_relation_groups(frame)
        attributes = frame.attrs
        unchanged = bool(frame.equals(before)) and list(frame.index) == list(before.index)
        # The same dataset once more, of which names and groups have become others.
        again = None
        if 1 < len(rows) <= 60:
            frame["statement_subject"] = list(frame["statement_subject"])[1:] + list(frame["statement_subject"])[:1]
            frame["relation_group_id"] = list(frame["relation_group_id"])[::-1]
            again = return_entity_overlap_between_relation_groups(frame)
        results.append(
            {
                "overlap": [
                    [first, [[second, int(count)] for second, count in row.items()]] for first, row in overlap.items()
                ],
                "are_ints": all(isinstance(count, int) for row in overlap.values() for count in row.values()),
                "unchanged": unchanged and list(attributes) == ["source"],
                "again": [] if again is None else [[first, list(row.items())] for first, row in again.items()],
            }
        )
    return {"results": results}
