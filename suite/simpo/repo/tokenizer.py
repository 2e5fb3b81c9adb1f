"""Words and their numbers."""

from dataclasses import dataclass, field

TOPICS = ("moon", "tide", "rain", "fire", "wind", "snow")
FACTS = ("light", "water", "heat", "ice", "air", "salt", "dust", "stone")
FILLERS = ("well", "so", "indeed", "very", "quite", "really", "also", "again")
QUESTION = ("what", "is", "the")
PAD, END = "<pad>", "<end>"


@dataclass(frozen=True)
class Tokenizer:
    """Splits at spaces; every word must be in the list."""

    words: tuple[str, ...] = (PAD, END, *QUESTION, *TOPICS, *FACTS, *FILLERS)
    ids: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", {word: number for number, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    @property
    def pad(self) -> int:
        """The token behind the end of a sequence."""
        return self.ids[PAD]

    @property
    def end(self) -> int:
        """The token that closes a response."""
        return self.ids[END]

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return [self.ids[word] for word in text.split()]
