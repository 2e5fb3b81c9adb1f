"""perform_classification_by_relation_group: metrics of folds, uneven groups, shared entities; experiment."""

import random

import numpy as np

KINDS = {
    "default": lambda count: None,
    "words": lambda count: [f"row {number}" for number in range(count)],
    "repeated": lambda count: [number // 3 for number in range(count)],
    "backwards": lambda count: list(range(count, 0, -1)),
}
FLAGS = ((True, False, False), (False, True, False), (False, False, True), (True, True, False), (True, False, True))
WIDTHS = {"mlp": 3, "mlp_l1": 5, "mhsa": 4}


def cases(seed):
    generator = np.random.default_rng(seed)

    def rows(sizes, ck=0.6, nd=0.2, shared=0.0, mixed=True):
        """Subject, object, counter-object, source and group of each row. sizes: of the groups."""
        made = []
        for group, size in sizes.items():
            for _ in range(size):
                names = [f"Name{generator.integers(10**6)}" for _ in range(3)]
                for place in range(3):
                    if generator.random() < shared:
                        names[place] = f"{generator.choice(['Oslo', 'the OSLO', 'USA', 'America', 'Kenya'])}"
                source = "ND" if generator.random() < nd else "CK" if generator.random() < ck else "PK"
                made.append([*names, source, group])
        return [made[place] for place in generator.permutation(len(made))] if mixed else made

    def case(
        label, made, flags=FLAGS[0], position="object", seeds=(0,), layers=2, index="default", signal=0.8, **extra
    ):
        return {
            "name": label,
            "rows": made,
            "flags": list(flags),
            "position": position,
            "seeds": list(seeds),
            "layers": layers,
            "index": index,
            "signal": signal,
            "noise": int(generator.integers(2**31)),
            **extra,
        }

    sizes = {"media": 14, "religion": 9, "geo": 17}
    for flags in (*FLAGS, (False, True, True), (True, True, True)):
        yield case(f"modules {flags}", rows(sizes), flags)
    for position in ("first", "subject_query", "relation_query"):
        yield case(f"position {position}", rows(sizes), FLAGS[1], position)
    yield case("another seed", rows(sizes), seeds=(None, 0, 1, 7, 2**31 - 1))
    for layers in (1, 5, 8):
        yield case(f"{layers} layers", rows({"media": 9, "geo": 12}), layers=layers)
    for kind in KINDS:
        yield case(f"index {kind}", rows(sizes), FLAGS[3], index=kind)
    for number in range(3):
        yield case(f"entities in common {number}", rows(sizes, shared=0.12))
    yield case("mostly CK", rows({"a": 25, "b": 20, "c": 22}, ck=0.85))
    yield case("mostly PK", rows({"a": 25, "b": 20, "c": 22}, ck=0.2))
    yield case("groups in order", rows(sizes, mixed=False), FLAGS[2])
    for number in range(2):
        made = rows({"z": 10, "m": 12, "a": 11}, mixed=False)
        # The first group has rows of one source alone, and is a fold all the same.
        made = [[*row[:3], "CK" if row[4] == "z" else row[3], row[4]] for row in made]
        yield case(f"a group of one source {number}", made, seeds=(3, 4))
        nowhere = [[*row[:3], "ND" if row[4] == "z" else row[3], row[4]] for row in made]
        yield case(f"a group without labels {number}", nowhere, seeds=(3, 4))
    late = [["A", "B", "C", "ND", "geo"], *rows({"media": 12, "geo": 10}, nd=0.0, mixed=False)]
    yield case("a group first without, then with labels", late)
    made = rows({"a": 10, "b": 12, "c": 9}, nd=0.0)
    # The rest has PK with entities of the first group alone.
    made = [["oslo", *row[1:]] if row[4] == "a" or row[3] == "PK" else row for row in made]
    yield case("nothing left to train on", made)
    # The first group names an entity of every other row, and each of these another.
    sources = ["CK" if one < 0.7 else "PK" for one in generator.random(48)]
    made = [[f"E{n}", f"E{n + 12}", f"E{n + 24}", sources[n], "a"] for n in range(12)]
    made += [[f"E{n}", f"X{n}", f"Y{n}", sources[12 + n], "cde"[n // 12]] for n in range(36)]
    yield case("nothing left to train on for the first", made, seeds=(0, 1, 2))
    long = "languages, peoples and places of the world, "
    yield case("long names of groups", rows({f"{long}old": 11, f"{long}new": 9, "geo": 10}))
    for number in range(3):
        # Rows without a label share an entity with half of the rows of another group, which they do not keep out.
        bridge = rows({"media": 16, "religion": 9, "geo": 15}, nd=0.0)
        bridge += [["Oslo", f"Answer {n}", f"Counter {n}", "ND", "geo"] for n in range(3)]
        bridge = [["the Oslo", *row[1:]] if row[4] == "media" and n % 3 else row for n, row in enumerate(bridge)]
        yield case(f"entities of unlabelled rows {number}", bridge, layers=4)
    unused = rows({"a": 24, "b": 8, "c": 10}, ck=0.9, nd=0.0, mixed=False)
    yield case(
        "entities of rows that are not drawn", [["Oslo", *r[1:]] if n % 5 == 0 else r for n, r in enumerate(unused)]
    )
    yield case("a missing source", [[*row[:3], None if row[3] == "ND" else row[3], row[4]] for row in rows(sizes)])
    counter = rows({"a": 12, "b": 12, "c": 12}, nd=0.0)
    yield case(
        "counter-objects in common", [[*r[:2], "Kenya" if n % 3 == 0 else r[2], *r[3:]] for n, r in enumerate(counter)]
    )
    yield case(
        "roles in common",
        [["USA" if n % 5 == 0 else r[0], "America" if n % 5 == 1 else r[1], *r[2:]] for n, r in enumerate(counter)],
    )
    yield case(
        "parts of names in common", [["Oslo" if n % 2 else "Oslo Bay", *r[1:]] for n, r in enumerate(counter)][:30]
    )
    yield case("two groups", rows({"geo": 16, "GEO": 13}))
    yield case("one group", rows({"geo": 12}))
    yield case("many groups", rows({f"group {n}": 7 for n in range(9)}), layers=1)
    yield case("one row of each source", [["A", "B", "C", s, g] for g in "ab" for s in ("CK", "PK")][:4])
    yield case("no rows", [])
    yield case("no labels", [["A", "B", "C", "ND", "geo"], ["D", "E", "F", None, "geo"]])
    yield case("a strong signal", rows(sizes), signal=4.0)
    yield case("no signal", rows(sizes), FLAGS[4], signal=0.0)
    yield case("large and small features", rows(sizes), FLAGS[3], scales=[1e5, 1e-5])
    for number in range(2):
        yield case(f"a feature far from 0 {number}", rows(sizes), layers=5, signal=3.0, scales=[1e-2, 1.0], offset=1e6)
    yield case("a feature that does not vary", rows(sizes), constant=True)
    yield case("a layer that does not vary", rows(sizes), dead_layer=0)
    yield case("columns of other modules missing", rows(sizes), FLAGS[1], only=True)
    yield case("no module", rows(sizes), (False, False, False))
    yield case("no module and no rows", [], (False, False, False))
    for position in ("last", "", "OBJECT", "subject"):
        yield case(f"no position {position!r}", rows(sizes), position=position)
    for position in ("last", "subject"):
        yield case(f"no position {position!r}, but its columns", rows(sizes), position=position, columns=True)
    for how in ("replaced", "in place"):
        yield case(f"the same frame with other contents, {how}", rows(sizes), refilled=how)
    yield case("no position and no labels", [["A", "B", "C", "ND", "geo"]], position="query")
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    import pandas as pd
    from src.classification.classifier import perform_classification_by_relation_group
    from src.config import MODULES, POSITIONS, activation_column

    rows = case["rows"]
    generator = np.random.default_rng(case["noise"])
    is_pk = np.array([row[3] == "PK" for row in rows], dtype=float).reshape(-1, 1, 1)
    data = {}
    # Beside the position that is asked for stands another one, with other values.
    for position in dict.fromkeys(["first" if case["position"] != "first" else "object", case["position"]]):
        for module in MODULES if position in POSITIONS or case.get("columns") else ():
            shape = (case["layers"], WIDTHS[module])
            cells = generator.normal(size=(len(rows), *shape))
            cells += generator.normal(size=shape) * case["signal"] * (is_pk - 0.5)
            cells[..., :2] *= case.get("scales", [1.0, 1.0])
            cells[..., 0] += case.get("offset", 0.0)
            if case.get("constant"):
                cells[..., 2] = 0.25
            if "dead_layer" in case:
                cells[:, case["dead_layer"]] = 0.5
            if not case.get("only") or (position == case["position"] and case["flags"][MODULES.index(module)]):
                data[activation_column(module, position)] = cells
    columns = {name: pd.Series([cell.copy() for cell in cells], dtype=object) for name, cells in data.items()}
    columns["relation_group_id"] = [row[4] for row in rows]
    columns["knowledge_source"] = pd.Series([row[3] for row in rows], dtype=object)
    columns["counter_knowledge_object"] = [row[2] for row in rows]
    columns["parametric_object"] = [row[1] for row in rows]
    columns["rel_lemma"] = [f"relation of {row[4]}" for row in rows]
    columns["statement_subject"] = [row[0] for row in rows]
    columns["note"] = pd.Series([None if number % 3 == 1 else "x" for number in range(len(rows))], dtype=object)
    frame = pd.DataFrame(columns)
    # Without rows pandas would take texts for numbers.
    frame = frame if rows else frame.astype(object)
    index = KINDS[case["index"]](len(rows))
    frame = frame if index is None else frame.set_axis(index, axis=0)
    before = frame.copy()
    results = []

    def classify(seed):
        settings = {} if seed is None else {"seed": seed}
        try:
            metrics = perform_classification_by_relation_group(frame, *case["flags"], case["position"], **settings)
        except ValueError:
            results.append("refused")
        else:
            results.append(
                [
                    {
                        "keys": sorted(item),
                        "layer": int(item["layer"]),
                        "relation_group_id": item["relation_group_id"],
                        "success_rate": float(item["success_rate"]),
                        "test": int(item["nb_test_examples"]),
                        "train": int(item["nb_train_examples"]),
                    }
                    for item in metrics
                ]
            )

    for seed in case["seeds"]:
        classify(seed)
    plain = [column for column in frame if column not in data]
    unchanged = (
        list(frame.columns) == list(before.columns)
        and list(frame.index) == list(before.index)
        and bool(frame[plain].equals(before[plain]))
        and all(np.array_equal(np.array(list(frame[name])), cells) for name, cells in data.items() if rows)
    )
    if "refilled" in case:
        frame["parametric_object"] = ["Kenya" if number % 4 == 0 else row[1] for number, row in enumerate(rows)]
        classify(case["seeds"][0])
        for name, cells in data.items():
            if case["refilled"] == "in place":
                for cell, other in zip(frame[name], cells[::-1], strict=True):
                    cell[...] = other
            else:
                frame[name] = pd.Series([cell.copy() for cell in cells[::-1]], dtype=object)
        classify(case["seeds"][0])
    return {"metrics": results, "unchanged": unchanged, "drawn": [random.random(), float(np.random.rand())]}
