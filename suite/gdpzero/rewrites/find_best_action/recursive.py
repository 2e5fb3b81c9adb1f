"""One step after another by recursion, selection by a fold; the sum of values is restored first."""

from functools import reduce


def find_best_action(self, hashable_state):
    node = self.nodes[hashable_state]
    total = sum(node.counts)
    if total == 0:
        total = 1e-8

    def score(place):
        exploration = node.prior[node.moves[place]].item() * (total**0.5 / (1 + node.counts[place]))
        return node.values[place] + self.configs.cpuct * exploration

    def better(best, place):
        found = score(place)
        return (node.moves[place], found) if found > best[1] else best

    return reduce(better, range(len(node.moves)), (-1, -float("inf")))


def backpropagate(self, path, value):
    if not path:
        return
    first, *rest = path
    node = self.nodes[first.hashable_state]
    place = node.moves.index(first.action)
    total = node.values[place] * node.counts[place] + value
    node.counts[place] += 1
    node.values[place] = total / node.counts[place]
    name = self._to_string_rep(first.session)
    if name not in self.realizations:
        self.realizations[name] = {}
    known = [one for one in self.realizations[name].values() if one.session.turns == first.session.turns]
    if known:
        total = known[0].value * known[0].visits + value
        known[0].visits += 1
        known[0].value = total / known[0].visits
    else:
        self.realizations[name][first.session.transcript()] = Realization(first.session.copy(), value, 1)
    self.backpropagate(rest, value)
