"""Filters, counter-knowledge, overlaps, prompting, folds and success rates, one function after the other."""

import random

import numpy as np

# Subjects and objects: strings that contain each other, aliases, spellings, and pairs that only look alike.
PAIRS = (
    ("Princeton University Press", "Princeton"),
    ("Princeton", "press of PRINCETON"),
    ("Niger", "Nigeria"),
    ("Croatia's", "Croatian"),
    ("Dukeston", "UK"),
    ("Little Britain Band", "United Kingdom"),
    ("United States Steel", "America"),
    ("Netherlands Antilles", "Holland"),
    ("Holland", "Netherlands Antilles"),
    ("Fiddlesticks", "Violin"),
    ("the Netherlands", "The North"),
    ("Hall (Oslo)", "(Oslo"),
    ("Acme Inc.", "inc."),
    ("Great\tBritain", "UK"),
    ("Martha", "Marhta"),
    ("Dwayne", "Duane"),
    ("Golland", "Netherlands"),
    ("Netherlands", "Golland"),
    ("Louvre", "Paris"),
    ("Zaltor", "Lisbon"),
)
EXAMPLES = (
    "Louvre | Paris / the city of Paris; Prado | Madrid",
    None,
    "# a note: | the owner may change; Instagram | Meta / Facebook; Skype | Microsoft",
    "# all | notes; # are left | out",
    "Great  Britain|Holland/ Low Countries; Zoff | goalkeeper",
    "  The Beatles |  the UK  ;Israel | Judaism;Face | Team",
)
ANSWERS = (
    *("Paris", "the PARIS", "Paris.", "Par", "Paris Texas", "City of Paris", "city", "Madrid", "Prado", "prado's"),
    *("louvre", "Meta", "Facebook", "instagram", "Skype", "owner", "the owner may change", "notes", "out", "nan"),
    *("None", "UK", "Britain", "the Netherlands", "Low Countries", "Keeper", "Zoff", "beatles", "Judaism", "a Team"),
)
COUNTRIES = ("USA", "Great Britain", "Holland", "Norway", "Japan", "Brazil", "Kenya", "Czech Republic", "Peru", "Chad")
VARIANTS = {
    "USA": ("United States", "the united states", "America"),
    "Great Britain": ("UK", "the United Kingdom", "BRITAIN"),
    "Holland": ("the Netherlands", "holland"),
    "Norway": ("norway", "Norway.", "The  Norway"),
    "Czech Republic": ("Czechia", "the Czech Republic"),
}
WIDTHS = {"mlp": 3, "mlp_l1": 5, "mhsa": 4}
SYLLABLES = ("ba", "co", "del", "fe", "gri", "ba", "co")
FLAGS = ((True, False, False), (False, True, True), (True, True, True), (False, False, True), (True, False, True))


def cases(seed):
    generator = np.random.default_rng(seed)
    yield from told(generator)
    yield from shown(generator)
    yield from contradicted(generator)
    yield from shared(generator)
    yield from asked(generator)
    yield from probed(generator)
    yield from averaged(generator)


