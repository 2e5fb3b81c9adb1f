"""return_entity_overlap_between_relation_groups: counts for ordered pairs of groups; then the experiment."""

import numpy as np

# Names of one entity each.
ENTITIES = (
    ("USA", "United States", "the united states of america", "AMERICA"),
    ("UK", "Great Britain", "the United Kingdom", "britain's"),
    ("Holland", "the Netherlands", "HOLLAND", "netherlands."),
    ("Czechia", "Czech  Republic", "the czech republic"),
    ("Violin", "fiddle", "a Violin", "Fiddle's"),
    ("Keeper", "goalkeeper", "Goalie", "the Goalkeeper."),
    ("Oslo", "OSLO", "Oslo's", " Oslo", "the Oslo"),
    ("Kenya", "KENYA", "kenya."),
)
# Entities with names that look like others.
ALIKE = (("Oslo Bay",), ("Keny",), ("Kenyan",), ("U K",), ("Holl",))
LABELS = {
    "words": lambda count: [f"row {number}" for number in range(count)],
    "repeated numbers": lambda count: [number // 3 for number in range(count)],
}


def cases(seed):
    generator = np.random.default_rng(seed)

    def one_of(options):
        return options[generator.integers(len(options))]

    def fresh():
        return f"Name{generator.integers(10**6)}"

    def rows(count, groups, common=0.3, variants=0.0, entities=ENTITIES):
        """Subject, object and group of each row. common: the share of names that several rows may have."""

        def name():
            names = one_of(entities)
            written = one_of(names) if generator.random() < variants else names[0]
            return written if generator.random() < common else fresh()

        return [[name(), name(), one_of(groups)] for _ in range(count)]

    def case(label, made, edge=False, **extra):
        # The object of the knowledge base may name what else the row does not.
        others = [one_of(one_of(ENTITIES)) for _ in made]
        found = {"name": label, "rows": made, "others": others, **extra}
        return found | {"edge": True} if edge else found

    def shuffled(made):
        return [made[place] for place in generator.permutation(len(made))]

    groups = ["media", "religion", "geo", "Geo"]
    for count in (2, 5, 12, 30):
        yield case(f"{count} rows", rows(count, groups))
    for number in range(4):
        yield case(f"other names {number}", rows(20, groups, 0.4, 0.8))
        yield case(f"names that look alike {number}", rows(16, groups, 0.7, 0.4, ENTITIES[-2:] + ALIKE))
    for number in range(3):
        yield case(f"few in common {number}", rows(20, groups, 0.1, 0.5))
        yield case(f"much in common {number}", rows(14, groups, 0.9, 0.3))
        equal = rows(3, groups, 0.6) * 3
        yield case(f"equal rows {number}", shuffled(equal + rows(4, groups, 0.6)))
        # Every entity is a subject in one group alone, and an object in others.
        roles = [[names[0], fresh(), "first"] for names in ENTITIES if generator.random() < 0.6]
        roles += [[fresh(), one_of(one_of(ENTITIES)), one_of(("second", "third"))] for _ in range(6)]
        yield case(f"subjects that are objects {number}", shuffled(roles))
        both = [[one_of(ENTITIES[6]), one_of(ENTITIES[7]), one_of(("one", "two"))] for _ in range(4)]
        yield case(f"both entities in common {number}", shuffled([*both, *rows(5, ["one", "two", "three"])]))
    yield case("nothing in common", rows(9, groups, 0))
    yield case("one group", rows(int(generator.integers(3, 20)), ["geo"], 0.5, 0.5))
    yield case("many groups", rows(30, [f"group {number}" for number in range(12)], 0.5, 0.5))
    yield {"name": "experiment", "seed": seed % 1000}

    for missing in ("None", "NaN"):
        for number in range(2):
            made = [[*row[:2], one_of((row[2], None))] for row in rows(14, groups, 0.5, 0.3)]
            yield case(f"rows without a group, {missing} {number}", made, edge=True, missing=missing)
        bridge = [["Oslo", "A", "one"], ["Oslo", "B", None], ["C", "B", "two"], ["D", "E", None], ["F", "D", "one"]]
        joined = shuffled([*bridge, *rows(4, ["one", "two"], 0)])
        yield case(f"in common with a row without a group, {missing}", joined, edge=True, missing=missing)
    for label, make in LABELS.items():
        yield case(f"labels: {label}", rows(10, groups), edge=True, labels=make(10))
    for number in range(2):
        later = rows(9, groups[::-1], 0.5)
        yield case(f"other rows in the same frame {number}", rows(9, groups), edge=True, later=later)
    yield case("only rows without a group", [["Oslo", "A", None]] * 2, edge=True)
    yield case("no rows", [], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    import pandas as pd
    from src.data import return_entity_overlap_between_relation_groups

    missing = float("nan") if case.get("missing") == "NaN" else None

    def columns(rows):
        groups = [missing if group is None else group for _, _, group in rows]
        return {
            "relation_group_id": pd.Series(groups, dtype=object),
            "statement_object": case["others"],
            "parametric_object": [answer for _, answer, _ in rows],
            "counter_knowledge_object": case["others"][::-1],
            "statement_subject": [subject for subject, _, _ in rows],
        }

    frame = pd.DataFrame(columns(case["rows"]))
    # Without rows pandas would take texts for numbers.
    frame = frame.set_axis(case["labels"], axis=0) if "labels" in case else frame.astype(object)
    results, unchanged = [], []
    for rows in (None, *([case["later"]] if "later" in case else [])):
        for name, values in columns(rows).items() if rows else ():
            frame[name] = values
        before = frame.copy()
        overlap = return_entity_overlap_between_relation_groups(frame)
        counts = [[first, [[second, int(row[second])] for second in row]] for first, row in overlap.items()]
        results.append(counts)
        unchanged.append(frame.equals(before) and frame.index.equals(before.index))
    found = {"overlap": results}
    return found | {"unchanged": unchanged} if case.get("edge") else found
