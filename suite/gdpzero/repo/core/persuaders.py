"""Persuaders: one that says what comes to its mind, and one that searches first."""

from random import Random
from typing import Protocol

import numpy as np

from core.acts import SYSTEM_ACTS, act_number
from core.config import SearchConfig
from core.game import PersuasionGame
from core.mcts import OpenLoopMCTS
from core.metrics import MetricsLog
from core.planner import PromptedPlanner
from core.session import PERSUADER, DialogSession


class Persuader(Protocol):
    """Somebody who finds the next act of a dialogue and the words for it."""

    def respond(self, session: DialogSession) -> tuple[str, str]:
        """The next act and utterance."""
        ...


class PlainPersuader:
    """Takes the first act that the model samples, as prompting without a search does."""

    def __init__(self, planner: PromptedPlanner) -> None:
        self.planner = planner

    def respond(self, session: DialogSession) -> tuple[str, str]:
        """The next act and utterance. An act that isn't legal gives way to the first legal one."""
        legal = self.planner.legal_acts(session)
        act = self.planner.model.next_act(session)
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
        self.log.add("gain of selection", chosen.value - sum(one.value for one in candidates) / len(candidates))
        return SYSTEM_ACTS[action], chosen.session.utterances(PERSUADER)[session.rounds()]
