"""The persuader's side of a search: which acts are legal, a prior over them, and the value of a dialogue."""

import numpy as np
from numpy.typing import NDArray

from core.acts import GREETING, PROPOSITION, STRATEGY, SYSTEM_ACTS, USER_ACT_VALUES, act_number
from core.config import GameConfig, PromptConfig
from core.model import ScriptedModel
from core.session import PERSUADER, DialogSession
from core.wording import QUESTION

_TONE = 0.05


class PromptedPlanner:
    """Asks a language model, as the paper's appendix B describes."""

    def __init__(self, model: ScriptedModel, prompts: PromptConfig, rules: GameConfig) -> None:
        self.model = model
        self.prompts = prompts
        self.rules = rules

    def legal_acts(self, session: DialogSession) -> tuple[int, ...]:
        """The numbers of the acts that may come next: those not used yet first, each part in the order of STRATEGY.

        One greets at the beginning alone, and doesn't begin with asking for money. After the last round none is legal.
        """
        if session.rounds() >= self.rules.max_rounds:
            return ()
        barred = GREETING if session.turns else PROPOSITION
        used = session.acts(PERSUADER)
        return tuple(act_number(name) for name in sorted(STRATEGY, key=lambda name: name in used) if name != barred)

    def propose(self, session: DialogSession) -> NDArray[np.float64]:
        """A distribution over SYSTEM_ACTS from sampled acts, of which each is counted once more than it occurred."""
        counts = np.ones(len(SYSTEM_ACTS))
        for act in self.model.next_acts(session, self.prompts.prior_samples):
            counts[act_number(act)] += 1
        return counts / counts.sum()

    def estimate_value(self, session: DialogSession) -> float:
        """What answers to the question for a donation are worth on average, from -1 to 1.

        An answer's act makes up nearly all of its worth, and its tone the rest.
        """
        asked = session.copy()
        asked.add(PERSUADER, PROPOSITION, QUESTION)
        total = 0.0
        for _ in range(self.prompts.value_samples):
            someone = self.model.imagine(asked)
            act, tone = self.model.inclination(someone, asked, self.prompts.value_temperature)
            total += (1 - _TONE) * USER_ACT_VALUES[act] + _TONE * tone
        return total / self.prompts.value_samples
