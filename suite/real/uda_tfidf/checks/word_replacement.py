"""Scores, inverse frequencies, training, draws, places, replaced words with scripted and real draws, the experiment."""

import copy
import random
import tempfile
from pathlib import Path

import numpy as np


def cases(seed):
    generator = random.Random(seed)
    numbers = np.random.default_rng(seed)

    def document(least=1, most=12, words=9):
        # Equal tokens are no same objects, and some words are much more frequent than others.
        length = generator.randint(least, most)
        return ["".join(("w", str(int(words * generator.random() ** 2)))) for _ in range(length)]

    def corpus(count, **more):
        return [document(**more) for _ in range(count)]

    def scores(name, *arrays, **more):
        return {"name": f"scores, {name}", "scores": [np.array(item, dtype=np.float64) for item in arrays], **more}

    yield scores("drawn", *(numbers.normal(size=size) for size in (2, 3, 5, 8, 40)))
    yield scores("positive", *(numbers.uniform(0.1, 2, size) for size in (2, 4, 9)), [0.5, 0.25], [0, 0, 1.5])
    yield scores("negative", -numbers.uniform(0.1, 2, 6), [-3, -1, -2, -1], [-2, 0, -1], [-4, -4, 0])
    yield scores("of both signs", [-1, 1], [2, -2, 0], [1, 1, -1, -1, 1], [-3, 3, 3])
    yield scores("of equal size", [1, 1, 2], [2, 2, 1], [1, 2, 1, 2, 1], [5, 4, 4, 4, 4, 4])
    yield scores("small", 1e-6 * numbers.uniform(1, 2, 7), [1e-6, 9.99e-7], [-1e-6, -9.99e-7, 0], [0, 1e-6])
    yield scores("large", 1e6 * numbers.uniform(-1, 1, 7), [1e6, 0.999e6, 1e6], [-1e6, -0.999e6], [1e6, -1e6])
    near = 0.999 + 0.001 * numbers.random(50)
    near[[3, 30]] = 1.0, 0.999
    yield scores("close to each other", near, -near, 1e6 * near, 1e-6 * near)
    most = np.ones(1000)
    most[700] = 0.999
    yield scores("nearly all the highest", most, 0.3 * most, -0.1 / most)
    for step in (2, 3, -1, -2):
        yield scores(f"every {step}", numbers.normal(size=11), numbers.uniform(1, 2, 9), step=step)
    yield scores("equal", [0, 0, 0], [2.5], [0], [-1.25] * 4, [1e6] * 2, [0.1] * 7, [-1e-6] * 3, [0.3] * 1000)
    yield scores("1,000", numbers.normal(size=1000), numbers.uniform(5, 6, 1000))

    idf = {f"w{k}": float(value) for k, value in enumerate(numbers.uniform(-1, 5, 12))}
    text = [f"w{k}" for k in (3, 0, 7, 3, 11, 5, 3, 9)] + ["unknown", "."]

    def scored(name, *places, tokens=text, table=idf):
        return {"name": f"TF-IDF, {name}", "table": table, "calls": [[list(item), list(tokens)] for item in places]}

    yield scored("of all known words", range(8), [0, 1, 2, 4])
    yield scored("of some", [1, 2], [0, 5], [4, 2, 7, 1])
    yield scored("out of order and again", [7, 0, 3], [2, 2, 5], [1, 0, 1, 0, 1])
    # The highest score of the text is not among these, nor is the lowest.
    ranked = sorted(range(8), key=lambda place: idf[text[place]])
    yield scored("without the highest", sorted(ranked[:4]), sorted(ranked[2:5]), ranked[1:6])
    yield scored("of the same word", [0, 3], [0, 3, 6], [0, 3, 6, 1])
    yield scored("of one place", [0], [7])
    yield scored("of no place", [])
    yield scored("of no place in an empty document", [], tokens=[])
    plain = {"a": 0.5, "b": 0.25, "c": 0.5, "d": 0.0, "e": 0.0, "": -1.0}
    yield scored("of equal IDFs", [0, 1], [0, 0], [3, 4], [0, 1, 2], tokens="acbde", table=plain)
    yield scored("of an empty word", [0, 1], [1, 2, 3], tokens=["a", "", "b", "c"], table=plain)
    yield scored("of negative IDFs", [0, 1, 2], [1, 2], tokens="xyz", table={"x": -0.5, "y": -2.0, "z": -1.0})
    yield scored(
        "of words of other case", [0, 1, 2], tokens=["May", "may", "MAY"], table={"May": 1, "may": 2, "MAY": 4}
    )
    yield scored("of words known in lower case", [0], [1], [0, 1], tokens=["May", "x"], table={"may": 1.0, "x": 2.0})
    yield scored("of one token", [0], [0, 0], tokens=["w4"])
    long = [f"w{generator.randrange(12)}" for _ in range(300)]
    yield scored("of 300 tokens", range(300), [299, 0, 150], tokens=long)
    yield scored("of 1,000 places", [generator.randrange(300) for _ in range(1000)], tokens=long)
    yield scored("of unknown words", [8], [0, 8], [9, 0, 1], [0, 1])
    small = {"a": 1e-3, "b": 2e-3, "c": 4e-3}
    yield scored("of small IDFs", [0, 1, 2], [0, 1], tokens=["a", "b", "c"] * 100, table=small)

    letters = [
        "ab|b|bc",
        "aab|b|c",
        "aaa|b",
        "aaaa|ba",
        "a",
        "aa",
        "abc|abc|abc",
        "||a",
        "ba|ab||c",
        "zyx|xwz|v",
    ]
    yield {"name": "IDFs of letters", "corpora": [[list(part) for part in item.split("|")] for item in letters]}
    yield {"name": "IDFs of few documents", "corpora": [corpus(count) for count in (1, 2, 3, 5)]}
    yield {"name": "IDFs of many documents", "corpora": [corpus(200, most=6, words=60), corpus(60, words=4)]}
    alike = [[list(part) for part in item.split("|")] for item in ("ab|cc", "aa|bc", "ab|ab", "ba|cc", "cc|ab")]
    yield {"name": "IDFs of corpora of the same sizes", "corpora": alike}
    yield {"name": "IDFs of nothing", "corpora": [[], [[]], [[], []]]}
    odd = [["The", "the", "THE"], ["the", "", " "], ["é", "e\u0301", "the"], ["", "1", "01"]]
    yield {"name": "IDFs of words that are nearly the same", "corpora": [odd]}
    same = document(4, 4)
    yield {"name": "IDFs of a document again and again", "corpora": [[same, list(same), list(same)], [same] * 2]}
    yield {"name": "IDFs near 0", "corpora": [[["a"]] * 199 + [["b"]], [["a"]] * 200, [["a"]] * 199 + [["a", "a"]]]}
    yield {"name": "IDFs of 300 tokens", "corpora": [[document(300, 300, 80), ["w0"]]]}

    def trained(name, *trainings, **more):
        return {"name": f"training, {name}", "trainings": [list(item) for item in trainings], **more}

    one, two, three = corpus(6, least=3), corpus(9, words=20), corpus(3, least=4, words=5)
    yield trained("normalised", [one, True])
    yield trained("as it is", [one, False])
    yield trained("again", [one, True], [two, True], [one, True], [three, False], [two, False], [three, True])
    yield trained("again as it is", [two, False], [one, False], [one, True], [[], False], [three, True])
    split = [list("aabc"), list("b"), list("cd"), list("dddddde")]
    # Where both documents are the same, so are all scores.
    alike = [*alike[:2], *alike[3:]] * 2
    yield trained("corpora of the same sizes", *([item, turn % 3 > 0] for turn, item in enumerate(alike)))
    yield trained("lengths that differ", [split, True], [split, False])
    yield trained("empty documents", [[[], *split, []], True], [[[], *split, []], False])
    yield trained("nothing", [[], False], [[[]], False])
    yield trained("scores that are the same", [[["a"], ["b"]], False], [[["a", "b"]], False], [[["a"]] * 3, False])
    yield trained("one word", [[["a", "a"], []], False], [[["a", "b"], ["a"]], True])
    yield trained("negative IDFs", [[list("aaab"), list("aac")], True], [[list("aaab"), list("aac")], False])
    yield trained("words that are nearly the same", [odd, True], [odd, False])
    # Of these the frequent word has a high score or a low one, as its count goes into the frequency or not.
    ranks = [list("aab"), list("abc"), list("acd"), list("aef"), list("b")] + [["g"]] * 3
    yield trained("words of all frequencies", [ranks, True], [ranks, False])
    frequent = [["a"] * 290 + ["b"] * 10] * 130 + [["c"]] * 3 + [["b", "c"]]
    yield trained("words that occur tens of thousands of times", [frequent, True])
    yield trained("200 documents", [corpus(200, least=0, most=8, words=40), True])
    yield trained(
        "300 tokens", [[document(300, 300, 50), *corpus(40, words=50)], True], [[document(300, 300, 5)], False]
    )
    yield {**trained("saved and read", [two, True], [one, True], [three, False]), "saved": True}

    vocabulary = [f"w{k}" for k in range(7)]
    shares = [0.05, 0.0, 0.3, 0.1, 0.2, 0.25, 0.1]
    draws = [[0, 1], [6], [3, 3, 3], [5, 4, 3, 2, 1, 0], [2, 0, 2, 0]]
    yield {"name": "scripted draws", "tokens": vocabulary, "shares": shares, "draws": draws}
    yield {"name": "scripted draws of one word", "tokens": [""], "shares": [1.0], "draws": [[0], [0, 0]]}
    nulls = ["a\0", "a", "\0", "b\0\0"]
    yield {"name": "scripted draws of null characters", "tokens": nulls, "shares": [0.25] * 4, "draws": [[0, 2, 3, 1]]}
    yield {"name": "draws", "tokens": vocabulary, "shares": shares, "counts": [1, 5, 50, 2, 5]}
    other = [[["x", "y", "z"], [0.5, 0.0, 0.5]], [["z", "y"], [0.9, 0.1]], [vocabulary, shares[::-1]]]
    yield {
        "name": "draws of others later",
        "tokens": vocabulary,
        "shares": shares,
        "counts": [7, 7, 9, 4],
        "later": other,
    }
    yield {"name": "draws of one word", "tokens": ["a"], "shares": [1.0], "counts": [1, 3]}

    def kept(name, *calls, table=None):
        return {"name": f"places, {name}", "table": table or idf, "kept": [[list(item), list(t)] for item, t in calls]}

    yield kept("all known", (range(8), text), ([3], text))
    yield kept("some unknown", (range(10), text), ([8, 0, 9, 1], text), ([8, 9], text))
    yield kept("out of order and again", ([9, 7, 0, 7, 8, 3], text), ([2, 2], text), ([8, 8, 1, 1], text))
    yield kept("none", ([], text), ([], []))
    signs = {"a": 0.0, "b": -1.0, "c": 2.0, "": 1.0}
    yield kept("IDFs of all signs", (range(5), ["a", "b", "c", "", "d"]), ([4, 3, 1, 0], list("abcda")), table=signs)
    yield kept("words of other case", (range(4), ["May", "may", "MAY", "may "]), table={"may": 1.0})

    def scripted(name, *calls, **more):
        given = [dict(zip(("text", "places", "drawn", "picks"), call, strict=True)) for call in calls]
        return {"name": f"scripted replacements, {name}", "given": given, **more}

    plain = "the quick brown fox jumps"
    yield scripted("one word", [plain, [2], [["red", "blue"]], [1]], [plain, [4], [["runs"]], [0]])
    several = [plain, [3, 1, 4], [["dog", "cat"], ["slow", "lazy", "old"], ["sits"]], [1, 2, 0]]
    yield scripted("several words", several, [plain, [1, 3], [["a"], ["b", "c"]], [0, 0]])
    yield scripted("all words", [plain, [4, 0, 2, 1, 3], [["a"], ["bb"], ["ccc"], ["dddd"], ["e"]], [0] * 5])
    yield scripted("the same word", [plain, [1, 2], [["quick"], ["fox", "brown"]], [0, 1]])
    yield scripted("no word", [plain, [], [], []], ["a , b", [], [], []], ["  spaced  out ", [], [], []])
    yield scripted("no places", [plain, None, [], []], [" Odd ,text ", None, [], []], ["...", None, [], []])
    yield scripted("blank", *([blank, [0], [["a"]], [0]] for blank in ("", " ", "\t\n ", "\u00a0", None)))
    firsts = ["Fox", "fox", "FOX", "foX", "F", "f", "1st", "\u00c9t\u00e9", "9"]
    news = ["dog", "Dog", "DOG", "dOG", "d", "D", "2nd", "\u00e9t\u00e9", ""]
    yield scripted(
        "the first word", *([f"{first} Runs home", [0], [[new]], [0]] for first in firsts for new in news), short=True
    )
    yield scripted(
        "later words",
        *([f"The {first} runs", [1], [[new]], [0]] for first in firsts[:4] for new in news[:4]),
        short=True,
    )
    later = ["Fox Runs Home", [2, 0, 1], [["den"], ["dog", "cat"], ["sits"]], [0, 1, 0]]
    yield scripted("the first word after others", later, ["Fox Runs", [1, 0], [["sits"], ["cat"]], [0, 0]])
    yield scripted("an empty word", [plain, [1, 3], [[""], ["cat"]], [0, 0]], ["Fox runs", [0], [[""]], [0]])
    yield scripted(
        "punctuation",
        ["Well, the (quick) fox: it runs!", [2, 8, 4], [["a"], ["she"], ["slow"]], [0, 0, 0]],
        ["a ,b;c", [0, 4], [["x"], ["y z"]], [0, 0]],
    )
    yield scripted("spaces", ["  Two  words\tmore ", [0, 2], [["three"], ["less"]], [0, 0]], [" a", [0], [["b"]], [0]])
    yield scripted("the same word twice", ["so so so", [2, 0], [["a"], ["so"]], [0, 0]])
    yield scripted("later numbers", several, later, several, start=4, short=True)
    yield scripted("other settings", several, later, several, splits=None, start=-2, top_k=17)
    blanks = [" Fox  runs  ", [1, 5, 0, 3], [["dog"], ["Home"], ["a"], ["sits"]], [0] * 4]
    yield scripted("empty tokens", blanks, ["  Fox ", [2, 3], [["dog"], ["Cat"]], [0, 0]], splits=-1)
    yield scripted("a token of blanks", ["Fox   ", [1, 0], [["runs"], ["dog"]], [0, 0]], splits=1)
    long = " ".join(f"w{k}" for k in range(300))
    yield scripted("300 tokens", [long, [299, 0, 150], [["x"], ["y"], ["z"]], [0, 0, 0]])

    sentences = [[generator.choice([*vocabulary, "oak", "elm", "fir"]) for _ in range(9)] for _ in range(12)]
    texts = [" ".join(words).capitalize() + generator.choice([".", "", " , yes!"]) for words in sentences[:5]]
    documents = [[word.capitalize() if place == 0 else word for place, word in enumerate(s)] for s in sentences]
    yield {"name": "replacements", "documents": documents, "texts": texts}
    yield {"name": "replacements of many words", "documents": documents, "texts": texts, "options": {"aug_p": 0.8}}
    yield {
        "name": "replacements with words excluded",
        "documents": documents,
        "texts": [*texts, "nothing known", "w0 w1"],
        "options": {"stopwords": ["w0", "w1", "oak"], "top_k": 2, "aug_max": 2},
    }
    yield {
        "name": "replacements with other tokens",
        "documents": documents,
        "texts": texts[:3],
        "options": {"top_k": 1, "aug_min": 4},
        "splits": True,
    }
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    for key, work in (
        ("scores", _scores),
        ("calls", _scored),
        ("corpora", _idfs),
        ("trainings", _trained),
        ("shares", _drawn),
        ("kept", _kept),
        ("given", _scripted),
        ("documents", _replaced),
    ):
        if key in case:
            before = _next_draws()
            found = work(case)
            return {"found": found, "draws": [before == _next_draws(), _next_draws()]}
    return {}


