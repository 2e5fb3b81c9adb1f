"""Words of short film reviews, and their numbers."""

PAD, END = "<pad>", "<end>"
SUBJECTS = ("film", "plot", "cast", "music", "ending")
POSITIVE = ("great", "moving", "funny", "brilliant", "warm", "clever")
NEGATIVE = ("dull", "awful", "noisy", "clumsy", "cold", "stale")
LINKS = ("and", "but", "very", "quite")
WORDS = (PAD, END, "the", "was", *SUBJECTS, *POSITIVE, *NEGATIVE, *LINKS)


class Tokenizer:
    """One token a word."""

    def __init__(self, words: tuple[str, ...] = WORDS) -> None:
        self.words = words
        self.numbers = {word: number for number, word in enumerate(words)}
        self.pad, self.end = self.numbers[PAD], self.numbers[END]

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Numbers of the words of a text; a word that is not in the list is a KeyError."""
        return [self.numbers[word] for word in text.split()]

    def decode(self, tokens: list[int]) -> str:
        """The text of tokens, without padding and without what follows the end."""
        kept = tokens[: tokens.index(self.end)] if self.end in tokens else tokens
        return " ".join(self.words[token] for token in kept if token != self.pad)
