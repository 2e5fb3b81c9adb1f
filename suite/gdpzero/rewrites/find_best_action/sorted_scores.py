"""By max over tuples, with places that count backwards; from the leaf to the root."""

import math


def find_best_action(self, hashable_state):
    node = self.nodes[hashable_state]
    taken = math.fsum(node.counts)
    spread = self.configs.cpuct * math.sqrt(taken if taken > 0 else 1e-8)
    scored = [
        (spread / (1.0 + node.counts[place]) * float(node.prior[move]) + node.values[place], -place, move)
        for place, move in enumerate(node.moves)
    ]
    if not scored:
        return -1, -math.inf
    score, _, move = max(scored)
    return move, score


def backpropagate(self, path, value):
    for step in reversed(path):
        name, transcript = self._to_string_rep(step.session), step.session.transcript()
        old = self.realizations.get(name, {}).get(transcript)
        if old is None:
            new = Realization(step.session.copy(), value, 1)
        else:
            visits = old.visits + 1
            new = Realization(old.session, old.value * (old.visits / visits) + value / visits, visits)
        self.realizations[name] = {**self.realizations.get(name, {}), transcript: new}
        node = self.nodes[step.hashable_state]
        for place, move in enumerate(node.moves):
            if move == step.action:
                count = node.counts[place] + 1
                node.values[place] = node.values[place] * (1 - 1 / count) + value / count
                node.counts[place] = count
