"""A word-level tokenizer over a fixed list of words."""

from collections.abc import Iterable, Sequence

PAD, BOS, EOS, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"


class WordTokenizer:
    """Splits at white space. The special tokens come first, so that the padding's id is 0."""

    def __init__(self, words: Iterable[str]) -> None:
        self._tokens = [PAD, BOS, EOS, UNKNOWN, *sorted(set(words))]
        self._ids = {token: number for number, token in enumerate(self._tokens)}
        self.pad_id, self.bos_id, self.eos_id = (self._ids[token] for token in (PAD, BOS, EOS))

    def __len__(self) -> int:
        return len(self._tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of the words, without special tokens around them."""
        return [self._ids.get(word, self._ids[UNKNOWN]) for word in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """The words before the end of the text; padding and start are left out."""
        ids = [number for number in ids if number not in (self.pad_id, self.bos_id)]
        end = ids.index(self.eos_id) if self.eos_id in ids else len(ids)
        return " ".join(self._tokens[number] for number in ids[:end])
