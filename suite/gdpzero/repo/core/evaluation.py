"""Interactive evaluation, with whole dialogues, and static evaluation, of single responses in given dialogues."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from core.acts import DONATE, PROPOSITION, SYSTEM_ACTS, USER_ACT_VALUES
from core.game import PersuasionGame
from core.persona import Persona, answer_chances, react
from core.persuaders import Persuader
from core.session import PERSUADEE, PERSUADER, DialogSession
from core.wording import QUESTION


@dataclass(frozen=True)
class Played:
    """A dialogue with a person, and how it ended."""

    persona: Persona
    session: DialogSession
    outcome: float | None


def play(game: PersuasionGame, persuader: Persuader, persona: Persona, rng: Random) -> Played:
    """A whole dialogue, to its end or for as many rounds as there are. The person is no simulation."""
    session = DialogSession()
    while game.outcome(session) is None and session.rounds() < game.rules.max_rounds:
        session.add(PERSUADER, *persuader.respond(session))
        session.add(PERSUADEE, *react(persona, session, rng))
    return Played(persona, session, game.outcome(session))


def donation_rate(dialogues: Sequence[Played]) -> float:
    """The share of dialogues that end with a donation."""
    return sum(played.outcome == 1.0 for played in dialogues) / len(dialogues)


def rejection_rate(dialogues: Sequence[Played]) -> float:
    """The share of dialogues that the persuadee leaves."""
    return sum(played.outcome == -1.0 for played in dialogues) / len(dialogues)


def act_frequencies(dialogues: Iterable[Played]) -> dict[str, float]:
    """How often the persuader takes each act."""
    counts = Counter(act for played in dialogues for act in played.session.acts(PERSUADER))
    total = sum(counts.values())
    return {act: counts[act] / total for act in SYSTEM_ACTS}


def contexts(dialogues: Iterable[Played]) -> list[tuple[Persona, DialogSession]]:
    """Each dialogue as it was before each turn of the persuader but the first, and the person it is with."""
    return [
        (played.persona, DialogSession(played.session.turns[: 2 * turn]))
        for played in dialogues
        for turn in range(1, played.session.rounds())
    ]


def donation_probability(dialogues: Sequence[Played]) -> float:
    """How likely people donate in the end. Those whose dialogue ran out of rounds are asked once more."""
    chances = []
    for played in dialogues:
        asked = played.session.copy()
        asked.add(PERSUADER, PROPOSITION, QUESTION)
        if played.outcome is None:
            chances.append(answer_chances(played.persona, asked)[DONATE])
        else:
            chances.append(float(played.outcome > 0))
    return sum(chances) / len(chances)


def judge(persona: Persona, session: DialogSession, response: tuple[str, str]) -> float:
    """How persuasive a response is: what this very person would answer to the question for a donation after it."""
    after = session.copy()
    after.add(PERSUADER, *response)
    after.add(PERSUADER, PROPOSITION, QUESTION)
    return sum(USER_ACT_VALUES[act] * chance for act, chance in answer_chances(persona, after).items())


def win_rate(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The share of responses that are judged more persuasive than the others'; a draw counts half."""
    points = sum(0.5 if mine == other else float(mine > other) for mine, other in zip(ours, theirs, strict=True))
    return points / len(ours)
