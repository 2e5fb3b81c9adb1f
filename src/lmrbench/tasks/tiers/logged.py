"""Generate checks and programs that run a repository's experiment reproducibly.

`experiment.run(seed)` of a repository returns its metrics by name. It is run on one thread and in double precision, so
that metrics can be compared. A solver who sees the results under the published seeds also gets a program that runs the
experiment in the same way and prints the differences. Checks use other seeds.
"""

from __future__ import annotations

RESULTS, REPLAY = "results.json", "replay.py"
# The key of the metrics in an observation.
EXPERIMENT = "experiment"
PUBLISHED_SEEDS = (0, 1, 2)
_FIRST, _COUNT = max(PUBLISHED_SEEDS) + 1, 2
_FRESH_SEEDS = f"[{_FIRST} + ({_COUNT} * seed + number) % 10**6 for number in range({_COUNT})]"

# THREADS is replaced by the number of threads.
_WITH_TORCH = '''
def logged(seed):
    """What the experiment returns, in double precision and on one thread."""
    import torch

    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(THREADS)
    torch.set_default_dtype(torch.float64)
    try:
        from experiment import run

        return run(seed)
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
'''
_WITHOUT_TORCH = '''
def logged(seed):
    """What the experiment returns."""
    from experiment import run

    return run(seed)
'''
_CASES = '''"""The experiment alone."""
{logged}

def cases(seed):
    for number in {seeds}:
        yield {{"name": f"experiment, seed {{number}}", "seed": number}}


def observe(case):
    return {{"experiment": logged(case["seed"])}}
'''
_AND_THE_EXPERIMENT = """
_own_cases, _own_observe = cases, observe
{logged}

def cases(seed):
    yield from _own_cases(seed)
    for number in {seeds}:
        yield {{"name": f"experiment, seed {{number}}", "logged": number}}


def observe(case):
    return {{"experiment": logged(case["logged"])}} if "logged" in case else _own_observe(case)
"""
_REPLAY = '''"""Run the experiment of repo/ under the seeds of results.json, and show where its metrics differ.

    python replay.py [SEED...]
"""

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RTOL, ATOL = {rtol}, {atol}
{logged}

def flat(value, path=""):
    """Every number and text of a nested value, by path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        return {{path: value}}
    return {{name: leaf for key, item in items for name, leaf in flat(item, f"{{path}}/{{key}}".lstrip("/")).items()}}


def main():
    results = json.loads((HERE / "results.json").read_text())
    os.chdir(HERE / "repo")
    sys.path.insert(0, str(HERE / "repo"))
    for seed in sys.argv[1:] or results:
        wanted, found = flat(results[seed]), flat(json.loads(json.dumps(logged(int(seed)))))
        far = 0
        for name in [*wanted, *(name for name in found if name not in wanted)]:
            one, other = wanted.get(name), found.get(name)
            same = one == other
            if isinstance(one, (int, float)) and isinstance(other, (int, float)):
                same = abs(one - other) <= ATOL + RTOL * abs(one) or (one != one and other != other)
            if not same:
                far += 1
                print(f"seed {{seed}}: {{name}}: logged {{one!r}}, now {{other!r}}")
        print(f"seed {{seed}}: {{len(wanted) - far}} of {{len(wanted)}} metrics agree")


if __name__ == "__main__":
    main()
'''


def fresh_check(imports: tuple[str, ...]) -> str:
    """Return a check that observes the experiment under unpublished seeds.

    Args:
        imports: The top-level imports of the repository.
    """
    return _CASES.format(logged=_logged(imports), seeds=_FRESH_SEEDS)


def and_the_experiment(check: str, imports: tuple[str, ...]) -> str:
    """Append the experiment under unpublished seeds to the cases of a check.

    Args:
        check: The source of the check.
        imports: The top-level imports of the repository.
    """
    return check + _AND_THE_EXPERIMENT.format(logged=_logged(imports), seeds=_FRESH_SEEDS)


def published_check(imports: tuple[str, ...], seeds: tuple[int, ...] = PUBLISHED_SEEDS, threads: int = 1) -> str:
    """Return a check that observes the experiment under published seeds.

    Args:
        imports: The top-level imports of the repository.
        seeds: The seeds that the experiment runs under.
        threads: The number of threads.
    """
    return _CASES.format(logged=_logged(imports, threads), seeds=list(seeds))


def replay(imports: tuple[str, ...], rtol: float, atol: float) -> str:
    """Return the program that shows a solver where the experiment differs from `results.json`.

    Args:
        imports: The top-level imports of the repository.
        rtol: The relative tolerance of metrics.
        atol: The absolute tolerance of metrics.
    """
    return _REPLAY.format(logged=_logged(imports), rtol=rtol, atol=atol)


def _logged(imports: tuple[str, ...], threads: int = 1) -> str:
    return _WITH_TORCH.replace("THREADS", str(threads)) if "torch" in imports else _WITHOUT_TORCH
