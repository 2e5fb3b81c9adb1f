"""From values to the mean similarity: obfuscations, recovery, attack, random entities, embedding, levels, the mean."""

from zlib import crc32

import numpy as np

NAMES = ("age", "work class", "owns house", "native-country", "Income")
KNOWN = ("bachelors", "Masters", "some", "College", "HIGH", "farming", "no", "Without", "oPerator", "pay")
UNKNOWN = (
    "Ada",
    "OTTAWA",
    "tech-supp",
    "aisle",
    "w2",
    "Xi",
    "rythm",
    "b",
    "Iowa",
    "EUrope",
    "10,500",
    "cleaners",
    "u.s.",
    "a_b_o",
)
SYMBOLS = ("🎓", "🎓🎓", "⬆️", "👷", "🏛️", "🏢", "Ott", "✅", "➕", "grsp", "🔬")


def cases(seed):
    generator = np.random.default_rng(seed)

    def number():
        return int(generator.integers(10**6))

    def words(pool, count):
        return [str(item) for item in generator.choice(pool, count)]

    def value():
        return f"{' '.join(words(KNOWN + UNKNOWN, 2))} {number()}"

    def line(feature=None, text=None):
        return (
            f"Feature: {words(NAMES, 1)[0] if feature is None else feature}, Value: {value() if text is None else text}"
        )

    def table(rows, levels):
        pool = [(words(NAMES, 1)[0], value()) for _ in range(levels)]
        return [[pool[place] for place in generator.integers(levels, size=4)] for _ in range(rows)]

    for kind in ("symbols", "tokens"):
        values = [" ".join(words(pool, count)) for pool in (KNOWN, UNKNOWN, KNOWN + UNKNOWN) for count in (1, 2, 4)]
        values += [" ".join("Abcdefghij"[:length] for length in range(1, 11)), "  Yes \t Iowa\nno  "]
        yield {"name": kind, "kind": kind, "values": values + list(KNOWN + UNKNOWN), "seed": number()}
    texts = [" ".join(words(SYMBOLS, count)) for count in (1, 1, 2, 3, 5)] + ["  🎓\t Ott \n 🔧 "]
    yield {"name": "readings", "kind": "readings", "texts": texts * 3, "seed": number()}
    for chances in (None, (0.0, 0.0), (0.0, 1.0), (1.0, 0.5), (0.5, 0.6), (0.15, 0.85)):
        given = {} if chances is None else {"unable": chances[0], "hasty": chances[1]}
        yield {"name": f"answers, {given}", "kind": "answers", "texts": texts * 4, "chances": given, "seed": number()}
    for rows in (1, 6):
        yield {"name": f"attack on {rows} rows", "kind": "attack", "table": table(rows, 5)}
    for count in (None, 1, 3, 8):
        levels = table(30, 9) + [[(name, "Yes")] for name in NAMES[: 4 if count == 8 else 2]]
        yield {"name": f"{count} random entities", "kind": "random", "table": levels, "count": count, "seed": number()}
    texts = [value(), value(), "Yes", "YES", "a", "Éire straße ²", "under_scored", "the the THE", "x. y,x"]
    texts += ["aaaaaa", "no-one's", "  two\twords\n", "日本 語", " ".join(words(KNOWN, 9)), "<no>", f"{number()}"]
    yield {"name": "embedding", "kind": "embedding", "texts": texts}
    yield {"name": "embedding of one text", "kind": "embedding", "texts": [value()]}

    last = line()
    texts = {
        "a line": [line(), line(), line()],
        "several": [f"{line()}\nOr rather:\n{line()}\nNo:\n{last}", f"{last}\nThat is it.\n"],
        "spaces": [
            f" \tFeature \t: {words(NAMES, 1)[0]} \t,\t Value\t : {value()} \t",
            f"Feature:a b,Value:{number()}",
        ],
        "capitals": [f"fEATURE: {words(NAMES, 1)[0]}, VALUE: {value()}", f"feature: A b, value: {value()}"],
        "half a form": [
            f"{last}\nValue: {value()}",
            "Feature: age",
            f"Features: a, Value: {value()}",
            f"Feature; a, Value: {value()}",
            "",
        ],
    }
    for name, items in texts.items():
        yield {"name": f"levels, {name}", "kind": "levels", "texts": items}

    def mean(name, pairs, **extra):
        return {"name": f"mean, {name}", "kind": "mean", "pairs": pairs, "embedding": number(), **extra}

    def pairs(count):
        return [(line(), line()) for _ in range(count)]

    often, alike = line(), value()
    yield mean("one pair", pairs(1))
    yield mean("many", pairs(12))
    yield mean("not recovered", [*pairs(3), (line(), "I can't recover this."), (line(), "")])
    yield mean("after chatter", [(line(), f"{line()}\nOr rather:\n{line()}\nI think.") for _ in range(3)])
    yield mean("attacked often", [*pairs(2), *((often, line()) for _ in range(5)), (often, "No."), *pairs(1)])
    yield mean("other names", [(line("age", alike), line("Income", alike)), *pairs(2)])
    yield mean("values of two features", [(line(name, "Yes"), line()) for name in ("age", "Income", "age", "age")])
    yield mean("no pairs", [])
    yield mean("an original without a level", [*pairs(2), ("17 to 25", line())])

    texts = {
        "colons": [line(feature=f"hours: {number()}"), line(text=f": {value()}:"), line(feature="value: Feature")],
        "underscores": [f"Feature: _{number()}_, Value: _{number()}_", line(text="_")],
        "commas": [line(text=f"{value()}, {value()}"), line(text=line()), f"{last}\nFeature: a, b, Value: {value()}"],
        "words around": [f"{last}\nAnswer: {line()}", f"{last}\n- {line()}", f"{last}\nFeature: a, its Value: b"],
        "other separators": [f"{last}\nFeature: a; Value: b", f"{last}\nFeature: a,\nValue: b"],
        "no name": [f"{last}\nFeature:, Value: {value()}", f"{last}\nFeature, Value: {value()}"],
        "no value": [line(text=""), line(text=" \t "), f"{last}\n{line(text='')}", f"{last}\n{line(text='')}\nOh"],
        "no form after a level": [f"{last}\nFeature: age, Value", f"{last}\nFeature: age", f"{last}\n: a, Value: b"],
        "other line ends": [f"{line()}\r\n{last}\r\nx\r\n"],
    }
    for name, items in texts.items():
        yield {"name": f"levels, {name}", "kind": "levels", "texts": items, "edge": True}
    no_words = [(line(text="--"), line()), (line(), line(text="?!")), (line(text="?"), line(text="?"))]
    yield mean("of no word", [*pairs(2), *no_words], edge=True)
    yield mean("no value recovered", [*pairs(2), (line(), line(text=" "))], edge=True)
    yield mean("an original without a value", [(line(text=""), line()), *pairs(1)], edge=True)
    yield {"name": "no rows", "kind": "attack", "table": [], "edge": True}
    for kind, key in (("symbols", "values"), ("tokens", "values"), ("readings", "texts"), ("embedding", "texts")):
        yield {"name": f"{kind}, no words", "kind": kind, key: ["", value(), " ", "--"], "seed": number(), "edge": True}


