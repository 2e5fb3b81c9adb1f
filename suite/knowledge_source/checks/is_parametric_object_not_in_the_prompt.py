"""is_parametric_object_not_in_the_prompt: objects beside tables of examples, shown or not; then the experiment."""

import numpy as np

TABLE = (
    "Louvre | Paris / the city of Paris; Prado | Madrid",
    "Mozart | Austria; Curie | Poland; Obama | USA",
    None,
    "# a note: | the owner may change; Instagram | Meta / Facebook; Skype | Microsoft",
    "# all | notes; # are left | out",
    "Great  Britain|Holland/ Low Countries",
    "  The Beatles |  the UK  ;Israel | Judaism",
    "Zoff | goalkeeper; Menuhin | Violin / Guarneri; Bach | Organ",
    "no example at all",
    "King's | Cross.; Eve's|an Apple",
    "Face | Team; Peck | The A Band; Face | Team",
    "Capitol | Washington, D.C.; Hermitage | St. Petersburg; Parliament (Ontario) | Ottawa (city)",
    "C# | Redmond; Java | Sun; AC/DC | Sydney",
    "Vienna | Ostmark | Marches / Eastern March | Alps; Saint Saint Saint Saint Saint Bartholomew"
    " | the great Valley of the Long and Winding River",
)
OBJECTS = (
    (
        "Paris",
        "paris",
        " PARIS ",
        "the Paris",
        "Paris.",
        "Par",
        "Paris Texas",
        "City of Paris",
        "the city  of paris",
        "city",
    ),
    ("Madrid", "Prado", "prado", "MADRID", "Louvre", "the louvre", "louvre's", "Lou"),
    ("Mozart", "Austria", "Curie", "Poland", "Pol", "AUSTRIAN", "USA", "United States", "America", "Obama", "obama"),
    ("Meta", "Facebook", "Instagram", "the owner may change", "owner", "Skype", "microsoft", "all", "notes", "out"),
    ("UK", "United Kingdom", "great britain", "Britain", "Netherlands", "Holland", "the netherlands", "low countries"),
    ("Beatles", "the beatles", "a Beatles", "Israel", "Judaism", "Low", "Countries", "Kingdom"),
    ("Goalie", "Keeper", "GOALKEEPER", "goal", "Zoff", "fiddle", "violin", "Guarneri", "organ", "Organ.", "Bach"),
    ("King", "king's", "Cross", "cross.", "Crossing", "Apple", "an apple", "Eve", "apples", "no example at all"),
    ("the A Team", "A Team", "team", "A Band", "the A Band", "Band", "a the A Band", "Peck"),
    ("Washington, D.C.", "Washington", "washington, d.c", "St. Louis", "St", "st. petersburg", "Ottawa (city)"),
    ("C#", "C", "Java", "sun", "AC", "DC", "ac/dc", "Redmond", "Parliament", "Parliament (Ontario)", "Sydney"),
    (
        "Ostmark",
        "Marches",
        "Ostmark | Marches",
        "Eastern March | Alps",
        "Alps",
        "Saint Saint Saint Saint Saint Bartholomew",
        "Saint Saint Saint Saint Saint Barnabas",
        "Saint Saint Saint Saint Saint Ba",
        "great Valley of the Long and Winding River",
        "great Valley of the Long and Winding Road",
    ),
    ("Nowhere", "the name of the city", "relation 0", "group 0", "is in", "description 3", "None", "nan", "no"),
)
KINDS = {"default": None, "words": "row", "repeated": 4}


