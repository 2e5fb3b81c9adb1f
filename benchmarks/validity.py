"""Write docs/validity.md: a summary of the certificates of all tasks, and the coverage of intervals in simulations.

python benchmarks/validity.py [--systems N] [--file FILE]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from rich.progress import track

from lmrbench.authoring.audit.certificate import Certificate, read_certificate
from lmrbench.report.statistics import paper_interval, wilson_interval
from lmrbench.tasks.loading import load_suite, suite_folder

PLACES = (("core", "function"), ("core", "method"), ("core", "twin"), ("real", "function"), ("live", "function"))
RATES, SPREADS = (0.5, 0.7, 0.9), (0.0, 1.0, 2.0)

TEXT = """# Validity

This page gives the evidence for the numbers that lmrbench reports, and the command that computes each figure.

## Accepted and rejected answers

An audit writes a certificate for each task. The table sums up the valid certificates, and was written by
`python benchmarks/validity.py`.

{audits}

- *Reference*: the number of runs of the reference with up to 100 new seeds per task, the first ten also on two threads,
  and the number of runs that failed.
- *Rewrites*: other correct implementations, written to differ from the reference. One of them, *plain*, is the shortest
  code that follows the first section of the instruction. All must be correct. The edge cases that *plain* fails are
  listed by the audit, but do not count as failures.
- *Wrong versions*: plausible misreadings of the paper or the instruction. None may be robust.
- *Mutants*: versions of the reference with one expression, statement or behaviour changed. Mutants that no input
  distinguishes from the reference are not counted. In brackets: the share that ordinary cases alone reject.
- *Cheats*: answers that exit early, return constants, compare equal to everything, and the like.

`lmrbench task audit --again --suite SUITE` repeats the audits of a suite. [Write a task](writing-a-task.md#the-audit)
explains it, and [the suite](suite.md) has the numbers of each task. Certificates cannot show whether a check interprets
the paper correctly; instructions and cases are public so that readers can judge.

## Machines

A verdict must not depend on how busy a machine is. Limits count processor time, and a candidate that only sleeps is
stopped by a wall-clock limit. A case that times out is run again before it counts.
`taskset -c 0 python benchmarks/load.py --busy 7` grades references, rewrites, masks and 200 wrong versions on one idle
core, and again while seven processes, each in a session of its own, keep this core busy. It compares the verdict on
each answer, and the first failed case:

| suite | answers | repeats | slower by a factor of | verdicts that differ |
|---|--:|--:|--:|--:|
| core | 394 to 397 | 3 | 5.8 to 6.1 | 0 |
| real, without wrong versions | 254 | 1 | 4.0 | 0 |

[Security model](security.md) says what each sandbox isolates. The tests run the attacks against each sandbox, and list
the exceptions.

## Intervals

To test the intervals of rates, `benchmarks/validity.py` simulates systems that solve the 28 tasks of the 23 papers of
`core`. Each paper has its own probability of success, whose log-odds are normally distributed, with the standard
deviation in the column *between papers*. The other columns show, over {systems:,} systems, the share of intervals that
contain the true rate over papers, and their median width:

{intervals}

If all tasks have the same outcome, the interval over papers is not defined, and Wilson's interval over tasks is used
instead, here and in reports. The median widths show the limits of 28 tasks: only differences of tens of points between
two systems can be detected. `lmrbench report --full` has the smallest difference that a test detects.

## Horizon

[Reproduction horizon](horizon.md) has the bias, the coverage and the width of the interval in simulations
(`python benchmarks/horizon.py`). Every published [forensic task](forensic-tasks.md#draws) can be solved from its logs:
a search that knows all possible changes finds the right ones within 1,000 runs, and no other set of the same size or
smaller gives the same logs at any stage (`lmrbench task audit --tier forensic`).

## Limits

[Limits](limits.md) lists what the benchmark does not measure.
"""


def audits() -> Iterator[list[str]]:
    """Yield the rows of the table of certificates."""
    for suite, tier in PLACES:
        tasks = [task for task in load_suite(suite_folder(suite)) if task.tier == tier and task.files.check]
        found = [item for item in map(read_certificate, tasks) if item]
        yield [f"{suite}, {tier}", f"{len(found)} of {len(tasks)}", *_sums(found)]


def _sums(found: list[Certificate]) -> list[str]:
    rewrites = [item for each in found for item in each.rewrites]
    wrong = [item for each in found for item in each.wrong]
    cheats = [item for each in found for item in each.cheats]
    mutations = [item for each in found for item in (each.mutation, each.behavioural) if item]
    counted = sum(item.mutants for item in mutations)
    return [
        f"{sum(each.golden.runs for each in found):,}, {sum(each.golden.flakes for each in found)} failed",
        f"{sum(item.correct for item in rewrites)} of {len(rewrites)} correct" if rewrites else "-",
        f"{sum(not item.passed for item in wrong):,} of {len(wrong):,} rejected",
        f"{sum(item.rejected for item in mutations) / counted:.1%} "
        f"({sum(item.by_ordinary for item in mutations) / counted:.1%}) of {counted:,}",
        f"{sum(not item.passed for item in cheats)} of {len(cheats)} rejected",
    ]


def intervals(systems: int) -> Iterator[list[str]]:
    """Yield the rows of the table of intervals, by simulation."""
    ids = [task.id for task in load_suite(suite_folder("core")) if task.tier == "function" and task.files.check]
    papers = sorted({name.partition("/")[0] for name in ids})
    generator = np.random.default_rng(0)
    for rate in RATES:
        for spread in track(SPREADS, f"rate {rate:.0%}", transient=True):
            offset = _offset(rate, spread, generator)
            over_papers, over_tasks = [], []
            for _ in range(systems):
                odds = dict(zip(papers, offset + spread * generator.normal(size=len(papers)), strict=True))
                solved = {
                    name: float(generator.random() < 1 / (1 + np.exp(-odds[name.partition("/")[0]]))) for name in ids
                }
                wilson = wilson_interval(sum(solved.values()) / len(solved), len(solved))
                over_tasks.append(wilson)
                over_papers.append(paper_interval(solved) or wilson)
            yield [f"{rate:.0%}", f"{spread:g}", *_coverage(over_papers, rate), *_coverage(over_tasks, rate)]


def _offset(rate: float, spread: float, generator: np.random.Generator) -> float:
    """Return the mean of the log-odds for which the mean rate over papers is `rate`."""
    effects = spread * generator.normal(size=200_000)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean(1 / (1 + np.exp(-middle - effects))) < rate else (low, middle)
    return low


def _coverage(found: Iterable[tuple[float, float]], rate: float) -> list[str]:
    ends = np.array(list(found))
    covered = np.mean((ends[:, 0] <= rate) & (rate <= ends[:, 1]))
    return [f"{covered:.1%}", f"{100 * np.median(ends[:, 1] - ends[:, 0]):.0f}"]


def _table(columns: list[str], rows: Iterable[list[str]]) -> str:
    lines = [columns, ["---", *["--:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=1000)
    parser.add_argument("--file", type=Path, default=Path(__file__).parents[1] / "docs" / "validity.md")
    arguments = parser.parse_args()
    audited = ["suite, tier", "certificates", "reference", "rewrites", "wrong versions", "mutants", "cheats"]
    simulated = ["rate", "between papers", "over papers", "width, points", "over tasks", "width, points"]
    text = TEXT.format(
        audits=_table(audited, audits()),
        systems=arguments.systems,
        intervals=_table(simulated, intervals(arguments.systems)),
    )
    arguments.file.write_text(text)


if __name__ == "__main__":
    main()
