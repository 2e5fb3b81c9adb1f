"""BM25+: weights and scores over corpora, parameters, repeated, common and unknown words; then the experiment."""

import numpy as np


def cases(seed):
    generator = np.random.default_rng(seed)

    def words(count, vocabulary=12):
        # Few words are common, most are rare.
        weights = 1 / np.arange(1, vocabulary + 1)
        return [f"w{number}" for number in generator.choice(vocabulary, count, p=weights / weights.sum())]

    def corpus(lengths, vocabulary=12):
        return [words(length, vocabulary) for length in lengths]

    def case(name, documents, queries=None, later=None, **settings):
        queries = [words(3), words(1), words(5)] if queries is None else queries
        return {"name": name, "documents": documents, "queries": queries, "settings": settings, "later": later or []}

    usual = (5, 9, 14, 3, 7, 30, 11)
    yield case("the defaults", corpus(usual))
    yield case("many documents", corpus(generator.integers(1, 40, 60), 30), [words(4, 30), words(12, 30)])
    for name, values in {"k1": (0.1, 1, 2.7, 100), "b": (0, 0.3, 1), "delta": (0, 0.3, 2, 10)}.items():
        for value in values:
            yield case(f"{name} of {value}", corpus(usual), **{name: value})
    yield case("all parameters", corpus(usual), k1=0.9, b=0.4, delta=0.6)
    yield case("ints", corpus(usual), k1=2, b=1, delta=3)
    yield case("one document", corpus((9,)))
    yield case("one word", [["w0"]], [["w0"], ["w1"], []])
    yield case("documents of one length", corpus((8,) * 5))
    yield case("a document far longer than the others", corpus((4, 6, 5, 900)), delta=0.7)
    yield case("empty documents", [[], *corpus((4, 0, 7)), []], b=0.9, k1=1.1)
    yield case("a word in all documents", [[*document, "all"] for document in corpus(usual)], [["all"], ["all", "w0"]])
    yield case("words that no document holds", corpus(usual), [["none"], ["w0", "none", "w1"], ["w0", ""]])
    yield case(
        "the empty word", [[*document, *[""] * n] for n, document in enumerate(corpus(usual))], [[""], ["w0", ""]]
    )
    yield case("no words", corpus(usual), [[], words(2), []])
    yield case("words twice", corpus(usual), [["w0", "w0"], ["w1", "w0", "w1", "w1"], ["w2"] * 9])
    yield case("tuples", corpus(usual), [tuple(words(3)), ()])
    yield case("words told by capitals", [["W0", "w0"], ["w0", "w1"], ["W0"]], [["W0"], ["w0"], ["w0", "W0"]])
    yield case("words of another spelling", [["red"], ["w0", "red"], ["RED"]], [["Red"], ["RED"], ["red", "w0"]])
    forms = [["\u00e9"], ["o\u0301", "w0"], ["w0", "e", "o"]]
    yield case("accents in two forms", forms, [["e\u0301"], ["\u00f3"], ["\u00e9", "w0"]])
    yield case(
        "a word thousands of times",
        [[*["w0"] * 2049, "w1"], ["w0"] * 4097, ["w0"] * 9999, ["w1", "w0"]],
        [["w0"], ["w1", "w0"]],
        k1=100,
    )
    yield case("a very long document", corpus((5000, *[3] * 120)), [["w0", "w3"]], b=0.9)
    yield case("long queries", corpus(usual), [["w0"] * 300, [*["w1"] * 129, *["w0"] * 871]])
    yield case("words told by spaces", [["w0 ", "w0"], ["w0", "w1"], [" w0"]], [["w0 "], ["w0"]])
    # Words that separators, hashes or escapes would confuse.
    joined = [f"w0{separator}w1" for separator in " ,;|\t\n\x01\x1e\x1f\u2028"]
    alike = [["Aa", "\u00e9", *joined], ["BB", "&#233;", "w0"], ["w0", "w1", "\\xe9"]]
    yield case("words that are nearly the same", alike, [["Aa"], ["BB", "w0"], ["\u00e9"], joined])
    yield case("nearly all documents empty", [["w0"], *[[]] * 399], [["w0"]], b=0.9, delta=0)
    # Every document but the last scores a million times as much or more.
    small = [["w0"] * 40 + ["all"]] * 30 + [["all"] + ["w3"] * 2000]
    yield case("a small score after large ones", small, [["w0"] * 999 + ["all"]], k1=100, b=1, delta=0)
    numbers = [f"w{number}" for number in range(1000)]
    yield case("a thousand different words", [numbers[:600], numbers[400:]], [numbers])
    later = [{"k1": 0.4}, {"b": 0.2, "delta": 0.1}, {"k1": 3, "b": 0.9, "delta": 4}]
    yield case("parameters that change", corpus(usual), [words(4)], later)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from rank_bm25 import BM25Plus

    index = BM25Plus([list(document) for document in case["documents"]], **case["settings"])
    found = []
    for settings in [{}, *case["later"]]:
        for name, value in settings.items():
            setattr(index, name, value)
        for query in case["queries"]:
            before = _state(index)
            given = query[:]
            scores = index.get_scores(given)
            found.append([scores, _state(index) == before and given == query])
    # The same object over another corpus, and then an index of the first one beside it.
    documents = [["w0"], *([*document, f"w{number}"] for number, document in enumerate(case["documents"][::-1]))]
    other = BM25Plus(documents[:2], **case["settings"])
    other.get_scores(["w0", "w1"])
    other.__init__(documents, **case["settings"])
    before = [other.get_scores(["w0", "w1"])]
    # As many documents of the same lengths, in which two words have changed places.
    other.__init__(_exchanged(documents[::-1]), **case["settings"])
    before.append(other.get_scores(["w0", "w1"]))
    # As many documents of the same lengths, with the same words, of which others stand there several times.
    other.__init__(_repeated(documents), **case["settings"])
    before.append(other.get_scores(["w0", "w1"]))
    other.__init__(documents, **case["settings"])
    before.append(other.get_scores(["w0", "w1"]))
    another = [
        before,
        [each.get_scores(["w0", "w1", "w2"]) for each in (other, index, other)],
        sorted(other.idf.items()),
    ]
    returned, counts = _weights_again(case)
    return {
        "scores": found,
        "another": another,
        "weights": [[word, float(weight)] for word, weight in sorted(index.idf.items())],
        "floats": all(isinstance(weight, float) for weight in index.idf.values()),
        "returned": returned,
        "counts": counts,
    }


def _weights_again(case):
    """What the constructor's call of _calc_idf returns, and what becomes of its argument."""
    from rank_bm25 import BM25Plus

    seen = []

    class Watched(BM25Plus):
        def _calc_idf(self, nd):
            seen.append(super()._calc_idf(nd))
            seen.append(sorted(nd.items()))

    Watched([list(document) for document in case["documents"]], **case["settings"])
    return seen


def _exchanged(documents):
    """The documents with w0 for w1 and w1 for w0."""
    other = {"w0": "w1", "w1": "w0"}
    return [[other.get(word, word) for word in document] for document in documents]


def _repeated(documents):
    """The documents with each word once, in order, and the last of these as often as the length asks for."""
    found = []
    for document in documents:
        words = list(dict.fromkeys(document))
        found.append(words + words[-1:] * (len(document) - len(words)))
    return found


def _state(index):
    # repr tells 1 from 1.0 and True.
    return repr(sorted((name, value) for name, value in vars(index).items()))
