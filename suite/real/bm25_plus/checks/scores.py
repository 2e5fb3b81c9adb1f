"""BM25+: weights and scores over corpora of many shapes, with parameters alone and combined; then the experiment."""

import numpy as np

_RANGES = {"k1": (0.2, 4), "b": (0.05, 0.95), "delta": (0.1, 3)}


def cases(seed):
    generator = np.random.default_rng(seed)
    vocabulary = [f"w{number}" for number in range(12)]
    # Few words are common, most are rare.
    shares = 1 / np.arange(1, 13)
    shares /= shares.sum()

    def document(length):
        return [str(word) for word in generator.choice(vocabulary, length, p=shares)]

    def corpus(count=7, most=30):
        return [document(int(length)) for length in generator.integers(1, most, count)]

    def query(count):
        return [str(word) for word in generator.choice(vocabulary[: count + 3], count, replace=False)]

    def settings(*names):
        return {name: float(generator.uniform(*_RANGES[name])) for name in names}

    def case(name, documents, queries=None, **more):
        queries = queries or [query(3), query(1), query(5)]
        return {"name": name, "documents": documents, "queries": queries, "settings": {}} | more

    yield case("the defaults", corpus())
    yield case("many documents", corpus(50, 40), [query(4), query(12)])
    for name in _RANGES:
        yield case(f"another {name}", corpus(), settings=settings(name))
        others = [other for other in _RANGES if other != name]
        yield case(f"the default {name} among others", corpus(), settings=settings(*others))
    for number in range(6):
        yield case(f"all parameters, {number}", corpus(4 + number), settings=settings(*_RANGES))
    for b in (0, 1):
        yield case(f"b of {b}", corpus(), settings=settings("k1", "delta") | {"b": b})
    yield case("k1 of 1", corpus(), settings={"k1": 1})
    yield case("delta of 0", corpus(), settings=settings("k1", "b") | {"delta": 0})
    yield case("one document", [document(int(generator.integers(5, 20)))], settings=settings("k1", "delta"))
    yield case("documents of one length", [document(8) for _ in range(int(generator.integers(3, 9)))])
    for number in range(2):
        long = document(int(generator.integers(500, 1500)))
        yield case(f"a very long document, {number}", [*corpus(20, 8), long], settings=settings(*_RANGES))
    common = [[*document(int(length)), "all"] for length in generator.integers(1, 30, 6)]
    yield case("a word of all documents", common, [["all"], ["all", *query(2)]])
    unknown = [["none"], [*query(1), "none", *query(2)], [word.upper() for word in query(2)]]
    yield case("words that no document holds", corpus(), unknown)
    repeated = query(3)
    yield case("words twice in the query", corpus(), [repeated[:1] * 2, [*repeated, *repeated[1:], repeated[2]]])
    capitals = [[word.upper() if generator.random() < 0.5 else word for word in words] for words in corpus(9)]
    yield case("words in capitals", capitals, [["w0", "W0"], ["W1", "w2"], ["w0"]])
    yield {"name": "experiment", "seed": seed % 1000}

    yield case("no words", corpus(), [[], query(2), []], edge=True)
    yield case("empty documents", [[], *corpus(4), []], settings=settings(*_RANGES), edge=True)
    for number in range(2):
        later = [settings("k1"), settings("b", "delta"), settings(*_RANGES)]
        yield case(f"parameters that change, {number}", corpus(), [query(4)], later=later, edge=True)
    yield case("another corpus in the same index", corpus(5), [query(4)], again=corpus(9), edge=True)
    yield case("the index stays as it is", corpus(), [["none", *query(2)], query(3)], unchanged=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from bm25plus import BM25Plus

    index = BM25Plus(case["documents"], **case["settings"])
    found = {"weights": [[word, float(weight)] for word, weight in sorted(index.idf.items())], "scores": []}
    before = repr(vars(index))
    for settings in [{}, *case.get("later", [])]:
        for name, value in settings.items():
            setattr(index, name, value)
        found["scores"].append([index.get_scores(list(query)) for query in case["queries"]])
    if "again" in case:
        index.__init__(case["again"])
        words = {word for text in case["again"] for word in text}
        numbers = {word: sum(word in text for text in case["again"]) for word in case["queries"][0] if word in words}
        given, index.idf = dict(numbers), {}
        index._calc_idf(given)
        found["again"] = [given == numbers, sorted(index.idf.items())]
        index.__init__(case["again"])
        found["scores"].append(index.get_scores(case["queries"][0]))
    if "unchanged" in case:
        found["unchanged"] = repr(vars(index)) == before
    return found
