"""How small a difference between two systems can a number of tasks detect?"""

from __future__ import annotations

POWER = 0.8
LEVEL = 0.05
# The share of tasks on which two systems are taken to differ where none was observed.
ASSUMED_DISCORDANT = 0.3


def mcnemar_power(tasks: int, discordant: float, difference: float) -> float:
    """How likely McNemar's exact test finds a difference between two systems, at level 0.05, two-sided.

    By enumeration, without an approximation (Duffy, Biometrics 40, 1984): the number of tasks that differ is binomial
    (tasks, discordant); of these, the number that the better one wins is binomial with probability
    (1 + difference / discordant) / 2.

    Args:
        tasks: how many both systems answer, once each.
        discordant: the share of tasks that one passes and the other does not, in (0, 1].
        difference: of the two rates, in [0, discordant].
    """
    import numpy as np
    from scipy.stats import binom

    differing = np.arange(tasks + 1)
    # The largest number of losses, or of wins, with which the test still rejects; -1 where none does.
    critical = binom.ppf(LEVEL / 2, differing, 0.5)
    critical -= binom.cdf(critical, differing, 0.5) > LEVEL / 2
    winning = (1 + difference / discordant) / 2
    rejecting = binom.cdf(critical, differing, winning) + binom.sf(differing - critical - 1, differing, winning)
    return float(np.sum(binom.pmf(differing, tasks, discordant) * rejecting))


def detectable_difference(tasks: int, discordant: float) -> float | None:
    """The smallest difference of two rates that McNemar's exact test finds with a power of 0.8, at level 0.05.

    tasks, discordant: as of `mcnemar_power`. None where not even the largest difference, at which one system wins every
    task that differs, is found so often. A correction for several pairs makes it larger.
    """
    from scipy.optimize import brentq

    if not tasks or mcnemar_power(tasks, discordant, discordant) < POWER:
        return None
    return float(brentq(lambda value: mcnemar_power(tasks, discordant, value) - POWER, 0, discordant, xtol=1e-6))
