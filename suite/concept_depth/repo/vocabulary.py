"""The words of all texts, and what a model that was trained on many texts would know of each."""

from dataclasses import dataclass

PAD = "<pad>"
QUESTION = "?"
NOISE = ("aaa", "bbb")

TONE = {
    1: ("stirring", "funny", "warm", "graceful", "bright", "charming"),
    -1: ("dull", "clumsy", "bitter", "tedious", "hollow", "grim"),
}
ABUSE = {1: ("vermin", "scum", "parasites", "filth"), -1: ("migrants", "refugees", "workers", "neighbours")}
REGIONS = {1: ("tokyo", "osaka", "kyoto", "nagoya"), -1: ("zagreb", "split", "osijek", "rijeka")}
COUNTRIES = {1: ("japan", "nippon"), -1: ("croatia", "hrvatska")}
PERSONS = {1: ("plato", "caesar", "homer", "nero"), -1: ("einstein", "curie", "turing", "bohr")}
THINGS = {1: ("scroll", "toga", "lyre", "chariot"), -1: ("radio", "bicycle", "camera", "telephone")}
FLIPS = {1: ("keeps", "leaves", "rests"), -1: ("flips", "turns", "reverses")}
NAMES = ("ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hal")
FILLERS = (
    "the", "a", "of", "in", "is", "and", "this", "that", "it", "with", "city", "movie", "coin", "people", "very", "so",
    "now", "here", "once", "could", "have", "own", "for", "on", "at", "by", "from", "or", "but", "they", "we", "all",
    "some", "one", "two", "every", "then", "when", "where", "still", "again", "also", "about", "over", "under", "after",
)  # fmt: skip


@dataclass(frozen=True)
class Word:
    """tone: what the word adds to the judgement of a text, 1, 0 or -1. turn: -1 if it reverses the judgement, or 1."""

    text: str
    tone: int = 0
    turn: int = 1


def make_vocabulary() -> list[Word]:
    """All words, in a fixed order; the place in this list is a word's id."""
    words = [Word(text) for text in (PAD, QUESTION, *NOISE, *NAMES, *FILLERS)]
    for group in (TONE, ABUSE):
        words += [Word(text, tone=sign) for sign, texts in group.items() for text in texts]
    for group in (REGIONS, COUNTRIES, PERSONS, THINGS, FLIPS):
        words += [Word(text, turn=sign) for sign, texts in group.items() for text in texts]
    return words


class Tokenizer:
    """Words to ids. Texts of one batch are filled up with PAD at the front, so that all end at the same place."""

    def __init__(self, words: list[Word]) -> None:
        self.ids = {word.text: place for place, word in enumerate(words)}

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Rows of ids, all of the length of the longest text."""
        rows = [[self.ids[word] for word in text.split()] for text in texts]
        longest = max(len(row) for row in rows)
        return [[self.ids[PAD]] * (longest - len(row)) + row for row in rows]
