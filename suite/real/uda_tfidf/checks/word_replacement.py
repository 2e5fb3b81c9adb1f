"""Scores of words, training, draws, and words replaced with a scripted model and a trained one; then the experiment.

No document of a corpus holds a word twice: there the published package departs from the paper's document frequency.
"""

import random

import numpy as np


def cases(seed):
    generator = random.Random(seed)
    numbers = np.random.default_rng(seed)
    vocabulary = [f"w{number}" for number in range(14)]

    def document(least=2, most=9, words=14):
        """Different words, some of them much more frequent than others."""
        length = generator.randint(least, min(most, words))
        return sorted(vocabulary[:words], key=lambda word: generator.random() * (int(word[1:]) + 2))[:length]

    def corpus(count, **more):
        return [document(**more) for _ in range(count)]

    def places_of(count, within):
        return generator.sample(range(within), count)

    kinds = {
        "drawn": [numbers.normal(size=size) for size in (2, 5, 40)],
        "positive": [numbers.uniform(0.1, 2, size) for size in (3, 9)],
        "negative": [-numbers.uniform(0.1, 2, size) for size in (3, 9)],
        "with ties": [numbers.integers(-2, 3, 12).astype(float), np.append(numbers.integers(0, 2, 7), 3.0)],
    }
    for name, arrays in kinds.items():
        yield {"name": f"probabilities of scores, {name}", "scores": arrays}

    for number, (size, count) in enumerate([(8, 8), (8, 4), (30, 12), (12, 2), (60, 40)]):
        table = dict(zip(vocabulary, numbers.uniform(0.1, 5, len(vocabulary)).tolist(), strict=True))
        tokens = vocabulary[:2] + [generator.choice(vocabulary) for _ in range(size - 2)]
        # Two different words at least, so that not all scores are equal.
        places = [0, 1] + [2 + place for place in places_of(count - 2, size - 2)]
        generator.shuffle(places)
        yield {"name": f"TF-IDF, {number}", "table": table, "tokens": tokens, "places": places}
        unknown = [place for place, token in enumerate(tokens) if token in vocabulary[2:7]]
        known = {word: value for word, value in table.items() if word not in vocabulary[2:7]}
        asked = unknown[:3] + places[::-1]
        yield {"name": f"words with an IDF, {number}", "known": known, "tokens": tokens, "places": asked}
    capitals = {"May": 1.5, "the": 0.0, "Will": 0.3}
    tokens = ["the", "May", "may", "Will", "will", "The"]
    yield {"name": "words with an IDF, capitals", "known": capitals, "tokens": tokens, "places": places_of(6, 6)}

    for number, count in enumerate([2, 5, 12, 40]):
        yield {"name": f"inverse document frequencies, {number}", "corpus": corpus(count, words=6 + 2 * number)}
        for normalize in (True, False):
            # One word of a document of its own, so that not all scores are equal.
            documents = [*corpus(count, words=5 + 3 * number), ["w0", "own"]]
            generator.shuffle(documents)
            name = f"training, {number}{', normalised' * normalize}"
            yield {"name": name, "trainings": [documents], "normalize": [normalize]}
    letters = [["The", "the", "tea"], ["the", "TEA"], ["The", "milk"]]
    generator.shuffle(letters)
    yield {"name": "inverse document frequencies, capitals", "corpus": letters}

    for number, size in enumerate([1, 4, 14]):
        shares = numbers.dirichlet(np.ones(size)).tolist()
        counts = [1, *generator.sample(range(2, 31), 2)]
        yield {"name": f"draws, {number}", "words": vocabulary[:size], "shares": shares, "counts": counts}

    def text(first):
        words = [first, *(generator.choice(["quick", "brown", "Fox", "jumps", "over", "DOG"]) for _ in range(6))]
        return " ".join(words) + generator.choice([".", "!", " , no"])

    for number, first in enumerate(["The", "the", "A", "USA", "iPod", "Well"]):
        for detail in (False, True):
            places = [0] * (number != 5) + [1 + place for place in places_of(generator.randint(1, 4), 6)]
            generator.shuffle(places)
            yield {
                "name": f"words replaced, {first}{', with changes' * detail}",
                "text": text(first),
                "places": places,
                "detail": detail,
                "top_k": generator.randint(1, 7),
                "start": generator.randint(0, 9),
            }
    more = {"text": "The  old man_sat", "top_k": 3, "start": 2, "other": True}
    yield {"name": "another tokenizer", "places": places_of(2, 3), "detail": True, **more}
    for detail in (False, True):
        name = f"no place{', with changes' * detail}"
        yield {"name": name, "text": text("The"), "places": [], "detail": detail, "top_k": 2, "start": 0}
    for options in ({}, {"aug_p": 0.8}, {"top_k": 2, "stopwords": ["w0", "w3"]}):
        documents = corpus(10, least=6)
        texts = [" ".join(words).capitalize() for words in documents[:4]]
        name = f"replaced by TF-IDF, {', '.join(options) or 'the defaults'}"
        yield {"name": name, "documents": documents, "texts": texts, "options": options}
    yield {"name": "experiment", "seed": seed % 1000}

    equal = [np.full(size, generator.uniform(-2, 2)) for size in (1, 2, generator.randint(3, 6))]
    yield {"name": "equal scores", "scores": equal, "equal": True, "edge": True}
    yield {"name": "scores stay as they are", "scores": [numbers.normal(size=6)], "unchanged": True, "edge": True}
    documents = [[], *corpus(3), [], ["w0", "own"]]
    yield {"name": "empty documents, IDFs", "corpus": documents, "edge": True}
    yield {"name": "empty documents, training", "trainings": [documents], "normalize": [True], "edge": True}
    again = [[*corpus(4), ["w0", "own"]], [*corpus(6, words=7), ["w0", "w1", "other"]]]
    for normalize in (True, False):
        name = f"trained again{', normalised' * normalize}"
        yield {"name": name, "trainings": again, "normalize": [normalize] * 2, "edge": True}
    for blank in ("", " \t", None):
        yield {"name": f"blank text {blank!r}", "text": blank, "places": [0], "detail": False, "edge": True}
    yield {"name": "no word to replace", "text": text("The"), "places": None, "detail": False, "edge": True}

    # The smallest inputs.
    table = {"w0": generator.uniform(0.1, 5)}
    yield {"name": "TF-IDF, one place", "table": table, "tokens": ["w0"], "places": [0], "edge": True}
    for count in (0, 1):
        given = {"known": table, "tokens": ["w0"][:count], "places": [0][:count]}
        yield {"name": f"words with an IDF, places: {count}", **given, "edge": True}
        documents = corpus(count)
        yield {"name": f"inverse document frequencies, documents: {count}", "corpus": documents, "edge": True}
        yield {"name": f"training, documents: {count}", "trainings": [documents], "normalize": [False], "edge": True}

    # The same objects with other arguments and settings.
    def scored(size, count):
        tokens = vocabulary[:2] + [generator.choice(vocabulary) for _ in range(size - 2)]
        places = [0, 1] + [2 + place for place in places_of(count - 2, size - 2)]
        table = dict(zip(vocabulary, numbers.uniform(0.1, 5, len(vocabulary)).tolist(), strict=True))
        return {"table": table, "tokens": tokens, "places": places}

    yield {"name": "TF-IDF of other texts", **scored(9, 4), "later": [scored(6, 3), scored(14, 6)], "edge": True}
    several = [["a", "b", "c", "d"], ["d", "c", "b", "a", "e"]]
    yield {
        "name": "words with another IDF",
        "known": {"a": 1.0, "c": 0.5},
        "tokens": several[0],
        "places": [3, 2, 0],
        "later": [{"known": {"b": generator.uniform(0, 2), "e": 0.0}, "tokens": several[1], "places": [2, 0, 4, 1]}],
        "edge": True,
    }
    given = {"corpus": corpus(4), "later": [{"corpus": corpus(7)}]}
    yield {"name": "inverse document frequencies again", **given, "edge": True}
    yield {"name": "trained with another setting", "trainings": again, "normalize": [True, False], "edge": True}
    shares = [numbers.dirichlet(np.ones(size)).tolist() for size in (4, 6)]
    given = {"words": vocabulary[:4], "shares": shares[0], "counts": [20, 0]}
    later = [{"words": vocabulary[:7:-1], "shares": shares[1]}]
    yield {"name": "draws of other words", **given, "later": later, "edge": True}
    given = {"text": text("The"), "places": [0, 3], "detail": False, "top_k": 6, "start": 3}
    later = [
        {"text": text("Well"), "places": [2, 0, 1], "detail": True, "top_k": 1, "start": 0},
        {"text": text("iPod"), "places": [4], "detail": True, "top_k": 3, "start": 1},
        {"text": text("A"), "places": [1, 2], "detail": True, "top_k": 2, "start": 12},
    ]
    yield {"name": "words replaced, settings that change", **given, "later": later, "edge": True}


