"""A scripted stand-in for a language model, in the roles in which it is prompted.

It reads the text of a prompt, and can be wrong: of the person it talks to it knows no more than what this person said.
"""

import math
from random import Random

from core.acts import APPEALS, GREETING, INQUIRY, PROPOSITION, SYSTEM_ACTS
from core.persona import Persona, act_of, draw_persona, feeling, react
from core.session import PERSUADEE, PERSUADER, DialogSession
from core.wording import CONCERNS, SYSTEM_LINES

# How strongly a concern that was heard is believed in.
_BELIEF = 0.85


class ScriptedModel:
    """window: the number of turns that fit into a prompt."""

    def __init__(self, window: int, rng: Random) -> None:
        self.window = window
        self.rng = rng

    def habit(self, session: DialogSession) -> dict[str, float]:
        """With which probability a persuader would take each act next, by habit: it asks for money soon and often."""
        if not session.turns:
            weights = {GREETING: 8.0, INQUIRY: 1.0}
        else:
            weights = dict.fromkeys(APPEALS, 1.5) | {PROPOSITION: 2.5, INQUIRY: 1.0, "other": 1.0}
            if session.acts(PERSUADEE)[-1] == "positive reaction":
                weights[PROPOSITION] = 6.0
        total = sum(weights.values())
        return {name: weights.get(name, 0.0) / total for name in SYSTEM_ACTS}

    def next_acts(self, session: DialogSession, number: int) -> list[str]:
        """So many samples of the act that comes next."""
        chances = self.habit(session)
        return self.rng.choices(list(chances), list(chances.values()), k=number)

    def say(self, act: str) -> str:
        """A line for an act of the persuader."""
        return self.rng.choice(SYSTEM_LINES[act])[0]

    def answer(self, session: DialogSession, temperature: float = 1.0) -> tuple[str, str]:
        """The act and the words with which the persuadee may answer, played for a person whom the model imagines."""
        return react(self.imagine(session), session, self.rng, temperature)

    def inclination(self, someone: Persona, session: DialogSession, temperature: float) -> tuple[str, float]:
        """The act of an answer that is played for somebody, and how cold or warm it sounds, from -1 to 1."""
        felt = feeling(someone, session, self.rng, temperature)
        return act_of(felt, session.acts(PERSUADER)[-1]), math.tanh(2 * felt)

    def imagine(self, session: DialogSession) -> Persona:
        """Somebody who may have spoken as the persuadee did."""
        someone = draw_persona(self.rng)
        text = session.text(self.window)
        heard = [concern for concern, words in CONCERNS.items() if f"{PERSUADEE}: {words}" in text]
        if heard and self.rng.random() < _BELIEF:
            return Persona(self.rng.choice(heard), someone.start)
        return someone
