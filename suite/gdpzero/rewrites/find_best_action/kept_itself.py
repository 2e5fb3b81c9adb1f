"""A new dialogue is kept itself, not a copy, and enters with the value that it arrives with."""


def find_best_action(self, hashable_state):
    node = self.nodes[hashable_state]
    spread = self.configs.cpuct * (sum(node.counts) or 1e-8) ** 0.5
    best = -1, -float("inf")
    for place, move in enumerate(node.moves):
        score = node.values[place] + spread * node.prior[move] / (1 + node.counts[place])
        if score > best[1]:
            best = move, score
    return best


def backpropagate(self, path, value):
    for step in path:
        node = self.nodes[step.hashable_state]
        place = node.moves.index(step.action)
        node.counts[place] += 1
        node.values[place] += (value - node.values[place]) / node.counts[place]
        kept = self.realizations.setdefault(self._to_string_rep(step.session), {})
        transcript = step.session.transcript()
        if transcript in kept:
            dialogue = kept[transcript]
            dialogue.visits += 1
            dialogue.value += (value - dialogue.value) / dialogue.visits
        else:
            kept[transcript] = Realization(step.session, value, 1)