def _next_draws():
    """What the global generators would give next, which are left as they are."""
    states = random.getstate(), np.random.get_state()
    draws = [random.random(), float(np.random.random())]
    random.setstate(states[0])
    np.random.set_state(states[1])
    return draws


def _model(**attributes):
    from nlpaug.model.word_stats import TfIdf

    model = TfIdf()
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def _augmenter(model, **options):
    from nlpaug.augmenter.word import TfIdfAug, tfidf

    # The package takes the model that it has already read, if there is one.
    tfidf.TFIDF_MODEL = model
    return TfIdfAug(**options)


def _is_number(value):
    return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)


def _probabilities(found, equal):
    """An array as it is; where all scores are equal, what stands for it as a list."""
    if equal:
        return [float(item) for item in found]
    return [found, isinstance(found, np.ndarray), getattr(found, "dtype", None) == np.float64]


def _scores(case):
    from nlpaug.model.word_stats import TfIdf

    result, model = [], TfIdf()
    for array in case["scores"]:
        given = array.copy()
        view = given[:: case.get("step", 1)]
        equal = bool((view == view[0]).all())
        found = [TfIdf._normalize(view), model._normalize(view)]
        shared = any(isinstance(item, np.ndarray) and np.shares_memory(item, given) for item in found)
        kept = np.array_equal(given, array)
        # The same array holds other numbers later.
        given *= -1.0
        found.append(TfIdf._normalize(view))
        result.append([[_probabilities(item, equal) for item in found], kept, shared])
    return [result, vars(model) == vars(TfIdf())]


