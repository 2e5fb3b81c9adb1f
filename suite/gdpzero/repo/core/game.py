"""The rules of a dialogue, and how a model plays both sides of its next round."""

from core.acts import DONATE, NO_DONATION
from core.config import GameConfig
from core.model import ScriptedModel
from core.session import PERSUADEE, PERSUADER, DialogSession


class PersuasionGame:
    """A persuader asks a persuadee for a donation."""

    def __init__(self, model: ScriptedModel, rules: GameConfig) -> None:
        self.model = model
        self.rules = rules

    def next_session(self, session: DialogSession, act: str) -> DialogSession:
        """A simulation of one more round: a new dialogue, in which the persuader takes an act and is answered."""
        longer = session.copy()
        longer.add(PERSUADER, act, self.model.say(act))
        longer.add(PERSUADEE, *self.model.answer(longer))
        return longer

    def outcome(self, session: DialogSession) -> float | None:
        """1 if the dialogue has ended with a donation, -1 if the persuadee has left, None if it goes on."""
        answers = session.acts(PERSUADEE)
        if DONATE in answers:
            return 1.0
        return -1.0 if answers.count(NO_DONATION) >= self.rules.patience else None
