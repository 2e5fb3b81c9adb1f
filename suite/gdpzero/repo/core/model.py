"""A scripted stand-in for a language model, in the roles in which it is prompted.

It reads the text of a prompt, and can be wrong: of the person it talks to it knows no more than what this person said.
"""

from random import Random

from core.acts import APPEALS, GREETING, INQUIRY, PROPOSITION, SYSTEM_ACTS
from core.persona import Persona, draw_persona, react
from core.session import PERSUADEE, DialogSession
from core.wording import CONCERNS, SYSTEM_LINES

# How strongly a concern that was heard is believed in.
_BELIEF = 0.85


class ScriptedModel:
    """window: the number of turns that fit into a prompt."""

    def __init__(self, window: int, rng: Random) -> None:
        self.window = window
        self.rng = rng

    def next_act(self, session: DialogSession) -> str:
        """One sample of the act that a persuader would take next, by habit: it asks for money soon and often."""
        if not session.turns:
            weights = {GREETING: 8.0, INQUIRY: 1.0}
        else:
            weights = dict.fromkeys(APPEALS, 1.5) | {PROPOSITION: 2.5, INQUIRY: 1.0, "other": 1.0}
            if session.acts(PERSUADEE)[-1] == "positive reaction":
                weights[PROPOSITION] = 6.0
        names = [name for name in SYSTEM_ACTS if name in weights]
        return self.rng.choices(names, [weights[name] for name in names])[0]

    def say(self, act: str) -> str:
        """A line for an act of the persuader."""
        return self.rng.choice(SYSTEM_LINES[act])[0]

    def answer(self, session: DialogSession, temperature: float = 1.0) -> tuple[str, str]:
        """The act and the words with which the persuadee may answer, played for a person whom the model imagines."""
        return react(self._imagine(session), session, self.rng, temperature)

    def tone(self) -> float:
        """How much warmer or colder than its act says an answer sounds, from -1 to 1."""
        return self.rng.uniform(-1.0, 1.0)

    def _imagine(self, session: DialogSession) -> Persona:
        """Somebody who may have spoken as the persuadee did."""
        someone = draw_persona(self.rng)
        text = session.text(self.window)
        heard = [concern for concern, words in CONCERNS.items() if f"{PERSUADEE}: {words}" in text]
        if heard and self.rng.random() < _BELIEF:
            return Persona(self.rng.choice(heard), someone.start)
        return someone
