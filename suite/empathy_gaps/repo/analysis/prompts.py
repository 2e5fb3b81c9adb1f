"""Prompt settings (Section 3.3): a persona, a scale and a form of the narrative, one varied at a time."""

from dataclasses import dataclass

PERSONAS = {
    "P0": "You are {identity}.",
    "P1": "You are {identity}. Answer with what this persona knows and is able to do.",
    "P2": "Become {identity}. Keep strictly to what this identity would say.",
    "P3": "Play the role of {identity}. It is essential to stay true to the role.",
}
SCALES = {"S0": 100, "S1": 10}
NARRATIVES = {
    "T0": 'Here {identity} tells when they felt {emotion}: "{event}"',
    "T1": '{identity} says: "I felt {emotion} when {event}"',
    "T2": 'Told by {identity}, from outside: "They felt {emotion} when {event}"',
}
PROMPT_VARIATIONS = ("P0S0T0", "P1S0T0", "P2S0T0", "P3S0T0", "P0S1T0", "P0S0T1", "P0S0T2")


@dataclass(frozen=True)
class Event:
    """An experience of the corpus, with the emotion that its author reported."""

    id: int
    emotion: str
    text: str


def make_prompt(event: Event, perceiver: str, experiencer: str, prompt_variation: str) -> tuple[str, str]:
    """The system prompt, which gives the model its persona, and the task prompt, which names the experiencer."""
    persona, scale, narrative = (prompt_variation[start : start + 2] for start in (0, 2, 4))
    system = (
        f"{PERSONAS[persona].format(identity=perceiver)} Rate the intensity of the emotion from 0 to {SCALES[scale]}. "
        "Give the number alone."
    )
    told = NARRATIVES[narrative].format(identity=experiencer, emotion=event.emotion, event=event.text)
    return system, f"{told}\nHow strong was the {event.emotion}?"
