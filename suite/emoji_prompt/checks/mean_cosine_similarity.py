"""mean_cosine_similarity: levels read out of answers, means over entities, and what is refused; then the experiment."""

from itertools import product
from zlib import crc32

import numpy as np

FEATURES = ("age", "work class", "owns house", "native-country", "Income")
WORDS = ("Yes", "No", "Private company", "Never married", "17 to 25", "Some college", "Sales", "Éire")


def cases(seed):
    generator = np.random.default_rng(seed)

    def feature():
        return str(generator.choice(FEATURES))

    def value():
        return f"{generator.choice(WORDS)} {generator.integers(1000)}"

    def line(name=None, text=None):
        return f"Feature: {name or feature()}, Value: {value() if text is None else text}"

    def chatter():
        return f"Let me think.\n{value()}?\n{line()}\nOr rather:\n{line()}\nThat is it, {value()}."

    for number in range(3):
        last = line()
        texts = {
            "a line": last,
            "with chatter": f"Let me think.\n{value()}?\n{last}\nThat is my answer.",
            "the last of several": chatter(),
            "spaces": f"  Feature :  {feature()} ,  Value :  {value()}  ",
            "no spaces": f"Feature:{feature()},Value:{value()}",
            "capitals": f"FEATURE: {feature()}, vALUE: {value()}",
            "no level": f"I can't recover {value()}.",
            "half a level": (f"Value: {value()}", f"Feature: {feature()}", f"Features: {feature()}; {value()}")[number],
        }
        for name, text in texts.items():
            yield {"name": f"level {number}: {name}", "text": text}

    def mean(name, pairs, **more):
        return {"name": f"mean: {name}", "pairs": pairs, "dimensions": 8, "embedding": seed, **more}

    def pairs(count):
        return [(line(), line()) for _ in range(count)]

    def attacked(kinds):
        """Entities of these kinds, a few of each, in any order."""
        found, often, text = pairs(2), line(), value()
        if "often" in kinds:
            found += [(often, line()) for _ in range(4)]
        if "in vain" in kinds:
            found += [(line(), f"I can't recover {value()}."), (often, "No idea.")]
        if "chatter" in kinds:
            found += [(line(), chatter()), (often, chatter())]
        if "same value" in kinds:
            found += [
                (line("age", text), line("Income", text)),
                (line("Income", text), line()),
                (line("age", text), ""),
            ]
        return [found[place] for place in generator.permutation(len(found))]

    kinds = ("often", "in vain", "chatter", "same value")
    for number, drawn in enumerate(product((False, True), repeat=len(kinds))):
        chosen = [kind for kind, there in zip(kinds, drawn, strict=True) if there]
        dtype = ("float64", "float32")[(number + sum(drawn)) % 2]
        dimensions = int(generator.integers(2, 12))
        yield mean(f"{chosen}, {dtype}", attacked(chosen), dtype=dtype, dimensions=dimensions)
    for count in (1, 40):
        yield mean(f"{count} pairs", pairs(count))
    same = line()
    yield mean("recovered in full", [(same, same), *pairs(1)])
    yield mean("nothing recovered", [(line(), "No idea."), (line(), "")])
    yield mean("no pairs", [])
    yield mean("an original without a level", [*pairs(2), (value(), line())])
    yield {"name": "experiment", "seed": seed % 1000}

    texts = {
        "colons": f"Feature: hours: {feature()}, Value: : {value()}:",
        "commas in the value": line(text=f"{value()}, {value()}"),
        "a level in the value": line(text=line()),
        "spaces inside": line("work   class", f"{value()}   or  {value()}"),
        "words around": f"{line()}\nAnswer: {line()}\nIts feature: age, its value: {value()}",
        "on two lines": f"Feature: {feature()},\nValue: {value()}",
        "no name": f"{line()}\nFeature: , Value: {value()}",
        "no value": f"{line()}\n{line(text=' ')}",
        "no colon": f"{line()}\nFeature: {feature()}, Value",
        "a comma in the name": f"{line()}\nFeature: {feature()}, {feature()}, Value: {value()}",
        "other line ends": f"{line()}\r\n\t{line()}\t\r\nDone.\r\n",
    }
    for name, text in texts.items():
        yield {"name": f"level: {name}", "text": text, "edge": True}
    for dtype in ("float64", "float32"):
        zeros = [(line(text="?!"), line()), (line(), line(text="...")), (line(text="-"), line(text="-")), *pairs(2)]
        yield mean(f"vectors of zeros, {dtype}", zeros, dtype=dtype, edge=True)
    yield mean("entries that sum to 0", pairs(4), dimensions=2, balanced=True, edge=True)
    yield mean("another embedding before", pairs(4), before=seed + 1, edge=True)
    yield mean(
        "no value recovered", [*pairs(2), (line(), line(text="")), (line(), f"{line()}\n{line(text='')}")], edge=True
    )
    yield mean("an original without a value", [*pairs(2), (line(text=""), line())], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from emojiprompt.similarity import compute_mean_cosine_similarity, parse_level

    if "text" in case:
        level = parse_level(case["text"])
        return None if level is None else [level.feature, level.value]
    dtype, returned = case.get("dtype", "float64"), []

    def embedding(number):
        def embed(texts):
            vectors = np.zeros((len(texts), case["dimensions"]), dtype=dtype)
            for vector, text in zip(vectors, texts, strict=True):
                if not text or any(letter.isalnum() for letter in text):
                    own = np.random.default_rng([number, crc32(text.encode())])
                    direction = own.normal(size=len(vector)) + 0.4
                    if "balanced" in case:
                        direction[1] = -direction[0]
                    vector[:] = 10 ** own.uniform(-1.9, 1.9) * direction / np.linalg.norm(direction)
            returned.append((vectors, vectors.copy()))
            return vectors

        return embed

    if "before" in case:
        compute_mean_cosine_similarity(case["pairs"], embedding(case["before"]))
    pairs = list(case["pairs"])
    try:
        similarity = compute_mean_cosine_similarity(pairs, embedding(case["embedding"]))
    except ValueError:
        return "refused"
    unchanged = all(np.array_equal(vectors, kept) for vectors, kept in returned)
    return {dtype: float(similarity), "vectors_unchanged": unchanged, "pairs_unchanged": pairs == case["pairs"]}