def observe(case):
    works = {
        "scores": probabilities,
        "table": scores_of_a_text,
        "known": known_words,
        "corpus": inverse_frequencies,
        "trainings": trained,
        "shares": draws,
        "text": replaced,
        "documents": replaced_by_tfidf,
    }
    for key, work in works.items():
        if key in case:
            return work(case)
    from experiment import run

    return {"experiment": run(case["seed"])}


def probabilities(case):
    from nlpaug.model.word_stats import TfIdf

    given = [array.copy() for array in case["scores"]]
    found = [TfIdf._normalize(array) for array in given]
    if "equal" in case:
        return {"any": [bool(np.any(values)) for values in found], "scores": given}
    if "unchanged" in case:
        return {"given": given, "found": found}
    return {"found": [np.asarray(values) for values in found]}


def model_of(**attributes):
    from nlpaug.model.word_stats import TfIdf

    model = TfIdf()
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def augmenter_of(model, **options):
    from nlpaug.augmenter.word import TfIdfAug, tfidf

    # The package takes the model that it has already read, if there is one.
    tfidf.TFIDF_MODEL = model
    return TfIdfAug(**options)


def turns(case):
    """A case, and what comes later to the same object."""
    return [{**case, **later} for later in [{}, *case.get("later", [])]]


def scores_of_a_text(case):
    model, found = model_of(), []
    for given in turns(case):
        model.w2idf = dict(given["table"])
        places, tokens = list(given["places"]), list(given["tokens"])
        normalised, scores = (model.cal_tfidf(places, tokens, **kind) for kind in ({}, {"normalize": False}))
        # The probability of one place is 0, in one form or another.
        normalised = np.asarray(normalised) if len(given["places"]) > 1 else bool(np.any(normalised))
        kept = [places == given["places"], tokens == given["tokens"], listed(model.w2idf) == listed(given["table"])]
        found.append({"normalised": normalised, "scores": np.asarray(scores), "kept": kept})
    return {"found": found}


