"""Persuaders: one that says anything, one that says what the model samples, and one that searches first."""

from random import Random
from typing import Protocol

import numpy as np

from core.acts import GREETING, PROPOSITION, SYSTEM_ACTS, act_number
from core.config import SearchConfig
from core.game import PersuasionGame
from core.mcts import OpenLoopMCTS
from core.metrics import MetricsLog
from core.planner import PromptedPlanner
from core.session import PERSUADER, DialogSession
from core.wording import SYSTEM_LINES


class Persuader(Protocol):
    """Somebody who finds the next act of a dialogue and the words for it."""

    def respond(self, session: DialogSession) -> tuple[str, str]:
        """The next act and utterance."""
        ...


class CasualPersuader:
    """Greets, and then takes any act, most often that of asking for money, and says any line of it."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def respond(self, session: DialogSession) -> tuple[str, str]:
        """The next act and utterance."""
        others = [act for act in SYSTEM_ACTS if act != GREETING]
        act = self.rng.choice([*others, *[PROPOSITION] * 2]) if session.turns else GREETING
        return act, self.rng.choice(SYSTEM_LINES[act])[0]


class PlainPersuader:
    """Takes the first act that the model samples, as prompting without a search does."""

    def __init__(self, planner: PromptedPlanner) -> None:
        self.planner = planner

    def respond(self, session: DialogSession) -> tuple[str, str]:
        """The next act and utterance. An act that isn't legal gives way to the first legal one."""
        legal = self.planner.legal_acts(session)
        (act,) = self.planner.model.next_acts(session, 1)
        if act_number(act) not in legal:
            act = SYSTEM_ACTS[legal[0]]
        return act, self.planner.model.say(act)


class SearchingPersuader:
    """Makes a new tree for each of its turns, and takes the act that was taken most often at the root."""

    def __init__(
        self, game: PersuasionGame, planner: PromptedPlanner, configs: SearchConfig, rng: Random, log: MetricsLog
    ) -> None:
        self.game = game
        self.planner = planner
        self.configs = configs
        self.rng = rng
        self.log = log

    def respond(self, session: DialogSession) -> tuple[str, str]:
        """The next act, and its utterance out of the simulations: the one with the highest value, or any."""
        tree = OpenLoopMCTS(self.game, self.planner, self.configs, self.rng)
        for _ in range(self.configs.num_mcts_sims):
            tree.search(session)
        action = int(np.argmax(tree.get_action_prob(session)))
        candidates = tree.candidates(session, action)
        if self.configs.response_selection:
            chosen = max(candidates, key=lambda simulated: simulated.value)
        else:
            chosen = self.rng.choice(candidates)
        root = tree.nodes[tree._to_string_rep(session)]
        self.log.add("nodes", len(tree.nodes))
        self.log.add("simulations", sum(len(kept) for kept in tree.realizations.values()))
        self.log.add("entered", root.entered)
        self.log.add("value", chosen.value)
        self.log.add("gain of selection", chosen.value - sum(one.value for one in candidates) / len(candidates))
        return SYSTEM_ACTS[action], chosen.session.utterances(PERSUADER)[session.rounds()]
