"""The prompts of the three steps (Section 3.2, Appendix A), in words of our own: who answers, and what is asked.

A user prompt holds the sentence X, what the chain hands over, and a question: the table S and its explanation E for
step 1, R1 for step 2, R2 for step 3. Where a step is left out or a link is broken, nothing is handed over.
"""

from dataclasses import dataclass

_SYSTEMS = {
    1: "You explain how sentences are built. Be exact, and use 200 words at most.",
    2: "You find out what people think. Be exact, and use 120 words at most.",
    3: "You judge sentiments. Begin with: The sentiment towards ASPECT is positive, negative or neutral.",
}
# Q1, Q2 and Q3.
_QUESTIONS = {
    1: 'Which words belong to "{aspect}", by the relations of the table?',
    2: 'What does the writer think of "{aspect}", given all of this?',
    3: 'Which sentiment towards "{aspect}" does this express?',
}
EXPLANATION = (
    "Each row of the table is a word, and its ten columns are parted by tabs: ID, the word's number in its sentence; "
    "TEXT, the word; LEMMA, its base form; POS, its universal part of speech; TAG, its detailed one; FEATS, its "
    "grammatical features; HEAD, the number of the word that governs it; DEPREL, how it is governed; DEPS, which stays "
    "empty; MISC, anything else. A row without anything ends a sentence."
)


@dataclass(frozen=True)
class Prompt:
    """What one step asks."""

    step: int
    system: str
    user: str


def make_prompt(step: int, text: str, aspect: str, given: str = "") -> Prompt:
    """given: S for step 1, else the response of an earlier step; empty for none."""
    parts = [f"Sentence: {' '.join(text.split())}"]
    if given:
        parts.append(given)
    if step == 1:
        parts.append(EXPLANATION)
    parts.append(_QUESTIONS[step].format(aspect=aspect))
    return Prompt(step, _SYSTEMS[step], "\n".join(parts))


def sentiment_of(response: str) -> str:
    """The polarity word of the first sentence of R3; neutral where there is none (Section 3.2)."""
    words = response.partition(".")[0].lower().split()
    return next((word for word in words if word in ("positive", "negative", "neutral")), "neutral")
