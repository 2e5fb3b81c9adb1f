"""Open-loop Monte-Carlo tree search over dialogue acts."""

from random import Random

import numpy as np
from numpy.typing import NDArray

from core.acts import SYSTEM_ACTS
from core.config import SearchConfig
from core.game import PersuasionGame
from core.planner import PromptedPlanner
from core.session import PERSUADER, DialogSession
from core.tree import Node, Realization, Step


class OpenLoopMCTS:
    """One search tree.

    nodes: the nodes that were expanded, by name.
    realizations: for each name the dialogues that were simulated there, by their transcripts, in the order in which
    they came. The dialogue that a tree was made for stands in a node, and is no simulation.
    """

    def __init__(self, game: PersuasionGame, planner: PromptedPlanner, configs: SearchConfig, rng: Random) -> None:
        self.game = game
        self.planner = planner
        self.configs = configs
        self.rng = rng
        self.nodes: dict[str, Node] = {}
        self.realizations: dict[str, dict[str, Realization]] = {}

    def _to_string_rep(self, session: DialogSession) -> str:
        """The name of the node that a dialogue belongs to."""
        return "__".join(session.acts(PERSUADER))

    def _expand(self, session: DialogSession) -> None:
        """Make the node of a dialogue."""
        moves = self.planner.legal_acts(session)
        prior = np.zeros(len(SYSTEM_ACTS))
        if moves:
            proposed = self.planner.propose(session)
            prior[list(moves)] = proposed[list(moves)] / proposed[list(moves)].sum()
        self.nodes[self._to_string_rep(session)] = Node(
            moves, prior, [self.configs.q_0 for _ in moves], [0 for _ in moves]
        )

    def find_best_action(self, hashable_state: str) -> tuple[int, float]:
        """The number of the act that selection takes in a node, and its score."""
        node = self.nodes[hashable_state]
        total = max(sum(node.counts), 1e-8)
        best_action, best_uct = -1, -float("inf")
        for move, value, count in zip(node.moves, node.values, node.counts, strict=True):
            uct = value + self.configs.cpuct * node.prior[move] * total**0.5 / (1 + count)
            if uct > best_uct:
                best_action, best_uct = move, uct
        return best_action, best_uct

    def _next_session(self, session: DialogSession, action: int) -> DialogSession:
        """A dialogue in which an act was taken and answered: one of those that are kept, once they are enough."""
        name = "__".join([*session.acts(PERSUADER), SYSTEM_ACTS[action]])
        kept = list(self.realizations.get(name, {}).values())
        if len(kept) >= self.configs.max_realizations:
            return self.rng.choice(kept).session
        return self.game.next_session(session, SYSTEM_ACTS[action])

    def search(self, session: DialogSession) -> float:
        """One search from a dialogue down to a leaf, and the value that was found there."""
        path: list[Step] = []
        while (value := self.game.outcome(session)) is None:
            hashable_state = self._to_string_rep(session)
            action = -1
            if hashable_state in self.nodes:
                self.nodes[hashable_state].entered += 1
                action, _ = self.find_best_action(hashable_state)
            else:
                self._expand(session)
            if action < 0:
                value = self.planner.estimate_value(session)
                break
            session = self._next_session(session, action)
            path.append(Step(hashable_state, action, session))
        self.backpropagate(path, value)
        return value

    def backpropagate(self, path: list[Step], value: float) -> None:
        """Let a search that took these steps and found this value count, in the nodes and in the dialogues."""
        for step in path:
            node = self.nodes[step.hashable_state]
            place = node.moves.index(step.action)
            node.counts[place] += 1
            node.values[place] += (value - node.values[place]) / node.counts[place]
            kept = self.realizations.setdefault(self._to_string_rep(step.session), {})
            transcript = step.session.transcript()
            if transcript not in kept:
                kept[transcript] = Realization(step.session.copy(), value, 0)
            simulated = kept[transcript]
            simulated.value = (simulated.value * simulated.visits + value) / (simulated.visits + 1)
            simulated.visits += 1

    def get_action_prob(self, session: DialogSession) -> NDArray[np.float64]:
        """How often each act was taken at the root, as a distribution over SYSTEM_ACTS; zeros if none ever was."""
        node = self.nodes[self._to_string_rep(session)]
        distribution = np.zeros(len(SYSTEM_ACTS))
        distribution[list(node.moves)] = node.counts
        return distribution / max(distribution.sum(), 1.0)

    def candidates(self, session: DialogSession, action: int) -> list[Realization]:
        """The simulations in which an act was the next one."""
        name = "__".join([*session.acts(PERSUADER), SYSTEM_ACTS[action]])
        return list(self.realizations[name].values())
