"""is_parametric_object_not_in_the_prompt: names beside tables of examples, shown or not; then the experiment."""

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
SYLLABLES = ("ba", "cor", "del", "fen", "gri", "lum", "nov", "tas", "vor", "yx")


def cases(seed):
    generator = np.random.default_rng(seed)

    def one_of(options):
        return options[generator.integers(len(options))]

    def name():
        return "".join(generator.choice(SYLLABLES, 3)).capitalize()

    def spelled(text):
        """A name in another spelling: of case, articles, white space and endings."""
        return one_of((str.upper, str.lower, "the {}".format, "A  {}".format, "{}'s".format, "{}.".format))(text)

    def example(aliased=0.3, more=0.4):
        """A subject, and one or more names of its object."""
        names = [str(one_of(one_of(ALIASES))) if generator.random() < aliased else name() for _ in range(2)]
        return [*names, *(f"{name()} {name()}" for _ in range(2) if generator.random() < more)]

    def written(examples):
        """Examples as a relation's text, with white space here and there."""
        bar, stroke, end = (one_of((sign, f" {sign} ", f" {sign}")) for sign in "|/;")
        return end.join(f"{subject}{bar}{stroke.join(objects)}" for subject, *objects in examples)

    def asked(table):
        """Names to ask for: those of the examples as they are, spelled or called otherwise, and parts of them."""
        names = [name for examples in table for example in examples for name in example]
        groups = {name: group for group in ALIASES for name in group}
        others = [one_of(groups[name]) for name in names if name in groups]
        parts = [one_of((name[:-1], name[1:], f"{name} Bay", f"New{name.lower()}")) for name in names[::4]]
        words = [one_of(name.split()) for name in names if " " in name][:4]
        return [
            *map(str, names),
            *map(spelled, names),
            *others,
            *map(spelled, others),
            *parts,
            *words,
            name(),
            "None",
            "nan",
        ]

    def case(label, texts, names, *counts, edge=False, **extra):
        """counts: of examples that are shown, None for the default."""
        names = [names[place] for place in generator.permutation(len(names))]
        found = {"name": label, "texts": texts, "names": names, "counts": list(counts), **extra}
        return found | {"edge": True} if edge else found

    def drawn(label, sizes, *counts, **extra):
        """A table of as many examples, of which every relation with 0 has none."""
        table = [[example() for _ in range(size)] for size in sizes]
        texts = [written(examples) if examples else None for examples in table]
        return case(label, texts, asked(table), *counts, **extra)

    for number in range(5):
        sizes = [int(size) for size in generator.integers(1, 5, 3)]
        yield drawn(f"drawn {number}", sizes, None, int(generator.integers(2, 5)))
    for count in (1, 2, 3, 4):
        yield drawn(f"{count} of four examples", [4, 4], count)
    for number in range(2):
        yield drawn(f"one relation {number}", [int(generator.integers(2, 5))], None, 2)
        yield drawn(f"relations without examples, None {number}", [2, 0, 3, 0, 1], None, 2)
        yield drawn(f"relations without examples, NaN {number}", [0, 2, 0, 3], None, 3, missing="nan")
        table = [[[spelled(word) for word in example(0.8, 0)] for _ in range(3)] for _ in range(2)]
        yield case(f"spellings in the examples {number}", list(map(written, table)), asked(table), 1, 2)
        table = [[example(0, 1) for _ in range(3)] for _ in range(2)]
        yield case(f"further names of objects {number}", list(map(written, table)), asked(table), None, 2)
        table = [[example() for _ in range(4)] for _ in range(2)]
        notes = [f"# a note: | {name()}", f"# {name()} | {name()}", f"#{name()}|{name()} / {name()}"]
        texts = [f"{notes[n]}; {written(table[n][:2])};{notes[2]}; {written(table[n][2:])}" for n in range(2)]
        words = [word for note in notes for word in note.strip("# ").replace("/", "|").split(" | ")]
        yield case(f"notes {number}", texts, [*asked(table), *words], 1, 2, 3)
        repeated, other = example(), example()
        texts = [written([repeated, repeated, other]), written([other, repeated])]
        yield case(f"equal examples {number}", texts, asked([[repeated, other]]), 1, 2, 3)
        table = [[example(0, 0)] for _ in range(3)]
        described = [f"the name of the {name()} of the subject" for _ in table]
        words = [*asked(table), *described, *(text.split()[4] for text in described), "group 0", "relation 1", "is in"]
        yield case(
            f"words besides the examples {number}", list(map(written, table)), words, None, descriptions=described
        )
    yield {"name": "experiment", "seed": seed % 1000}

    for number in range(2):
        yield drawn(f"no example shown {number}", [3, 2], 0, edge=True)
        yield drawn(f"fewer examples than shown {number}", [3, 1, 2], 5, 10, edge=True)
        yield drawn(f"the labels are words {number}", [2, 1, 3], 1, 2, labels=["one", "two", "three"], edge=True)
        yield drawn(f"the labels repeat {number}", [2, 0, 3], 1, 2, labels=[4, 4, 4], missing="nan", edge=True)
        names = [word for _ in range(2) for word in example(0, 0)]
        texts, later = [written([names[:2]]), None], [None, written([names[2:]])]
        yield case(f"other examples in the same frame {number}", texts, asked([[names]]), 1, later=later, edge=True)
    yield case("no rows", [], ["None", name()], None, edge=True)
    yield case("no examples", [None, None], ["None", "nan", name()], None, 2, edge=True)
    yield case("no examples, numbers", [None, None], ["None", "nan", name()], None, 2, missing="float", edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    import pandas as pd
    from src.parametric_knowledge import is_parametric_object_not_in_the_prompt

    missing, count = case.get("missing"), len(case["texts"])
    dtype = float if missing == "float" else object

    def column(texts):
        return pd.Series([float("nan") if text is None and missing else text for text in texts], dtype=dtype)

    described = case.get("descriptions", [f"description {number}" for number in range(count)])
    columns = {
        "generation_examples": column(case["texts"]),
        "object_generation_description": described,
        "relation_text": ["is in" for _ in range(count)],
        "relation_group_id": [f"group {number}" for number in range(count)],
        "relation": [f"relation {number}" for number in range(count)],
    }
    frame = pd.DataFrame(columns).set_axis(case.get("labels", range(count)), axis=0)
    answers, unchanged = [], []
    for texts in (None, *([case["later"]] if "later" in case else [])):
        if texts is not None:
            frame["generation_examples"] = column(texts)
        before = frame.copy()
        for shown in case["counts"]:
            settings = {} if shown is None else {"nb_examples_shown": shown}
            found = [is_parametric_object_not_in_the_prompt(name, frame, **settings) for name in case["names"]]
            answers.append([bool(answer) if isinstance(answer, bool | np.bool_) else repr(answer) for answer in found])
        unchanged.append(frame.equals(before) and frame.index.equals(before.index))
    return {"answers": answers, "unchanged": unchanged} if case.get("edge") else {"answers": answers}
