"""Scores as an array over the legal acts; averages as sums of parts."""


def find_best_action(self, hashable_state):
    node = self.nodes[hashable_state]
    if not node.moves:
        return -1, float("-inf")
    counts = np.array(node.counts, dtype=np.float64)
    total = counts.sum() or 1e-8
    scores = np.array(node.values) + self.configs.cpuct * node.prior[list(node.moves)] * np.sqrt(total) / (1 + counts)
    place = int(scores.argmax())
    return node.moves[place], float(scores[place])


def backpropagate(self, path, value):
    for hashable_state, action, session in ((step.hashable_state, step.action, step.session) for step in path):
        node = self.nodes[hashable_state]
        place = {move: number for number, move in enumerate(node.moves)}[action]
        before = node.counts[place]
        node.values[place] = (before * node.values[place] + value) / (before + 1)
        node.counts[place] = before + 1
        kept = self.realizations.setdefault(self._to_string_rep(session), {})
        key = session.transcript()
        if key in kept:
            kept[key].visits += 1
            kept[key].value += (value - kept[key].value) / kept[key].visits
        else:
            kept[key] = Realization(session.copy(), float(value), 1)