def cases(seed):
    generator = np.random.default_rng(seed)

    def case(label, objects, table=TABLE, shown=(None, 2, 10), missing="none", index="default", **extra):
        return {
            "name": label,
            "objects": list(objects),
            "table": list(table),
            "shown": list(shown),
            "missing": missing,
            "index": index,
            **extra,
        }

    for number, objects in enumerate(OBJECTS):
        yield case(f"objects {number}", objects)
        yield case(f"objects {number}, other counts", objects[::2], shown=(1, 3, 0))
    everything = [name for objects in OBJECTS for name in objects]
    for missing in ("none", "nan"):
        order = generator.permutation(len(TABLE))
        yield case(
            f"rows in another order, {missing}", everything[::2], [TABLE[place] for place in order], (1, 2), missing
        )
    for index in KINDS:
        yield case(f"index {index}", everything[::5], shown=(1, 4), index=index)
    for place, text in enumerate(TABLE):
        yield case(f"row {place} alone", everything[place % 3 :: 3], [text], (None, 2), "nan" if place % 2 else "none")
    yield case("no rows", ["Paris", "None"], [])
    yield case("no examples", ["Paris", "None", "nan"], [None, None])
    yield case("no examples, nan", ["Paris", "None", "nan"], [None, None], missing="nan")
    names = [f"{one}{two}{three}" for one in "bcd" for two in "aeiou" for three in "lmnrt"]
    for number in range(4):
        drawn = [str(name) for name in generator.permutation(names)]
        texts = []
        for row in range(4):
            part = drawn[16 * row : 16 * row + 16]
            items = [f"{part[4 * item]} | {part[4 * item + 1]} / {part[4 * item + 2]}" for item in range(4)]
            items.insert(int(generator.integers(5)), f"# {part[3]} | {part[7]}")
            texts.append(";".join(items))
        yield case(f"drawn {number}", [name.upper() for name in drawn[number::4]], texts, (1, 2, 3, 4, 9))
    for number in range(2):
        one, two, three, four = (str(name).capitalize() for name in generator.permutation(names)[:4])
        again = f"{one} | {two}; {one} | {two}; {three} | {four}"
        yield case(f"equal examples {number}", [one, two, three, four], [again, f"{one} | {two}"], (1, 2, 3))
        yield case(
            f"the same frame with other examples {number}",
            [one, two, three, four],
            [f"{one} | {two}", None],
            (1,),
            later=[None, f"{three} | {two}"],
        )
    yield case("no examples, floats", ["Paris", "None", "nan"], [None, None], missing="nan", dtype="float64")
    many = "; ".join(f"S{number} | O{number}" for number in range(14))
    yield case("many examples", ["S0", "O0", "O9", "S9", "S10", "O10", "O13"], [many, "Louvre | Paris"], (0, 1, 9, 10))
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    import pandas as pd
    from src.parametric_knowledge import is_parametric_object_not_in_the_prompt

    missing = None if case["missing"] == "none" else float("nan")
    texts = [missing if text is None else text for text in case["table"]]
    count = len(texts)
    kind = KINDS[case["index"]]
    index = None if kind is None else [f"row {n}" if kind == "row" else kind for n in range(count)]
    frame = pd.DataFrame(
        {
            "generation_examples": pd.Series(texts, dtype=case.get("dtype", object)),
            "object_generation_description": [f"the name of the city and description {n}" for n in range(count)],
            "relation_text": ["is in" for _ in range(count)],
            "relation_group_id": [f"group {n}" for n in range(count)],
            "relation": [f"relation {n}" for n in range(count)],
        }
    )
    frame = frame if index is None else frame.set_axis(index, axis=0)
    answers, unchanged = [], []
    for texts in (case["table"], *([case["later"]] if "later" in case else [])):
        if unchanged:
            frame["generation_examples"] = pd.Series(texts, dtype=object)
        before = frame.copy()
        for shown in case["shown"]:
            settings = {} if shown is None else {"nb_examples_shown": shown}
            found = [is_parametric_object_not_in_the_prompt(name, frame, **settings) for name in case["objects"]]
            answers.append([answer if isinstance(answer, bool) else repr(answer) for answer in found])
        unchanged.append(bool(frame.equals(before)) and list(frame.index) == list(before.index))
    return {"answers": answers, "unchanged": unchanged}
