"""Check OpenLoopMCTS.find_best_action: the selected action in a node, and its score if the function returns it.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

from types import SimpleNamespace

import numpy as np

PARAMETERS = ("hashable_state",)
ATTRIBUTES = ("Ns", "Nsa", "Q", "P", "valid_moves", "configs.cpuct", "configs.Q_0")


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = np.random.default_rng(seed)
    for number, cpuct in enumerate((1.0, 0.5, 2.0, 4.0, 1.0, 0.1, 1.5, 3.0, 1.0, 2.5)):
        acts = int(generator.integers(2, 8))
        moves = np.sort(generator.permutation(8)[:acts])
        prior = np.zeros(8)
        prior[moves] = generator.dirichlet(np.ones(acts))
        counts = generator.integers(0, 12, size=acts) * (number % 3 > 0)
        yield {
            "name": f"{acts} acts, cpuct {cpuct}, {counts.sum()} visits",
            "cpuct": cpuct,
            "moves": moves,
            "prior": prior,
            "counts": counts,
            "values": generator.uniform(-1, 1, size=acts),
        }


def observe(case):
    """Run the function on a case and return the action, and its score if there is one."""
    moves, state = case["moves"], "greeting__proposition"
    tree = instance(
        loaded(*TARGET),
        configs=SimpleNamespace(cpuct=case["cpuct"], Q_0=0.0),
        valid_moves={state: moves},
        P={state: case["prior"]},
        Ns={state: int(case["counts"].sum())},
        Nsa={state: dict(zip(moves.tolist(), case["counts"].tolist(), strict=True))},
        Q={state: dict(zip(moves.tolist(), case["values"].tolist(), strict=True))},
    )
    found = tree.find_best_action(state)
    return {"best": [float(part) for part in found] if isinstance(found, tuple | list) else [float(found)]}
