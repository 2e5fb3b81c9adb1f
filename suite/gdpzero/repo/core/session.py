"""A dialogue between a persuader and a persuadee."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PERSUADER = "Persuader"
PERSUADEE = "Persuadee"


@dataclass(frozen=True)
class Turn:
    """What one of the two says, and the dialogue act of it."""

    speaker: str
    act: str
    utterance: str


class DialogSession:
    """The turns of a dialogue so far, in which persuader and persuadee take turns."""

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self.turns = list(turns)

    def add(self, speaker: str, act: str, utterance: str) -> None:
        """One more turn, in place."""
        self.turns.append(Turn(speaker, act, utterance))

    def copy(self) -> DialogSession:
        """A dialogue of the same turns, which can go on in another way."""
        return DialogSession(self.turns)

    def acts(self, speaker: str) -> list[str]:
        """The acts of one speaker, from the first to the last."""
        return [turn.act for turn in self.turns if turn.speaker == speaker]

    def utterances(self, speaker: str) -> list[str]:
        """The words of one speaker, from the first to the last."""
        return [turn.utterance for turn in self.turns if turn.speaker == speaker]

    def rounds(self) -> int:
        """How many times the persuadee has answered."""
        return len(self.acts(PERSUADEE))

    def text(self, window: int) -> str:
        """The last turns as a prompt shows them, which has no room for acts."""
        return "\n".join(f"{turn.speaker}: {turn.utterance}" for turn in self.turns[-window:])

    def transcript(self) -> str:
        """The whole dialogue. Two dialogues are the same simulation if their transcripts are equal."""
        return "\n".join(f"{turn.speaker}: [{turn.act}] {turn.utterance}" for turn in self.turns)
