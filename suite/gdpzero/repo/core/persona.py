"""People who are asked to donate: what keeps them from it, how they warm to it, and what they answer."""

from dataclasses import dataclass
from random import Random
from statistics import NormalDist

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
    return Persona(rng.choice(list(CONCERNS)), rng.uniform(0.0, 0.3))


def warmth(persona: Persona, session: DialogSession) -> float:
    """How ready a person is to give, after all that the persuader has said."""
    level = persona.start
    acts = session.acts(PERSUADER)
    for place, (act, utterance) in enumerate(zip(acts, session.utterances(PERSUADER), strict=True)):
        fresh = 0.6 ** acts[:place].count(act)
        if act in APPEALS:
            level += (0.4 if _ANSWERS[persona.concern] == act else 0.06) * force(utterance) * fresh
        elif act == INQUIRY:
            level += 0.1 * force(utterance) * fresh
        elif act == GREETING:
            level += 0.05 * force(utterance) * fresh
        elif act == PROPOSITION and level < _ASKED_TOO_EARLY:
            level -= 0.15 / force(utterance)
    return level


def feeling(persona: Persona, session: DialogSession, rng: Random, temperature: float = 1.0) -> float:
    """What a person feels about giving when an answer is due: the warmth, and what the moment adds to it."""
    return warmth(persona, session) + rng.gauss(0.0, _NOISE * temperature)


def act_of(felt: float, last: str) -> str:
    """The act of an answer, after a last act of the persuader."""
    bounds, above = _meanings(last)
    return next((act for bound, act in bounds if felt <= bound), above)


def react(persona: Persona, session: DialogSession, rng: Random, temperature: float = 1.0) -> tuple[str, str]:
    """The act and the words with which a person answers the last line of the persuader."""
    last = session.acts(PERSUADER)[-1]
    act = act_of(feeling(persona, session, rng, temperature), last)
    line = rng.choice(USER_LINES[act])
    speaks_up = rng.random() < (0.9 if last == INQUIRY else 0.35)
    if speaks_up and act in ("negative reaction", "neutral"):
        line = CONCERNS[persona.concern]
    return act, line


def answer_chances(persona: Persona, session: DialogSession) -> dict[str, float]:
    """With which probability a person answers the last line of the persuader by each act."""
    felt = NormalDist(warmth(persona, session), _NOISE)
    bounds, above = _meanings(session.acts(PERSUADER)[-1])
    chances, below = {}, 0.0
    for bound, act in bounds:
        chances[act] = felt.cdf(bound) - below
        below = felt.cdf(bound)
    return chances | {above: 1 - below}


def _meanings(last: str) -> tuple[tuple[tuple[float, str], ...], str]:
    """The acts that a feeling up to each bound leads to, and the act above all bounds."""
    return (_ASKED, DONATE) if last == PROPOSITION else (_NOT_ASKED, "positive reaction")