def known_words(case):
    augmenter, found = augmenter_of(model_of()), []
    for given in turns(case):
        augmenter.model.w2idf = dict(given["known"])
        places, tokens = list(given["places"]), list(given["tokens"])
        known = list(augmenter.skip_aug(places, tokens))
        kept = [places == given["places"], tokens == given["tokens"]]
        found.append([known, kept, listed(augmenter.model.w2idf) == listed(given["known"])])
    return {"found": found}


def listed(table):
    """A dict as a list, since its order counts."""
    return [[word, float(value)] for word, value in table.items()]


def inverse_frequencies(case):
    model, found = model_of(), []
    for given in turns(case):
        documents = [list(document) for document in given["corpus"]]
        found.append([listed(model.cal_idf(documents)), documents == given["corpus"]])
    return {"found": found}


def trained(case):
    model, found = model_of(), []
    for given, normalize in zip(case["trainings"], case["normalize"], strict=True):
        model.normalize = normalize
        documents = [list(document) for document in given]
        model.train(documents)
        shares = [float(share) for share in model.tfidf_scores]
        found.append([listed(model.w2idf), listed(model.w2tfidf), list(model.tokens), shares])
        found.append([documents == given, model.normalize])
    return {"found": found}


def draws(case):
    model, found = model_of(), []
    for given in turns(case):
        model.tokens, model.tfidf_scores = list(given["words"]), list(given["shares"])
        found += [[str(word) for word in model.predict("w0", count)] for count in given["counts"]]
        found.append([model.tokens == given["words"], model.tfidf_scores == given["shares"]])
    return {"found": found}


class Scripted:
    """A model whose words tell for which token, and as one of how many, they were drawn."""

    def predict(self, data, top_k):
        backwards = data[::-1]
        return [f"{backwards.swapcase() if number % 2 else backwards.lower()}{number}" for number in range(top_k)]


def said(found):
    """A text, or a text and its changes."""
    if isinstance(found, tuple):
        text, changes = found
        return [text, [[[key, change[key]] for key in sorted(change)] for change in changes]]
    return found


def replaced(case):
    augmenter, found = augmenter_of(Scripted()), []
    if "other" in case:
        augmenter.tokenizer, augmenter.reverse_tokenizer = lambda text: text.split(" "), "_".join
    for given in turns(case):
        augmenter.top_k = given.get("top_k", 5)
        augmenter.include_detail = given["detail"]
        augmenter.parent_change_seq = given.get("start", 0)
        places = given["places"]
        augmenter._get_aug_idxes = lambda tokens, places=places: None if places is None else list(places)
        found += [said(augmenter.substitute(given["text"])) for _ in range(3)]
        found.append([augmenter.top_k, augmenter.include_detail, augmenter.parent_change_seq])
    return {"found": found}


def replaced_by_tfidf(case):
    model = model_of()
    model.train(case["documents"])
    augmenter = augmenter_of(model, **case["options"])
    found = []
    for number, text in enumerate(case["texts"]):
        augmenter.include_detail = number % 2 == 1
        found += [said(augmenter.substitute(text)) for _ in range(3)]
    return {"found": found}
