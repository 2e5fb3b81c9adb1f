"""The words of the toy reviews: how they are tagged, and which of them are opinions."""

from dataclasses import dataclass

from parses import Token

NEUTRAL, POSITIVE, NEGATIVE = 0, 1, -1

# Opinion words, by lemma and part of speech. A neutral opinion is an opinion too.
_OPINIONS = {
    ("ADJ", POSITIVE): "great good fresh tasty friendly superb crisp",
    ("ADJ", NEGATIVE): "bad dreadful slow cold rude bland noisy",
    ("ADJ", NEUTRAL): "average ordinary typical",
    ("NOUN", POSITIVE): "bargain delight",
    ("NOUN", NEGATIVE): "disaster letdown",
    ("VERB", POSITIVE): "love enjoy impress shine",
    ("VERB", NEGATIVE): "hate regret disappoint annoy",
}
POLARITIES = {(lemma, pos): value for (pos, value), lemmas in _OPINIONS.items() for lemma in lemmas.split()}

_NOUNS = """food service pizza pasta soup waiter menu wine dessert screen keyboard music room table cheese cream parm
list life lunch battery meatball ice choice place bargain delight disaster letdown"""
LINKING = ("taste", "seem", "look")
_VERBS = ("love", "enjoy", "impress", "hate", "annoy", "disappoint", "order", "arrive", "taste", "seem", "look")
_ADJECTIVES = [lemma for lemma, pos in POLARITIES if pos == "ADJ"] + ["red", "small", "new"]

# The features that a tag brings with it.
_FEATURES = {
    "NN": {"Number": ("Sing",)},
    "VBD": {"VerbForm": ("Fin",), "Tense": ("Past",), "Mood": ("Ind",)},
    "VB": {"VerbForm": ("Inf",)},
    "JJ": {"Degree": ("Pos",)},
    "DT": {"PronType": ("Art",), "Definite": ("Def",)},
    "WDT": {"PronType": ("Rel", "Int")},
    "NEG": {"Polarity": ("Neg",)},
}


@dataclass(frozen=True)
class Entry:
    """What is known of a word form."""

    lemma: str
    pos: str
    tag: str
    features: dict[str, tuple[str, ...]]


def _past(lemma: str) -> str:
    return f"{lemma}d" if lemma.endswith("e") else f"{lemma}ed"


def _entries() -> dict[str, Entry]:
    rows = [
        ("the", "the", "DET", "DT"),
        ("is", "be", "AUX", "VBZ"),
        ("was", "be", "AUX", "VBD"),
        ("were", "be", "AUX", "VBD"),
        ("did", "do", "AUX", "VBD"),
        ("think", "think", "VERB", "VBP"),
        ("shone", "shine", "VERB", "VBD"),
        ("regretted", "regret", "VERB", "VBD"),
        ("that", "that", "PRON", "WDT"),
        ("which", "which", "PRON", "WDT"),
        ("with", "with", "ADP", "IN"),
        *((word, word, "CCONJ", "CC") for word in ("and", "but", "or", "yet")),
        *((word, word, "ADV", "RB") for word in ("very", "really", "always", "late")),
        *((noun, noun, "NOUN", "NN") for noun in _NOUNS.split()),
        *((word, word, "ADJ", "JJ") for word in _ADJECTIVES),
        *((_past(verb), verb, "VERB", "VBD") for verb in _VERBS),
        *((verb, verb, "VERB", "VB") for verb in _VERBS),
        *((mark, mark, "PUNCT", mark) for mark in ",.!"),
    ]
    entries = {form: Entry(lemma, pos, tag, _FEATURES.get(tag, {})) for form, lemma, pos, tag in rows}
    for form, lemma in (("not", "not"), ("n't", "not"), ("never", "never")):
        entries[form] = Entry(lemma, "PART" if lemma == "not" else "ADV", "RB", _FEATURES["NEG"])
    article = {"PronType": ("Art",), "Definite": ("Ind",)}
    entries |= {form: Entry("a", "DET", "DT", article) for form in ("a", "an")}
    for form, number, person in (("i", ("Sing",), "1"), ("we", ("Plur",), "1"), ("you", ("Sing", "Plur"), "2")):
        features = {"PronType": ("Prs",), "Person": (person,), "Number": number, "Case": ("Nom",)}
        entries[form] = Entry(form, "PRON", "PRP", features)
    entries["us"] = Entry("we", "PRON", "PRP", {"PronType": ("Prs",), "Person": ("1",), "Number": ("Plur",)})
    return entries


_ENTRIES = _entries()


def look_up(form: str) -> Entry:
    """The entry of a word form, in capitals or not. A word that is not known is a name."""
    return _ENTRIES.get(form.lower()) or Entry("", "PROPN", "NNP", {})


def polarity(token: Token) -> int | None:
    """1, 0 or -1 for an opinion word; None for any other word."""
    return POLARITIES.get((token.lemma, token.pos))
