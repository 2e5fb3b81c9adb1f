"""The formulas as the paper writes them."""


def find_best_action(self, hashable_state):
    node = self.nodes[hashable_state]
    if not node.moves:
        return -1, -float("inf")
    total = sum(node.counts) or 1e-8
    scores = [
        value + self.configs.cpuct * node.prior[move] * total**0.5 / (1 + count)
        for move, value, count in zip(node.moves, node.values, node.counts, strict=True)
    ]
    best = scores.index(max(scores))
    return node.moves[best], scores[best]


def backpropagate(self, path, value):
    for step in path:
        node = self.nodes[step.hashable_state]
        i = node.moves.index(step.action)
        node.counts[i] += 1
        node.values[i] += (value - node.values[i]) / node.counts[i]

        kept = self.realizations.setdefault(self._to_string_rep(step.session), {})
        key = step.session.transcript()
        if key not in kept:
            kept[key] = Realization(step.session.copy(), 0.0, 0)
        dialogue = kept[key]
        dialogue.value = (dialogue.value * dialogue.visits + value) / (dialogue.visits + 1)
        dialogue.visits += 1