def _scored(case):
    model, result = _model(), []
    for turn, (places, tokens) in enumerate(case["calls"] + case["calls"][:1]):
        # The last call is the first one with other IDFs.
        factor = -2.0 if turn == len(case["calls"]) else 1.0
        table = {word: factor * value for word, value in case["table"].items()}
        if turn < len(case["calls"]):
            model.w2idf = {}
        model.w2idf.update(table)
        model.normalize = turn % 2 == 0
        before, given, read = dict(vars(model)), list(places), list(tokens)
        equal = len({table.get(tokens[place]) for place in places}) < 2
        found = []
        for settings in ({"normalize": False}, {"normalize": True}, {}):
            if not places and settings != {"normalize": False}:
                continue
            try:
                values = model.cal_tfidf(given, read, **settings)
            except Exception as error:
                found.append(isinstance(error, KeyError))
            else:
                found.append(_probabilities(values, equal and settings != {"normalize": False}))
        kept = [given == places, read == tokens, model.w2idf == table, list(model.w2idf) == list(table)]
        result.append([found, kept, vars(model) == before])
    return result


def _table(table):
    """A dict as a list, since its order counts."""
    kinds = [isinstance(table, dict), all(map(_is_number, table.values()))]
    return [[word, float(value)] for word, value in table.items()] + kinds


