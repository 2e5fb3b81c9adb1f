"""People who are asked to donate: what keeps them from it, how they warm to it, and what they answer."""

from dataclasses import dataclass
from random import Random

from core.acts import APPEALS, DONATE, GREETING, INQUIRY, NO_DONATION, PROPOSITION
from core.session import PERSUADER, DialogSession
from core.wording import CONCERNS, USER_LINES, force

# The appeal that answers each concern.
_ANSWERS = {"trust": "credibility appeal", "effect": "logical appeal", "distance": "emotion appeal"}
_NOISE = 0.12
_ASKED_TOO_EARLY = 0.45
# What a warmth up to each bound means, to somebody who is asked to give and to somebody who is not.
_ASKED = ((0.15, NO_DONATION), (0.35, "negative reaction"), (0.6, "neutral"), (0.85, "positive reaction"))
_NOT_ASKED = ((0.1, "negative reaction"), (0.45, "neutral"))


@dataclass(frozen=True)
class Persona:
    """concern: what keeps this person from giving. start: the warmth towards giving before anything is said."""

    concern: str
    start: float


def draw_persona(rng: Random) -> Persona:
    """Any person."""
    return Persona(rng.choice(sorted(CONCERNS)), rng.uniform(0.0, 0.3))


def warmth(persona: Persona, session: DialogSession) -> float:
    """How ready a person is to give, after all that the persuader has said."""
    level = persona.start
    used: dict[str, int] = {}
    for act, utterance in zip(session.acts(PERSUADER), session.utterances(PERSUADER), strict=True):
        fresh = 0.5 ** used.get(act, 0)
        used[act] = used.get(act, 0) + 1
        if act in APPEALS:
            level += (0.4 if _ANSWERS[persona.concern] == act else 0.06) * force(utterance) * fresh
        elif act == INQUIRY:
            level += 0.1 * force(utterance) * fresh
        elif act == GREETING:
            level += 0.05 * force(utterance) * fresh
        elif act == PROPOSITION and level < _ASKED_TOO_EARLY:
            level -= 0.15 / force(utterance)
    return level


def react(persona: Persona, session: DialogSession, rng: Random, temperature: float = 1.0) -> tuple[str, str]:
    """The act and the words with which a person answers the last line of the persuader."""
    last = session.acts(PERSUADER)[-1]
    felt = warmth(persona, session) + rng.gauss(0.0, _NOISE * temperature)
    bounds, above = (_ASKED, DONATE) if last == PROPOSITION else (_NOT_ASKED, "positive reaction")
    act = next((act for bound, act in bounds if felt <= bound), above)
    speaks_up = rng.random() < (0.9 if last == INQUIRY else 0.25)
    if speaks_up and act in ("negative reaction", "neutral"):
        return act, CONCERNS[persona.concern]
    return act, rng.choice(USER_LINES[act])