def observe(case):
    return {
        "symbols": symbols, "tokens": tokens, "readings": readings, "answers": answers, "attack": attacked,
        "random": random, "embedding": embedded, "levels": levels, "mean": mean,
    }[case["kind"]](case)  # fmt: skip


def symbols(case):
    from emojiprompt.obfuscation import to_symbols

    return [to_symbols(value) for value in case["values"]]


def tokens(case):
    from emojiprompt.obfuscation import perturb_tokens

    generator = np.random.default_rng(case["seed"])
    return {"tokens": [str(perturb_tokens(value, generator)) for value in case["values"]], "next": generator.random()}


def readings(case):
    from emojiprompt.recovery import Recoverer

    generator = np.random.default_rng(case["seed"])
    recoverer = Recoverer(generator)
    return {"readings": [str(recoverer._read(text)) for text in case["texts"]], "next": generator.random()}


def answers(case):
    from emojiprompt.recovery import Recoverer

    generator, found = np.random.default_rng(case["seed"]), []
    recoverer = Recoverer(generator, **case["chances"])
    for number, text in enumerate(case["texts"]):
        said = str(recoverer.recover(NAMES[number % len(NAMES)], text)).split("\n")
        named = [line for line in said if line.startswith("Feature")]
        # A model that gives up says so, and nothing else; another ends with a level. The rest is free.
        found.append({"named": named, "last": said[-1], "gave_up": "" if named else "\n".join(said)})
    return {"answers": found, "next": generator.random()}


def table_of(case):
    from emojiprompt.features import Level

    return [[Level(*level) for level in row] for row in case["table"]]


def attacked(case):
    from emojiprompt.attack import attack

    calls = []

    def obfuscate(value):
        calls.append(value)
        return f"{value[::-1]} {len(calls)}"

    class Echo:
        def recover(self, feature, obfuscated):
            calls.append([feature, obfuscated])
            return f"{obfuscated} of {feature}, {len(calls)}"

    table = table_of(case)
    found = attack(table, obfuscate, Echo())
    return {"pairs": [list(pair) for pair in found], "calls": calls, "unchanged": table == table_of(case)}


def random(case):
    from emojiprompt.attack import random_entities

    generator, table = np.random.default_rng(case["seed"]), table_of(case)
    found = random_entities(table, generator, **({} if case["count"] is None else {"count": case["count"]}))
    unchanged = table == table_of(case)
    return {"pairs": [list(pair) for pair in found], "next": generator.random(), "unchanged": unchanged}


def embedded(case):
    from emojiprompt.embedding import embed

    texts = list(case["texts"])
    return {"vectors": np.asarray(embed(texts), dtype=np.float64), "unchanged": texts == case["texts"]}


def levels(case):
    from emojiprompt.similarity import parse_level

    found = [parse_level(text) for text in case["texts"]]
    return [None if level is None else [level.feature, level.value] for level in found]


def mean(case):
    from emojiprompt.similarity import compute_mean_cosine_similarity

    returned = []

    def embed(texts):
        vectors = np.zeros((len(texts), 5))
        for vector, text in zip(vectors, texts, strict=True):
            if any(letter.isalnum() for letter in text):
                own = np.random.default_rng([case["embedding"], crc32(text.encode())])
                vector[:] = own.uniform(0.2, 5) * (own.normal(size=5) + 0.4)
        returned.append((vectors, vectors.copy()))
        return vectors

    pairs = list(case["pairs"])
    try:
        similarity = compute_mean_cosine_similarity(pairs, embed)
    except ValueError:
        return {"refused": True}
    unchanged = pairs == case["pairs"] and all(np.array_equal(vectors, kept) for vectors, kept in returned)
    return {"mean": similarity, "float": isinstance(similarity, float), "unchanged": unchanged}