def _idfs(case):
    model, result = _model(w2idf={"a": 3.0}, w2tfidf={"a": 1.0}, tokens=["a"]), []
    before = {name: value.copy() if hasattr(value, "copy") else value for name, value in vars(model).items()}
    for documents in case["corpora"]:
        given = [list(document) for document in documents]
        found = [model.cal_idf(given), model.cal_idf(given)]
        kept = [found[0] is not found[1] and found[0] is not model.w2idf, given == documents]
        if given:
            given[-1].append("new")
            found.append(model.cal_idf(given))
        result.append([[_table(item) for item in found], kept])
    return [result, vars(model) == before]


def _trained(case):
    model, result = _model(), []
    names = ("w2idf", "w2tfidf", "tokens", "tfidf_scores")
    for documents, normalize in case["trainings"]:
        model.normalize = normalize
        given = [list(document) for document in documents]
        old = [getattr(model, name) for name in names]
        copies = [value.copy() for value in old]
        returned = model.train(given)
        new = [getattr(model, name) for name in names]
        apart = [one is not other for one, other in zip(old, new, strict=True)]
        scores = [float(value) for value in model.tfidf_scores]
        kinds = [isinstance(model.tokens, list), isinstance(model.tfidf_scores, list), returned is None]
        kinds += [all(map(_is_number, model.tfidf_scores)), given == documents, model.normalize is normalize]
        shown = [_table(model.w2idf), _table(model.w2tfidf), list(model.tokens), scores, kinds]
        result.append([shown, apart, old == copies, sorted(vars(model))])
        given.reverse()
        model.train(given)
        result.append([_table(model.w2tfidf), list(model.tokens), list(map(float, model.tfidf_scores))])
        if case.get("saved") and normalize:
            result.append(_saved(model))
    return result


