"""perform_classification_by_relation_group: metrics of folds, uneven groups, shared entities; then the experiment."""

import random
from itertools import product

import numpy as np

WIDTHS = {"mlp": 3, "mlp_l1": 5, "mhsa": 4}
SHARED = ("Oslo", "the OSLO", "USA", "America", "Kenya")


def cases(seed):
    generator = np.random.default_rng(seed)

    def rows(sizes, ck=0.6, nd=0.2, shared=0.0):
        """Subject, object, counter-object, source and group of each row, in any order. sizes: of the groups."""
        made = []
        for group, size in sizes.items():
            for _ in range(size):
                names = [f"Name{generator.integers(10**6)}" for _ in range(3)]
                names = [str(generator.choice(SHARED)) if generator.random() < shared else name for name in names]
                source = "ND" if generator.random() < nd else "CK" if generator.random() < ck else "PK"
                made.append([*names, source, group])
        return shuffled(made)

    def shuffled(made):
        return [made[place] for place in generator.permutation(len(made))]

    def case(label, made, flags=(True, False, False), position="object", seeds=(0,), layers=2, edge=False, **extra):
        found = {"name": label, "rows": made, "flags": list(flags), "position": position, "seeds": list(seeds)}
        found |= {"layers": layers, "signal": 0.8, "noise": int(generator.integers(2**31)), **extra}
        return found | {"edge": True} if edge else found

    def another():
        return int(generator.integers(1, 2**31))

    sizes = {"media": 14, "religion": 9, "geo": 17}
    positions = ("first", "object", "subject_query", "relation_query")
    every = [flags for flags in product((False, True), repeat=3) if any(flags)]
    for number, flags in enumerate(every):
        position, layers = positions[(number + seed) % 4], 1 + number % 3
        made = rows(sizes, 0.35 + 0.05 * number, shared=0.04 * (number % 3))
        yield case(f"modules {flags}", made, flags, position, (None, another()), layers)
    for position in positions:
        made = rows(sizes, shared=0.05)
        yield case(f"position {position}", made, every[generator.integers(7)], position, (another(),))
    for number in range(3):
        yield case(f"seeds {number}", rows(sizes), seeds=(0, 1, another()), layers=1)
        yield case(f"entities in common {number}", rows(sizes, shared=0.12), layers=3)
        made = rows({"a": 12, "b": 12, "c": 12}, nd=0.0)
        yield case(
            f"counter-objects in common {number}",
            [[*row[:2], "Kenya" if n % 3 == 0 else row[2], *row[3:]] for n, row in enumerate(made)],
        )
        roles = [
            ["USA" if n % 5 == 0 else row[0], "America" if n % 5 == 1 else row[1], *row[2:]]
            for n, row in enumerate(made)
        ]
        yield case(f"entities in several roles {number}", roles)
        part = {"a": "Oslo", "b": "Oslo Bay", "c": "Os"}
        parts = [[part[row[4]] if n % 2 else row[0], *row[1:]] for n, row in enumerate(made)]
        yield case(f"parts of names in common {number}", parts)
        # Rows without a label share an entity with half of the rows of another group, which they do not keep out.
        bridge = rows({"media": 16, "religion": 9, "geo": 15}, nd=0.0)
        bridge = [["the Oslo", *row[1:]] if row[4] == "media" and n % 3 else row for n, row in enumerate(bridge)]
        bridge += [["Oslo", f"Answer {n}", f"Counter {n}", "ND", "geo"] for n in range(3)]
        yield case(f"entities of unlabelled rows {number}", shuffled(bridge), layers=4)
        # Most PK of the first group are not drawn; each names an entity of another group's row all the same.
        often = [[f"E{n}", f"A{n}", f"C{n}", "PK" if n > 14 else "CK", "a"] for n in range(17)]
        often += [[f"S{n}", f"E{n}", f"C{n + 20}", "CK", "b"] for n in range(14)]
        often += [[f"S{n}", f"A{n}", f"C{n}", "CK" if n < 46 else "PK", "b"] for n in range(40, 56)]
        yield case(f"entities of rows that are not drawn {number}", shuffled(often))
        # A group with rows of one source, or without labelled rows, among the first ones.
        made = rows({"z": 10, "m": 12, "a": 11})
        first = [row for row in made if row[4] == "z"]
        made = [[*row[:3], "CK" if row[4] == "z" else row[3], row[4]] for row in [*first, *made]]
        yield case(f"a group of one source {number}", made, seeds=(3, another()))
        made = [[*row[:3], "ND" if row[4] == "z" else row[3], row[4]] for row in made]
        yield case(f"a group without labels {number}", made, seeds=(3, another()))
    for ck in (0.85, 0.2):
        yield case(f"a share of {ck} CK", rows({"a": 25, "b": 20, "c": 22}, ck), seeds=(another(),))
    # The first group names an entity of every other row, and each of these another.
    sources = ["CK" if one < 0.7 else "PK" for one in generator.random(48)]
    made = [[f"E{n}", f"E{n + 12}", f"E{n + 24}", sources[n], "a"] for n in range(12)]
    made += [[f"E{n}", f"X{n}", f"Y{n}", sources[12 + n], "cde"[n // 12]] for n in range(36)]
    yield case("nothing left to train on for the first group", made, seeds=(0, another()))
    yield case("many groups", rows({f"group {n}": 7 for n in range(9)}), layers=1)
    yield case("a strong signal", rows(sizes), signal=4.0)
    yield {"name": "experiment", "seed": seed % 1000}

    made, flags = rows(sizes, shared=0.05), every[generator.integers(7)]
    repeated = [number // 3 for number in range(len(made))]
    yield case("labels that repeat", made, flags, seeds=(another(),), labels=repeated, edge=True)
    for number in range(2):
        made = [[*row[:3], None if row[3] == "ND" else row[3], row[4]] for row in rows(sizes)]
        yield case(f"sources that are None {number}", made, edge=True)
        flags = every[generator.integers(6)]
        yield case(f"columns of other modules missing {number}", rows(sizes), flags, only=True, edge=True)
        yield case(f"a feature that does not vary {number}", rows(sizes), constant=True, edge=True)
    yield case("no row has a label", [["A", "B", "C", "ND", "geo"], ["D", "E", "F", None, "geo"]], edge=True)
    yield case("no rows", [], edge=True)
    yield case("no module", rows(sizes), (False, False, False), edge=True)
    yield case("unknown position", rows(sizes), position="last", columns=True, edge=True)
    yield case("empty position", rows(sizes), position="", columns=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    import pandas as pd
    from src.classification.classifier import perform_classification_by_relation_group

    rows, data = case["rows"], activations(case)
    columns = {name: pd.Series([cell.copy() for cell in cells], dtype=object) for name, cells in data.items()}
    columns["relation_group_id"] = [row[4] for row in rows]
    columns["knowledge_source"] = pd.Series([row[3] for row in rows], dtype=object)
    for place, name in enumerate(("statement_subject", "parametric_object", "counter_knowledge_object")):
        columns[name] = [row[place] for row in rows]
    columns["rel_lemma"] = [f"relation of {row[4]}" for row in rows]
    frame = pd.DataFrame(columns)
    # Without rows pandas would take texts for numbers.
    frame = frame.set_axis(case.get("labels", range(len(rows))), axis=0) if rows else frame.astype(object)
    plain = [column for column in frame if column not in data]
    before, results = frame[plain].copy(), []
    for seed in case["seeds"]:
        settings = {} if seed is None else {"seed": seed}
        try:
            metrics = perform_classification_by_relation_group(frame, *case["flags"], case["position"], **settings)
        except ValueError:
            results.append("refused")
            continue
        items = [
            {name: value if isinstance(value, str) else float(value) for name, value in item.items()}
            for item in metrics
        ]
        results.append(items)
    if not case.get("edge"):
        return {"metrics": results}
    same = all(np.array_equal(np.array(list(frame[name])), cells) for name, cells in data.items() if rows)
    same = same and list(frame.columns) == list(columns) and frame[plain].equals(before)
    return {"metrics": results, "unchanged": same, "drawn": [random.random(), float(np.random.rand())]}


def activations(case):
    """Cells (rows, layers, width) of each column, for the position that is asked for and for another one."""
    from src.config import MODULES, POSITIONS, activation_column

    generator, position = np.random.default_rng(case["noise"]), case["position"]
    is_pk = np.array([row[3] == "PK" for row in case["rows"]], dtype=float).reshape(-1, 1, 1)
    data = {}
    for other in ("first" if position != "first" else "object", position):
        for module, is_included in zip(MODULES, case["flags"], strict=True):
            shape = (case["layers"], WIDTHS[module])
            cells = generator.normal(size=(len(is_pk), *shape))
            cells += generator.normal(size=shape) * case["signal"] * (is_pk - 0.5)
            if case.get("constant"):
                cells[..., 2] = 0.25
            there = other in POSITIONS or case.get("columns")
            if there and (not case.get("only") or (other == position and is_included)):
                data[activation_column(module, other)] = cells
    return data
