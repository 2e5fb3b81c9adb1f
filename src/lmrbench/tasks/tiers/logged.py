"""Generate checks and programs that run a repository's experiment reproducibly.

A check is the text of a Python module with `cases(seed)` and `observe(case)`; graders compare what `observe` returns.

`experiment.run(seed)` of a repository returns its metrics by stage, such as `{"data": {"mean length": 5.25}}`, in the
order in which the program computes them. Counts and shares are under the key `rates`; they are for information only and
are not graded. The experiment is run on one thread and in double precision, so that metrics can be compared. A solver
who sees the results for the published seeds also gets a program that runs the experiment in the same way and prints the
differences. Checks use other seeds.
"""

from __future__ import annotations

RESULTS, REPLAY = "results.json", "replay.py"
# The file in which `replay.py` counts its runs, with one line per run.
COUNT = "replay.count"
# The key of the metrics in an observation.
EXPERIMENT = "experiment"
# The key of the metrics that are for information only.
RATES = "rates"
PUBLISHED_SEEDS = (0, 1, 2)
_FIRST, _COUNT = max(PUBLISHED_SEEDS) + 1, 2
_FRESH_SEEDS = f"[{_FIRST} + ({_COUNT} * seed + number) % 10**6 for number in range({_COUNT})]"

# The word THREADS in this text is replaced by the number of threads.
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
_WARM_TORCH = """
# The first step of an optimizer imports much of torch. With a step here, all runs share these imports.
weight = torch.zeros(1, requires_grad=True)
weight.grad = torch.zeros(1)
torch.optim.SGD([weight], lr=0.1).step()
"""
_CASES = '''"""The experiment alone."""
{logged}

def cases(seed):
    for number in {seeds}:
        yield {{"name": f"experiment, seed {{number}}", "seed": number}}


def observe(case):
    return {{"experiment": logged(case["seed"])}}
'''
# Appended to a check, so that rates are not graded.
_WITHOUT_RATES = """
_logged_with_rates = logged


def logged(seed):
    return {name: metrics for name, metrics in _logged_with_rates(seed).items() if name != "rates"}
"""
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
_REPLAY = '''"""Run the experiment with the seeds of results.json, and show for each stage which metrics agree.

    python replay.py                        # repo/ with every seed
    python replay.py --seed 0               # with one seed
    python replay.py variants/*             # several copies of repo/, side by side, with the first seed

The number of runs is counted in replay.count.
"""

import argparse
import json
import multiprocessing
import os
import sys
import traceback
from pathlib import Path
{imported}

HERE = Path(__file__).resolve().parent
RTOL, ATOL = {rtol}, {atol}
{logged}

def flat(value, path=""):
    """Return every number and text of a nested value, by path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        return {{path: value}}
    return {{name: leaf for key, item in items for name, leaf in flat(item, f"{{path}}/{{key}}".lstrip("/")).items()}}


def agree(one, other):
    """Return whether two values of a metric are the same within the tolerance."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= ATOL + RTOL * abs(one) or (one != one and other != other)
    return one == other


def compared(wanted, found):
    """Yield a line for each stage, and one for each of its metrics that differs."""
    for stage in dict.fromkeys([*wanted, *found]):
        one, other = flat(wanted.get(stage, {{}})), flat(found.get(stage, {{}}))
        far = [name for name in dict.fromkeys([*one, *other]) if not agree(one.get(name), other.get(name))]
        graded = "" if stage != "rates" else " (not graded)"
        yield f"{{stage}}: {{len(one) - len(far)}} of {{len(one)}} metrics agree{{graded}}"
        for name in far:
            yield f"    {{name}}: logged {{one.get(name)!r}}, now {{other.get(name)!r}}"


def run(item):
    """Return the metrics of a copy of the repository for a seed, or the traceback if the experiment fails."""
    folder, seed = item
    os.chdir(folder)
    sys.path.insert(0, os.getcwd())
    try:
        return json.loads(json.dumps(logged(int(seed))))
    except Exception:
        return traceback.format_exc(limit=-3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", type=Path, metavar="VARIANT", help="a copy of repo/")
    parser.add_argument("--seed", help="one of the seeds of results.json")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="number of parallel runs")
    given = parser.parse_args()
    results = json.loads((HERE / "results.json").read_text())
    seeds = [given.seed] if given.seed else list(results)[: 1 if given.variants else None]
    todo = [(folder.resolve(), seed) for folder in given.variants or [HERE / "repo"] for seed in seeds]
    with open(HERE / "replay.count", "a") as file:
        file.write("run\\n" * len(todo))
    # Each run has its own process, forked from this one, so that the libraries are imported only once.
    with multiprocessing.get_context("fork").Pool(given.jobs, maxtasksperchild=1) as pool:
        for (folder, seed), found in zip(todo, pool.imap(run, todo, chunksize=1)):
            print(f"{{folder.name}}, seed {{seed}}")
            lines = [found] if isinstance(found, str) else compared(results[seed], found)
            print("\\n".join(f"  {{line}}" for line in lines), flush=True)


if __name__ == "__main__":
    main()
'''


def fresh_check(imports: tuple[str, ...]) -> str:
    """Return a check that observes the experiment with unpublished seeds.

    Args:
        imports: The top-level imports of the repository.
    """
    return _CASES.format(logged=_logged(imports) + _WITHOUT_RATES, seeds=_FRESH_SEEDS)


def and_the_experiment(check: str, imports: tuple[str, ...], has_rates: bool) -> str:
    """Return a check with additional cases that run the experiment with unpublished seeds.

    Args:
        check: The source of the check.
        imports: The top-level imports of the repository.
        has_rates: Whether the experiment returns rates, which must be left out of the observations.
    """
    logged = _logged(imports) + (_WITHOUT_RATES if has_rates else "")
    return check + _AND_THE_EXPERIMENT.format(logged=logged, seeds=_FRESH_SEEDS)


def published_check(imports: tuple[str, ...], seeds: tuple[int, ...] = PUBLISHED_SEEDS, threads: int = 1) -> str:
    """Return a check that observes the experiment with published seeds.

    Args:
        imports: The top-level imports of the repository.
        seeds: The seeds that the experiment runs with.
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
    imported = "".join(f"import {name}\n" for name in imports) + (_WARM_TORCH if "torch" in imports else "")
    return _REPLAY.format(logged=_logged(imports), imported=imported, rtol=rtol, atol=atol)


def _logged(imports: tuple[str, ...], threads: int = 1) -> str:
    return _WITH_TORCH.replace("THREADS", str(threads)) if "torch" in imports else _WITHOUT_TORCH