def _saved(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(Path(folder).iterdir())]
        other = _model()
        other.read(folder)
    return [_table(other.w2tfidf), other.predict("w0", 9), other.predict("w0", top_k=3), lines]


def _drawn(case):
    model = _model(tokens=list(case["tokens"]), tfidf_scores=list(case["shares"]), w2tfidf={"another": 1.0})
    calls, result, script = [], [], []

    def choice(x, p, size=1):
        calls.append([list(x), [float(share) for share in p], int(size)])
        return np.array(script.pop(0))

    if "draws" in case:
        script = [list(draw) for draw in case["draws"]]
        model.choice = choice
    counts = case.get("counts") or [len(draw) for draw in case["draws"]]
    later = case.get("later", [])
    for turn, count in enumerate(counts):
        before = dict(vars(model))
        tokens, shares = list(model.tokens), list(model.tfidf_scores)
        found = model.predict(("w0", None, "x")[turn % 3], count)
        kept = [vars(model) == before, model.tokens == tokens, model.tfidf_scores == shares]
        kinds = [isinstance(found, list), all(isinstance(word, str) for word in found), found is not model.tokens]
        result.append([[str(word) for word in found], kept, kinds])
        if turn < len(later) and turn % 2:
            model.tokens, model.tfidf_scores = list(later[turn][0]), list(later[turn][1])
        elif turn < len(later):
            model.tokens[:], model.tfidf_scores[:] = later[turn]
    return [result, calls]


