"""remove_object_subject_overlap: which rows are left, under several ratios, how they are labelled; the experiment."""

import numpy as np

# Subjects and objects: strings that contain each other, aliases, spellings, and pairs that only look alike.
PAIRS = (
    ("Princeton University Press", "Princeton"),
    ("Niger", "Nigeria"),
    ("Croatia", "Croatian"),
    ("Croatia's", "Croatian"),
    ("PRINCETON PRESS", "princeton"),
    ("press of princeton", "PRINCETON"),
    ("Dukeston", "UK"),
    ("Dukeston", "Great Britain"),
    ("Little Britain Band", "United Kingdom"),
    ("United States Steel", "USA"),
    ("United States Steel", "America"),
    ("American Samoa", "United States of America"),
    ("Thousand Oaks", "USA"),
    ("Holland", "Netherlands Antilles"),
    ("Netherlands Antilles", "Holland"),
    ("holland", "the Netherlands"),
    ("Czech Republic", "Czechs"),
    ("Czechlands", "Czechia"),
    ("Deutsch", "Germany"),
    ("Germany", "Deutsch"),
    ("Fiddlesticks", "Violin"),
    ("Violinist", "fiddle"),
    ("Keeper", "Goalies"),
    ("the Netherlands", "The North"),
    ("The Zulu", "the Oboe"),
    ("An Oslo", "an Arte"),
    ("The Hague", "hag"),
    ("Theory", "The"),
    ("Norway's", "norway"),
    ("Little   Oslo", "Little Oslo"),
    ("Great\tBritain", "UK"),
    ("Acme Inc.", "inc."),
    ("BRASILIA", "Brazil"),
    ("brasilia", "BRAZIL"),
    ("Louvre", "Paris"),
    ("Zaltor", "Lisbon"),
    ("Oslo", "Oslo"),
    ("a", "A band"),
    ("Martha", "Marhta"),
    ("Dixon", "Dicksonx"),
    ("Dwayne", "Duane"),
    ("Crate", "Trace"),
    ("Golland", "Netherlands"),
    ("Brittain", "UK"),
    ("The Nile", "He"),
    ("An Ibis", "n ib"),
    ("Ubsol Works", "U.S"),
    ("Hall (Oslo)", "(Oslo"),
    ("The A Team", "Steam"),
    ("The an Art", "Party"),
    ("Oslo .", "Oslox"),
    # What stands across two of the other's forms, were these put side by side.
    ("Holland", "S Holl"),
    ("Holland", "D Neth"),
    ("Germany", "Y Deut"),
    ("Czechia", "A Czech R"),
)
# Names of which each has others.
KNOWN = ("USA", "UK", "Holland", "Czechia", "Deutsch", "Fiddle", "Keeper")
SYLLABLES = ("ba", "co", "del", "fe", "gri", "ba", "co")
KINDS = {
    "default": lambda count: None,
    "words": lambda count: [f"row {number}" for number in range(count)],
    "repeated": lambda count: [number // 3 for number in range(count)],
    "backwards": lambda count: list(range(count, 0, -1)),
    "all alike": lambda count: [7] * count,
}


def cases(seed):
    generator = np.random.default_rng(seed)

    def name(most=4):
        return "".join(generator.choice(SYLLABLES, generator.integers(1, most))).capitalize()

    def case(label, pairs, *ratios, index="default", more=()):
        # The object of the knowledge base tells, or doesn't tell, what the model's own does not.
        others = [pair[0] if generator.random() < 0.5 else "Quixxy" for pair in pairs]
        return {
            "name": label,
            "pairs": [list(pair) for pair in pairs],
            "others": others,
            "ratios": ratios,
            "index": index,
            "more": list(more),
        }

    for one, two in PAIRS:
        yield case(f"{one} and {two}", [(one, two), ("Louvre", "Zyx"), (two, one)], None, 1.0, 0.95, 0.9, 0.7)
    for one in KNOWN:
        yield case(f"{one} and all that have other names", [(one, two) for two in KNOWN], 0.5, 0.55, 0.6, 0.65)
    shuffled = [PAIRS[place] for place in generator.permutation(len(PAIRS))]
    for kind in KINDS:
        yield case(f"index {kind}", shuffled, None, 0.75, index=kind)
    for number in range(4):
        drawn = [(name(), name()) for _ in range(30)]
        yield case(f"drawn {number}", drawn, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.85, 0.9, 1.0)
    drawn = [(f"{name()} {name(3)}", f"{name(3)} {name()}") for _ in range(30)]
    yield case("two words", drawn, 0.5, 0.62, 0.74, None)
    for one, two in (("Martha", "Marhta"), ("Dwayne", "Duane"), ("Crate", "Trace"), ("Dicksonx", "Dixon")):
        yield case(f"exactly as alike as the ratio, {one}", [(one, two), ("Louvre", "Zyx")], [one, two], [two, one])
    for number in range(2):
        one, two = name(), name()
        signs = [
            (f"{one}x{two} Hall", f"{one}.{two}"),
            (f"{one}.{two} Hall", f"{one}.{two}"),
            (f"{one}{one[-1]}{two} Hall", f"{one}+{two}"),
            (f"{one} Hall", f"{one}|Quito"),
            (f"Hall {one}", f"({one})"),
            (f"Hall [{one}", f"[{one}"),
            (f"{one}?x", f"Hall {one}?x*"),
        ]
        yield case(f"signs {number}", [*signs, ("Louvre", "Zyx")], 1.0)
        articles = [(f"The {one}", "He"), (f"the {one}", "th"), (f"{one} the {two}", "The"), ("the", f"A {one}")]
        yield case(f"articles {number}", articles, 1.0)
    for more in (["index"], ["level_0", "index"], ["overlap", "subject", "keep", "similarity"]):
        yield case(f"columns named {more}", shuffled[:20], None, 0.9, index="words", more=more)
    yield case("no rows", [], None, 0.9)
    yield case("no rows, words", [], None, index="words")
    yield case("all left", [("Louvre", "Zyx"), ("Zaltor", "Quix")], None, index="words")
    yield case("none left", [("Oslo", "Oslo"), ("Niger", "Nigeria")], None, 0.95, index="repeated")
    yield case("one row", [("Louvre", "Paris")], None)
    yield case("rows repeated", [("Louvre", "Paris"), ("Oslo", "oslo")] * 3, None)
    long = "Xy " * 19 + "Qu"
    yield case("long names", [(long, "Xy Qu"), (long, "Vw Ab"), (long[::-1], long)], None)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    import pandas as pd
    from src.data import remove_object_subject_overlap
    from src.entities import jaro_winkler, normalise

    count = len(case["pairs"])
    frame = pd.DataFrame(
        {
            "number": list(range(count)),
            "statement_object": case["others"],
            "parametric_object": [two for _, two in case["pairs"]],
            "first_token_log_probas": [np.full(2, float(number)) for number in range(count)],
            "statement_subject": [one for one, _ in case["pairs"]],
            "remark": [None if number % 3 == 0 else "x" for number in range(count)],
            **{column: [f"{column} {number}" for number in range(count)] for column in case["more"]},
        },
        index=KINDS[case["index"]](count),
    )
    # Without rows pandas would take texts for numbers.
    frame = frame if count else frame.astype(object)
    before = frame.copy()
    results = []
    for ratio in case["ratios"]:
        settings = {}
        if ratio is not None:
            is_pair = not isinstance(ratio, float)
            settings["string_similarity_ratio"] = jaro_winkler(*map(normalise, ratio)) if is_pair else ratio
        left = remove_object_subject_overlap(frame, **settings)
        results.append(
            {
                "rows": [int(number) for number in left["number"]],
                "index": [str(label) for label in left.index],
                "columns": list(left.columns),
                "subjects": list(left["statement_subject"]),
                "objects": list(left["parametric_object"]),
                "more": [list(left[column]) for column in case["more"]],
            }
        )
    unchanged = frame.drop(columns="first_token_log_probas").equals(before.drop(columns="first_token_log_probas"))
    kept_index = list(frame.index) == list(before.index) and list(frame.columns) == list(before.columns)
    return {"results": results, "unchanged": bool(unchanged and kept_index)}