def labels_of(count, kind):
    """Labels of rows: numbers from 0, numbers that fall, or repeated numbers."""
    return [list(range(count)), [40 - n for n in range(count)], [7 - n // 2 for n in range(count)]][kind]


def drawn_name(generator, most=4):
    return "".join(generator.choice(SYLLABLES, generator.integers(1, most))).capitalize()


def told(generator):
    def case(label, pairs, *ratios, labels=0, **extra):
        others = [pair[0] if generator.random() < 0.5 else "Quixxy" for pair in pairs]
        found = {"pairs": [list(pair) for pair in pairs], "others": others, "ratios": list(ratios)}
        found |= {"name": f"subjects that tell, {label}", "stage": "told", "index": labels_of(len(pairs), labels)}
        return found | extra

    shuffled = [PAIRS[place] for place in generator.permutation(len(PAIRS))]
    yield case("listed", shuffled, None, 1.0, 0.9, 0.7)
    drawn = [(drawn_name(generator), drawn_name(generator)) for _ in range(12)]
    yield case("drawn", drawn, 0.5, 0.6, 0.7, 0.85, 1.0)
    one, two = ("Martha", "Marhta") if generator.random() < 0.5 else ("Dwayne", "Duane")
    yield case("exactly as alike as the ratio", [(one, two), ("Louvre", "Zyx"), (two, one)], [one, two], [two, one])
    yield case("labels that repeat", shuffled[:12], None, labels=2, edge=True)
    yield case("no rows", [], None, edge=True)


def shown(generator):
    def case(label, table, answers, counts, missing=None):
        found = {"table": table, "answers": answers, "counts": counts, "missing": missing}
        return {"name": f"examples, {label}", "stage": "shown"} | found

    order = generator.permutation(len(EXAMPLES))
    answers = [str(name) for name in generator.permutation(ANSWERS)]
    yield case("listed", [EXAMPLES[place] for place in order], answers, [None, 1, 2, 3])
    names = [f"{one}{two}{three}" for one in "bcd" for two in "aeiou" for three in "lmnrt"]
    drawn = [str(name) for name in generator.permutation(names)]
    texts = [f"# {p} | {q}; {r} | {s} / {t}; {u} | {v}" for p, q, r, s, t, u, v in np.reshape(drawn[:28], (4, 7))]
    yield case(
        "drawn",
        [texts[0], None, *texts[1:]],
        [str(name).upper() for name in generator.permutation(drawn[:32])],
        [1, 2, 3],
        float("nan"),
    )


def contradicted(generator):
    def rows(count, relations=2, variants=0.0, tokens=None):
        """Subject, relation, group, object and its tokens, which begin with the one that stands for the object."""
        made = []
        for number in range(count):
            name = str(generator.choice(COUNTRIES))
            written, token = name, 3 + 2 * COUNTRIES.index(name) if tokens is None else tokens[name]
            if generator.random() < variants and name in VARIANTS:
                written, token = str(generator.choice(VARIANTS[name])), int(generator.integers(30, 38))
            following = [int(token) for token in generator.integers(0, 40, generator.integers(0, 3))]
            relation = int(generator.integers(relations))
            made.append(
                [f"Subject {number}", f"relation {relation}", f"group {relation}", written, [token, *following]]
            )
        return made

    def case(label, made, *ks, labels=0, ties=False, **extra):
        values = -np.abs(generator.normal(0, 3, (len(made), 40)))
        found = {"rows": made, "log_probas": np.round(values) if ties else values, "ks": list(ks)}
        found |= {"name": f"counter-knowledge, {label}", "stage": "contradicted"}
        return found | {"index": labels_of(len(made), labels)} | extra

    yield case("drawn", rows(14), 1, 3, 100)
    yield case("other names", rows(16, 2, variants=0.6), 2, 9)
    yield case("ties", rows(14, 1, variants=0.3), 2, 4, ties=True)
    same = {name: 3 + place // 3 for place, name in enumerate(COUNTRIES)}
    yield case("first tokens in common", rows(14, 1, tokens=same), 1, 4)
    own = [("USA", [5]), ("Yemen", [7]), ("the United States", [7]), ("Japan", [9]), ("america", [9, 5]), ("Oman", [5])]
    begun = [[letter, "is in", "geo", *row] for letter, row in zip("ABCDEF", own, strict=True)]
    yield case("answers that begin otherwise", begun, 1, 2, 5)
    places = [("is from", "UK", 4), ("is in", "Great Britain", 6), ("is in", "Kenya", 8), ("is in", "Peru", 10)]
    places += [("is from", "kenya", 12), ("is from", "PERU", 14)]
    elsewhere = [
        [letter, relation, "geo", name, [token]]
        for letter, (relation, name, token) in zip("ABCDEF", places, strict=True)
    ]
    yield case("objects that another relation has first", elsewhere, 1, 3)
    yield case("labels that repeat", rows(10, 2, variants=0.3), 2, labels=2, edge=True)
    yield case("no rows", [], 3, edge=True)


def shared(generator):
    def case(label, rows, labels=0, **extra):
        others = [str(generator.choice(COUNTRIES)) for _ in rows]
        found = {"rows": rows, "others": others, "index": labels_of(len(rows), labels)}
        return {"name": f"overlap, {label}", "stage": "shared"} | found | extra

    def name():
        if generator.random() < 0.6:
            return f"Name{generator.integers(10**6)}"
        chosen = str(generator.choice(COUNTRIES))
        return str(generator.choice(VARIANTS.get(chosen, (chosen,))))

    drawn = [[name(), name(), str(generator.choice(["media", "religion", "geo", "Geo"]))] for _ in range(30)]
    yield case("drawn", drawn)
    roles = [["Oslo", "Kenya", "one"], ["Kenya", "Oslo", "two"], ["Oslo", "Oslo", "two"], ["A", "KENYA", "three"]]
    roles += [["Oslo Bay", "B", "four"], *roles, *drawn[:4]]
    yield case("both roles", [roles[place] for place in generator.permutation(len(roles))])
    missing = [[*row[:2], None if generator.random() < 0.3 else row[2]] for row in drawn]
    missing += [["Oslo", "A", "one"], ["the OSLO", "B", float("nan")], ["C", "B", "two"], ["Oslo's", "Oslo", "one"]]
    yield case("rows without a group", missing, 2, edge=True)
    yield case("no rows", [], edge=True)


def asked(generator):
    words = [str(word) for word in generator.permutation(["ada", "ben", "cor", "dov", "eve", "fay", "gil"])]
    texts = [
        (" ".join(words[:n]), " ".join(words[2 : 2 + m]), " ".join(words[3 : 3 + k])) for n, m, k in np.ndindex(4, 4, 4)
    ]
    chosen = [list(text) for text in texts if all(text)] + [["Eve's Inn", "is (as of now) in", "St. Ives"]]
    yield {
        "name": "places of tokens",
        "stage": "places",
        "texts": [chosen[n] for n in generator.permutation(len(chosen))],
    }
    entities = (("USA", "america", "the United States"), ("Oslo", "OSLO.", "the Oslo"), ("USA Today",), ("Oslo Bay",))
    names = []
    for _ in range(24):
        own, counter, other = (entities[place] for place in generator.permutation(len(entities))[:3])
        answered = (own, counter, other)[generator.integers(3)]
        names.append([str(generator.choice(entity)) for entity in (answered, own, counter)])
    yield {"name": "sources", "stage": "source", "names": names}
    for number in range(3):
        case = {"stage": "asked", "seed": int(generator.integers(2**31)), "index": labels_of(14, number == 2)}
        yield {"name": f"prompting {number}"} | case | ({"edge": True} if number == 2 else {})


def probed(generator):
    def rows(sizes, ck=0.6, nd=0.2, common=0.0):
        """Subject, object, counter-object, source and group of each row. sizes: of the groups."""
        made = []
        for group, size in sizes.items():
            for _ in range(size):
                names = [f"Name{generator.integers(10**6)}" for _ in range(3)]
                for place in range(3):
                    if generator.random() < common:
                        names[place] = str(generator.choice(["Oslo", "the OSLO", "USA", "America", "Kenya"]))
                source = "ND" if generator.random() < nd else "CK" if generator.random() < ck else "PK"
                made.append([*names, source, group])
        return [made[place] for place in generator.permutation(len(made))]

    def case(label, made, flags=FLAGS[0], position="object", seeds=(0,), labels=0, layers=2, **extra):
        found = {"rows": made, "flags": list(flags), "position": position, "seeds": list(seeds), "layers": layers}
        found |= {"noise": int(generator.integers(2**31)), "index": labels_of(len(made), labels)}
        return {"name": f"probes, {label}", "stage": "probed"} | found | extra

    sizes = {"media": 14, "religion": 9, "geo": 17}
    for number, flags in enumerate(FLAGS):
        position = ("first", "object", "subject_query", "relation_query", "object")[number]
        made = rows(sizes, ck=0.35 + 0.1 * number, common=0.04 * (number % 3))
        yield case(f"modules {flags}", made, flags, position, (None, number), layers=1 + number % 3)
    one_source = [[*row[:3], "CK" if row[4] == "z" else row[3], row[4]] for row in rows({"a": 12, "z": 9, "b": 11})]
    yield case(
        "a group of one source",
        [one_source[-1], *[row for row in one_source if row[4] == "z"], *one_source],
        seeds=(3,),
    )
    nowhere = [[*row[:3], "ND" if row[4] == "z" else row[3], row[4]] for row in rows({"z": 8, "m": 12, "a": 11})]
    yield case("a group without labels", nowhere, FLAGS[2], seeds=(2**31 - 1,))
    bridge = rows({"media": 16, "religion": 9, "geo": 15}, nd=0.0)
    bridge = [["the Oslo", *row[1:]] if row[4] == "media" and n % 3 else row for n, row in enumerate(bridge)]
    bridge += [["Oslo", f"Answer {n}", f"Counter {n}", "ND", "geo"] for n in range(3)]
    yield case("entities of rows without a label", bridge)
    none_left = [
        ["oslo", *row[1:]] if row[4] == "a" or row[3] == "PK" else row for row in rows({"a": 10, "b": 12, "c": 9})
    ]
    yield case("nothing left to train on", none_left)
    # Most rows of the first group are not drawn; each names an entity of another group's row all the same.
    often = [[f"E{n}", f"A{n}", f"C{n}", "PK" if n > 14 else "CK", "a"] for n in range(17)]
    often += [[f"S{n}", f"E{n}", f"C{n + 20}", "CK", "b"] for n in range(14)]
    often += [[f"S{n}", f"A{n}", f"C{n}", "CK" if n < 46 else "PK", "b"] for n in range(40, 56)]
    yield case("entities of rows that are not drawn", [often[n] for n in generator.permutation(len(often))])
    yield case("labels that repeat", rows(sizes), seeds=(5,), labels=2, edge=True)
    yield case("no module", rows({"a": 6, "b": 6}), (False, False, False), edge=True)
    yield case("no such position", rows({"a": 6, "b": 6}), position="last", edge=True)


def averaged(generator):
    for layers, groups in ((1, 1), (3, 4), (2, 7)):
        items = []
        for group in range(groups):
            for layer in range(layers):
                count = 2 * int(generator.integers(1, 30))
                rate = float(generator.integers(count + 1)) / count
                item = {"layer": layer + 1, "relation_group_id": f"group {group}", "success_rate": rate}
                items.append(item | {"nb_test_examples": count, "nb_train_examples": int(generator.integers(2, 90))})
        yield {"name": f"success rates, {layers} layers", "stage": "averaged", "items": items}
    sure = {"layer": 3, "relation_group_id": "a", "nb_test_examples": 8, "nb_train_examples": 4}
    items = [sure | {"success_rate": 1.0}, sure | {"success_rate": 0.0, "nb_test_examples": 24}]
    yield {"name": "success rates, all and none", "stage": "averaged", "items": items}


def observe(case):
    stages = {
        "told": observe_told,
        "shown": observe_shown,
        "contradicted": observe_contradicted,
        "shared": observe_shared,
        "places": observe_places,
        "source": observe_source,
        "asked": observe_asked,
        "probed": observe_probed,
        "averaged": observe_averaged,
    }
    found = stages[case["stage"]](case)
    if not case.get("edge"):
        found = {name: value for name, value in found.items() if name not in ("unchanged", "drawn")}
    return found


def kept(frame, before):
    """Whether a frame without arrays is what it was."""
    return bool(frame.equals(before)) and list(frame.index) == list(before.index)


def observe_told(case):
    import pandas as pd
    from src.data import remove_object_subject_overlap
    from src.entities import jaro_winkler, normalise

    columns = {
        "number": list(range(len(case["pairs"]))),
        "statement_object": case["others"],
        "parametric_object": [two for _, two in case["pairs"]],
        "statement_subject": [one for one, _ in case["pairs"]],
    }
    frame = pd.DataFrame(columns, index=case["index"])
    # Without rows pandas would take texts for numbers.
    frame = frame if case["pairs"] else frame.astype(object)
    before, results = frame.copy(), []
    for ratio in case["ratios"]:
        settings = {} if ratio is None else {"string_similarity_ratio": ratio}
        if isinstance(ratio, list):
            settings["string_similarity_ratio"] = jaro_winkler(*map(normalise, ratio))
        left = remove_object_subject_overlap(frame, **settings)
        rows = [int(number) for number in left["number"]]
        results.append({"rows": rows, "index": [str(label) for label in left.index], "columns": list(left.columns)})
    return {"results": results, "unchanged": kept(frame, before)}


def observe_shown(case):
    import pandas as pd
    from src.parametric_knowledge import is_parametric_object_not_in_the_prompt

    texts = [case["missing"] if text is None else text for text in case["table"]]
    columns = {
        "relation": [f"relation {n}" for n in range(len(texts))],
        "object_generation_description": [f"the name of the city {n}" for n in range(len(texts))],
        "generation_examples": pd.Series(texts, dtype=object),
    }
    frame = pd.DataFrame(columns)
    before, found = frame.copy(), []
    for count in case["counts"]:
        settings = {} if count is None else {"nb_examples_shown": count}
        answers = [is_parametric_object_not_in_the_prompt(name, frame, **settings) for name in case["answers"]]
        found.append([bool(answer) for answer in answers])
    return {"found": found, "unchanged": kept(frame, before)}


def observe_contradicted(case):
    import pandas as pd
    from src.data import generate_counter_parametric_knowledge_dataset

    rows = case["rows"]
    columns = {
        "popularity": [0.5 for _ in rows],
        "first_token_log_probas": pd.Series([np.array(row) for row in case["log_probas"]], dtype=object),
        "parametric_object_token_ids": pd.Series([list(row[4]) for row in rows], dtype=object),
        "parametric_object": [row[3] for row in rows],
        "statement_object": ["Norway" for _ in rows],
        "statement_query": [f"{row[0]} {row[1]}" for row in rows],
        "relation_text": [f"text of {row[1]}" for row in rows],
        "relation_group_id": [row[2] for row in rows],
        "rel_lemma": [row[1] for row in rows],
        "statement_subject": [row[0] for row in rows],
    }
    frame = pd.DataFrame(columns).set_axis(case["index"], axis=0)
    before, results = frame.drop(columns="first_token_log_probas"), []
    for k in case["ks"]:
        counter = generate_counter_parametric_knowledge_dataset(frame, k)
        log_probas = [float(value) for value in counter["counter_knowledge_log_proba"]]
        others = [column for column in counter if column != "counter_knowledge_log_proba"]
        cells = {column: [str(value) for value in counter[column]] for column in others}
        labels = {"columns": list(counter.columns), "index": [int(label) for label in counter.index]}
        results.append(labels | {"cells": cells, "log_probas": log_probas})
    arrays = zip(frame.first_token_log_probas, case["log_probas"], strict=True)
    unchanged = kept(frame.drop(columns="first_token_log_probas"), before)
    return {"results": results, "unchanged": unchanged and all(np.array_equal(one, other) for one, other in arrays)}


def observe_shared(case):
    import pandas as pd
    from src.data import return_entity_overlap_between_relation_groups

    rows = case["rows"]
    columns = {
        "relation_group_id": pd.Series([row[2] for row in rows], dtype=object),
        "statement_object": case["others"],
        "parametric_object": [row[1] for row in rows],
        "counter_knowledge_object": case["others"][::-1],
        "statement_subject": [row[0] for row in rows],
    }
    frame = pd.DataFrame(columns).set_axis(case["index"], axis=0)
    before = frame.copy()
    overlap = return_entity_overlap_between_relation_groups(frame)
    counts = [[first, [[second, int(count)] for second, count in row.items()]] for first, row in overlap.items()]
    return {"counts": counts, "unchanged": kept(frame, before)}


def observe_places(case):
    from src.config import POSITIONS
    from src.prompt_model import token_places
    from src.tokenizer import Tokenizer

    tokenizer = Tokenizer([" ".join(text) for text in case["texts"]])
    found = [token_places(*text, tokenizer) for text in case["texts"]]
    return {"places": [[int(places[position]) for position in POSITIONS] for places in found]}


def observe_source(case):
    from src.prompt_model import knowledge_source

    return {"sources": [knowledge_source(*names) for names in case["names"]]}


def observe_asked(case):
    import pandas as pd
    from src.config import MODULES, POSITIONS, Settings, activation_column
    from src.context_knowledge import COUNTER_COLUMNS
    from src.model import TinyModel
    from src.prompt_model import prompt_model_and_store_activations
    from src.tokenizer import Tokenizer

    generator = np.random.default_rng(case["seed"])
    texts = {"lives-in": "lives in", "owned-by": "is owned by"}
    objects = {
        "lives-in": ("USA", "Great Britain", "Holland", "Oslo", "Metro (Vision)"),
        "owned-by": ("Acme", "Czech Republic", "Polaris", "Channel One", "Zenith, Inc"),
    }
    facts = []
    for number in range(7):
        subject = f"{('Museum ', '')[number % 2]}{'BDFGKLM'[number]}{generator.choice(SYLLABLES)}{number}"
        for lemma, names in objects.items():
            fact = {"subject": subject, "rel_lemma": lemma, "object": names[0], "popularity": 1.0}
            strength = float(generator.choice([0.4, 1.6]))
            facts.append(fact | {"learned_object": str(generator.choice(names)), "strength": strength})
    knowledge_base = pd.DataFrame(facts)
    words = [*knowledge_base.subject, *texts.values(), *objects["lives-in"], *objects["owned-by"]]
    settings = Settings(width=32, hidden=40, seed=case["seed"] % 1000)
    model = TinyModel(knowledge_base, texts, set(), Tokenizer(words), settings)
    rows = []
    for number, fact in enumerate(facts):
        known = fact["learned_object"].split(" (")[0].split(",")[0]
        if generator.random() < 0.3:
            known = str(generator.choice([*VARIANTS.get(known, ("Nobody",)), "Nobody"]))
        counter = str(generator.choice(objects[fact["rel_lemma"]]))
        lemma = fact["rel_lemma"]
        row = (5 * number, fact["subject"], lemma, f"group {lemma}", texts[lemma], known, counter, 1 + number % 3, -1.5)
        rows.append(dict(zip(COUNTER_COLUMNS, row, strict=True)))
    frame = pd.DataFrame(rows).set_axis(case["index"], axis=0)
    before = frame.copy()
    results = prompt_model_and_store_activations(frame, model)
    names = [activation_column(module, position) for position in POSITIONS for module in MODULES]
    plain = [column for column in results if column not in names]
    return {
        "columns": list(results.columns),
        "index": [str(label) for label in results.index],
        "cells": {column: [str(value) for value in results[column]] for column in plain},
        "activations": [np.stack(list(results[name])).astype(float).flatten()[::3] for name in names],
        "shapes": [list(results[name].iloc[0].shape) for name in names],
        "unchanged": kept(frame, before),
    }


def observe_probed(case):
    import pandas as pd
    from src.classification.classifier import perform_classification_by_relation_group
    from src.config import MODULES, POSITIONS, activation_column

    rows, generator = case["rows"], np.random.default_rng(case["noise"])
    is_pk = np.array([row[3] == "PK" for row in rows], dtype=float).reshape(-1, 1, 1)
    data = {}
    for position in (*POSITIONS, "last"):
        for module in MODULES:
            cells = generator.normal(size=(len(rows), case["layers"], WIDTHS[module]))
            data[activation_column(module, position)] = cells + 0.8 * generator.normal(size=cells.shape[1:]) * is_pk
    columns = {name: pd.Series([cell.copy() for cell in cells], dtype=object) for name, cells in data.items()}
    columns["relation_group_id"] = [row[4] for row in rows]
    columns["knowledge_source"] = pd.Series([row[3] for row in rows], dtype=object)
    for place, name in enumerate(("statement_subject", "parametric_object", "counter_knowledge_object")):
        columns[name] = [row[place] for row in rows]
    frame = pd.DataFrame(columns).set_axis(case["index"], axis=0)
    plain = [column for column in frame if column not in data]
    before, results = frame[plain].copy(), []
    for seed in case["seeds"]:
        settings = {} if seed is None else {"seed": seed}
        try:
            metrics = perform_classification_by_relation_group(frame, *case["flags"], case["position"], **settings)
        except ValueError:
            results.append("refused")
            continue
        results.append(
            [
                {name: value if isinstance(value, str) else float(value) for name, value in item.items()}
                for item in metrics
            ]
        )
    arrays = all(np.array_equal(np.array(list(frame[name])), cells) for name, cells in data.items() if rows)
    unchanged = list(frame.columns) == list(columns) and kept(frame[plain], before) and arrays
    return {"metrics": results, "unchanged": unchanged, "drawn": [random.random(), float(np.random.rand())]}


def observe_averaged(case):
    from src.evaluation import success_rates

    found = success_rates([dict(item) for item in case["items"]])
    return {"rates": [[int(layer), *map(float, values)] for layer, values in sorted(found.items())]}