def _kept(case):
    augmenter, result = _augmenter(_model()), []
    others = {"unknown": 1.0, "w3": 0.0, "MAY": 1.0, "d": 2.0}
    # Later words are known that were not, and others are no longer, in the same dict and then in another model.
    turns = [(call, table) for table in (case["table"], others, case["table"]) for call in case["kept"]]
    for turn, ((places, tokens), table) in enumerate(turns):
        if turn == 2 * len(case["kept"]):
            augmenter.model = _model()
        augmenter.model.w2idf.clear()
        augmenter.model.w2idf.update(table)
        before, given, read = dict(vars(augmenter)), list(places), list(tokens)
        found = augmenter.skip_aug(given, read)
        kept = [given == places, read == tokens, augmenter.model.w2idf == table, vars(augmenter) == before]
        result.append([list(found), isinstance(found, list), found is not given, kept])
    return result


class _Script:
    """A model whose words are written down, and the calls that are made, in their order."""

    def __init__(self, calls):
        self.calls, self.words, self.picks = calls, [], []

    def predict(self, data, top_k):
        self.calls.append(["predict", data, top_k])
        return list(self.words.pop(0))

    def sample(self, x, num=None):
        self.calls.append(["sample", list(x), num])
        return [x[self.picks.pop(0)]]


def _scripted(case):
    calls = []
    script = _Script(calls)
    augmenter = _augmenter(script)
    augmenter.sample = script.sample
    augmenter.parent_change_seq = case.get("start", 0)
    augmenter.top_k = case.get("top_k", 5)
    if "splits" in case:
        most = case["splits"]
        augmenter.tokenizer = str.split if most is None else lambda text: text.split(" ", most)
        augmenter.reverse_tokenizer = "_".join
    result = []
    for turn, call in enumerate(case["given"]):
        places = call["places"]

        def places_of(tokens, places=places):
            calls.append(["places", list(tokens)])
            return None if places is None else list(places)

        augmenter._get_aug_idxes = places_of
        for detail in (turn % 2 == 0,) if case.get("short") else (False, True):
            calls.clear()
            script.words, script.picks = [list(words) for words in call["drawn"]], list(call["picks"])
            augmenter.include_detail = detail
            before = dict(vars(augmenter))
            found = augmenter.substitute(call["text"])
            result.append([_said(found), [list(item) for item in calls], vars(augmenter) == before])
        # What is set between calls counts in the next one.
        augmenter.top_k += 1
        if not case.get("short"):
            augmenter.parent_change_seq += 10
            script = _Script(calls)
            augmenter.model, augmenter.sample = script, script.sample
    return result


def _said(found):
    """A text, or a text and its changes."""
    if not isinstance(found, tuple):
        return found
    text, changes = found
    return [text, [[[key, change[key]] for key in sorted(change)] for change in changes], isinstance(changes, list)]


def _replaced(case):
    model = _model()
    model.train([list(document) for document in case["documents"]])
    augmenter = _augmenter(model, **case.get("options", {}))
    if case.get("splits"):
        augmenter.tokenizer, augmenter.reverse_tokenizer = str.split, " ".join
    result, state = [], {name: copy.copy(value) for name, value in vars(model).items()}
    for turn, text in enumerate(case["texts"]):
        augmenter.include_detail = turn % 2 == 1
        before = dict(vars(augmenter))
        found = [augmenter.substitute(text) for _ in range(3)] + augmenter.augment(f" {text} ", n=2)
        result.append([[_said(item) for item in found], vars(augmenter) == before])
    augmenter.include_detail = False
    return [result, augmenter.augment(list(case["texts"])), vars(model) == state]
