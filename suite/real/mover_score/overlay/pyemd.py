"""A stub of the package of this name: the same results, in numpy."""

import numpy as np

_NOTHING = 1e-13


def emd(first_histogram, second_histogram, distance_matrix, extra_mass_penalty=-1.0):
    """The cost of moving as much as both histograms hold, and a penalty for each unit that one holds more.

    The penalty is the greatest of all distances, unless one is given that is not negative.
    """
    first, second = (np.array(side, dtype=np.float64) for side in (first_histogram, second_histogram))
    distances = np.asarray(distance_matrix, dtype=np.float64)
    if first.shape != second.shape or distances.shape != (len(first), len(first)):
        raise ValueError("histograms and distances differ in size")
    left = abs(first.sum() - second.sum())
    penalty = distances.max(initial=0.0) if extra_mass_penalty < 0 else extra_mass_penalty
    rows, columns = np.flatnonzero(first > 0), np.flatnonzero(second > 0)
    return float(_cost(first[rows], second[columns], distances[np.ix_(rows, columns)]) + penalty * left)


def _cost(supply, demand, costs):
    """Sends what is left along the cheapest path of what may be moved or moved back, until one side has none."""
    flow = np.zeros(costs.shape)
    while (supply > _NOTHING).any() and (demand > _NOTHING).any():
        near, far = np.where(supply > _NOTHING, 0.0, np.inf), np.full(len(demand), np.inf)
        origin, source = np.full(len(supply), -1), np.full(len(demand), -1)
        while True:
            there = near[:, None] + costs
            shorter = there.min(axis=0) < far - _NOTHING
            source[shorter], far[shorter] = there.argmin(axis=0)[shorter], there.min(axis=0)[shorter]
            back = np.where(flow > _NOTHING, far - costs, np.inf)
            better = back.min(axis=1) < near - _NOTHING
            origin[better], near[better] = back.argmin(axis=1)[better], back.min(axis=1)[better]
            if not better.any():
                break
        end = column = np.where(demand > _NOTHING, far, np.inf).argmin()
        forth, backwards = [(source[end], end)], []
        while origin[forth[-1][0]] >= 0:
            column = origin[forth[-1][0]]
            backwards.append((forth[-1][0], column))
            forth.append((source[column], column))
        start = forth[-1][0]
        amount = min([supply[start], demand[end], *(flow[place] for place in backwards)])
        for place in forth:
            flow[place] += amount
        for place in backwards:
            flow[place] -= amount
        supply[start] -= amount
        demand[end] -= amount
    return (flow * costs).sum()
