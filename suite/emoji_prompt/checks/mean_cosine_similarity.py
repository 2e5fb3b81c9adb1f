"""mean_cosine_similarity: levels read out of answers, means over entities, and what is refused; then the experiment."""

from zlib import crc32

import numpy as np

FEATURES = ("age", "work class", "owns house", "native-country", "Income")
WORDS = ("Yes", "No", "Private company", "Never married", "17 to 25", "Some college", "Sales", "Craft, repair", "Éire")


def cases(seed):
    generator = np.random.default_rng(seed)

    def one(words):
        return str(generator.choice(words))

    def value():
        return f"{one(WORDS)} {generator.integers(1000)}"

    def line(feature=None, text=None):
        return f"Feature: {one(FEATURES) if feature is None else feature}, Value: {value() if text is None else text}"

    last = line()
    texts = {
        "a line": line(),
        "after chatter": f"Let me think.\n{value()}?\n{line()}",
        "before chatter": f"{line()}\nThat is my answer, Value: {value()}.",
        "the last of several": f"{line()}\nOr rather:\n{line()}\nNo:\n{last}",
        "spaces": f"  Feature:   {one(FEATURES)}  ,   Value:  {value()}   ",
        "no spaces": f"Feature:{one(FEATURES)},Value:{value()}",
        "tabs": f"\tFeature:\t{one(FEATURES)}\t,\tValue:\t{value()}\t",
        "spaces before the colons": f"Feature : {one(FEATURES)}, Value : {value()}",
        "capitals": f"FEATURE: {one(FEATURES)}, VALUE: {value()}",
        "small letters": f"feature: {one(FEATURES)}, value: {value()}",
        "mixed capitals": f"fEATURE: {one(FEATURES)}, vALUE: {value()}",
        "a colon in the name": line(feature=f"hours: {one(FEATURES)}"),
        "its own words in the name": line(feature="value feature: Value"),
        "letters that are two in lower case": f"FEATURE: İİ {one(FEATURES)}, vALUE: {value()} İ",
        "letters that are two in capitals": f"FEATURE: Straße ŉ, vALUE: {value()} ß",
        "letters that are two before no level": f"{line()}\nİİ: {one(FEATURES)}, Value: {value()}",
        "spaces inside": line(feature="work   class", text=f"{value()}   or  {value()}"),
        "a colon in the value": line(text=f": {value()}:"),
        "commas in the value": line(text=f"{value()}, {value()}"),
        "two values": line(text=f"{value()}, Value: {value()}"),
        "a level in the value": line(text=line()),
        "a word before": f"Answer: {line()}",
        "a mark before": f"- {line()}",
        "a word between": f"Feature: {one(FEATURES)}, its Value: {value()}",
        "other words": f"Features: {one(FEATURES)}, Values: {value()}",
        "another separator": f"Feature: {one(FEATURES)}; Value: {value()}",
        "on two lines": f"Feature: {one(FEATURES)},\nValue: {value()}",
        "a value alone": f"Value: {value()}",
        "a feature alone": f"Feature: {one(FEATURES)}",
        "no name": f"Feature: , Value: {value()}",
        "no name and no space": f"Feature:, Value: {value()}",
        "no name after a level": f"{line()}\nFeature: , Value: {value()}",
        "no value": line(text=""),
        "spaces for a value": line(text="   "),
        "no value after a level": f"{line()}\n{line(text='')}",
        "no colon after a level": f"{line()}\nFeature: {one(FEATURES)}, Value",
        "no colon": f"Feature: {one(FEATURES)}, Value {value()}",
        "a comma in the name": f"Feature: {one(FEATURES)}, {one(FEATURES)}, Value: {value()}",
        "quotes": line(text=f'"{value()}."'),
        "other line ends": f"{line()}\r\n{last}\r\nDone.\r\n",
        "a value on the next line": f"{line()}\nFeature: {one(FEATURES)}, Value:\n{value()}",
        "a name on two lines": f"{line()}\nFeature: {one(FEATURES)}\nor not, Value: {value()}",
        "nothing": "",
        "prose": "I can't recover this.",
    }
    for name, text in texts.items():
        yield {"name": f"level: {name}", "text": text}

    def case(name, pairs, dimensions=8, **extra):
        return {"name": f"mean: {name}", "pairs": pairs, "dimensions": dimensions, "embedding": seed, **extra}

    def pairs(count, feature=None):
        return [(line(feature), line(feature)) for _ in range(count)]

    yield case("one pair", pairs(1))
    yield case("many pairs", pairs(20))
    yield case("in a plane", pairs(5), dimensions=2)
    yield case("on a line", pairs(5), dimensions=1)
    yield case("single precision", pairs(6), dtype="float32")
    yield case("handed over once", pairs(4), once=True)
    yield case("entries that sum to 0", pairs(4), dimensions=2, balanced=True)
    for dtype in ("float64", "float32"):
        yield case(f"short and long vectors in {dtype}", pairs(8), dtype=dtype, lengths=[1.01e-12, 0.99e12])
    same = line()
    yield case("recovered in full", [(same, same), *pairs(2)])
    text = value()
    yield case("under another name", [(line("age", text), line("Income", text)), *pairs(2)])
    yield case("not recovered", [*pairs(3), (line(), "I can't recover this."), (line(), line(text=" "))])
    yield case("an answer without a value", [*pairs(2), (line(), line(text="")), (line(), "")])
    yield case("nothing recovered", [(line(), "No idea."), (line(), "")])
    yield case("after chatter", [(line(), f"{line()}\nOr rather:\n{line()}\nI think.") for _ in range(4)])
    yield case("no word recovered", [*pairs(2), (line(), line(text="?!")), (line(), line(text="..."))])
    yield case("an original of no word", [*pairs(2), (line(text="--"), line()), (line(text="?"), line(text="?"))])
    often = line()
    yield case("one attacked often", [*pairs(2), *((often, line()) for _ in range(7))])
    yield case("attacked often, in turns", [item for _ in range(3) for item in [(often, line()), *pairs(1)]])
    yield case("one attacked often, and often in vain", [*pairs(2), (often, line()), (often, "No."), (often, "Well?")])
    yield case("one value of two features", [(line(name, "Yes"), line(name)) for name in ("age", "Income", "age")])
    alike = [("owns", "house yes"), ("owns house", "yes"), ("owns", "house yes")]
    yield case("levels of the same words", [*pairs(1), *((line(*level), line()) for level in alike)])
    yield case("unlike capitals", [(line("age", answer), line()) for answer in ("YES", "yes", "yes")])
    yield case("features of unlike capitals", [(line(name, "Yes"), line()) for name in ("Age", "age", "age")])
    yield case("a colon in a name", [(line("hours: weekly", "40"), line("hours: weekly", "45")), *pairs(2)])
    yield case("no pairs", [])
    yield case("no pairs, handed over once", [], once=True)
    yield case("an original without a level", [*pairs(2), ("17 to 25", line())])
    yield case("an original without a level or an answer", [*pairs(2), ("17 to 25", "No idea.")])
    yield case("an original without a value", [*pairs(2), (line(text=""), line())])
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from emojiprompt.similarity import compute_mean_cosine_similarity, parse_level

    if "text" in case:
        level = parse_level(case["text"])
        return None if level is None else [level.feature, level.value]

    def embedding(number, returned):
        def embed(texts):
            if not isinstance(texts, list):
                raise TypeError(f"a list of texts, not {type(texts)}")
            vectors = np.zeros((len(texts), case["dimensions"]), dtype=case.get("dtype", "float64"))
            for vector, text in zip(vectors, texts, strict=True):
                if not text or any(letter.isalnum() for letter in text):
                    own = np.random.default_rng([number, crc32(text.encode())])
                    vector[:] = own.uniform(0.2, 5) * (own.normal(size=len(vector)) + 0.4)
                    if "balanced" in case:
                        vector[1] = -vector[0]
                    if "lengths" in case:
                        vector *= own.choice(case["lengths"]) / np.linalg.norm(vector)
            returned.append((vectors, vectors.copy()))
            return vectors

        return embed

    results = []
    for number in (case["embedding"], case["embedding"] + 1):
        pairs, returned = list(case["pairs"]), []
        embed = embedding(number, returned)
        try:
            similarity = compute_mean_cosine_similarity(iter(pairs) if "once" in case else pairs, embed)
        except ValueError:
            results.append("refused")
        else:
            unchanged = pairs == case["pairs"] and all(np.array_equal(vectors, kept) for vectors, kept in returned)
            results.append([similarity, isinstance(similarity, float), unchanged])
    return {case.get("dtype", "float64"): results}
