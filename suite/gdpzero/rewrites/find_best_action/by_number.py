"""Keeps the scores of all acts by number, those that are not legal at minus infinity; replaces lists, not entries."""


def find_best_action(self, hashable_state):
    node = self.nodes[hashable_state]
    scores = np.full(len(SYSTEM_ACTS), -np.inf)
    total = float(max(sum(node.counts), 1e-8))
    for place, move in enumerate(node.moves):
        bonus = node.prior[move] * np.sqrt(total) / (node.counts[place] + 1)
        scores[move] = node.values[place] + bonus * self.configs.cpuct
    return next(((move, float(scores[move])) for move in node.moves if scores[move] == scores.max()), (-1, -np.inf))


def backpropagate(self, path, value):
    for step in path:
        node = self.nodes[step.hashable_state]
        taken = [move == step.action for move in node.moves]
        node.counts = [count + chosen for count, chosen in zip(node.counts, taken, strict=True)]
        node.values = [
            old + (value - old) / count if chosen else old
            for old, count, chosen in zip(node.values, node.counts, taken, strict=True)
        ]
    for step in path:
        kept = self.realizations.setdefault(self._to_string_rep(step.session), {})
        one = kept.setdefault(step.session.transcript(), Realization(DialogSession(step.session.turns), 0.0, 0))
        one.visits += 1
        one.value -= (one.value - value) / one.visits
