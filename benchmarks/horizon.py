"""Simulate the estimate of the reproduction horizon, and write docs/horizon.md.

Each simulated system has a known true horizon, a slope, and an effect for each paper. It answers a fixed ladder of
tasks, and tasks that `most_informative` chooses in batches of four. For each design, the bias, the coverage of the 95%
interval and its width are measured after 12, 24 and 48 tasks.

    python benchmarks/horizon.py [--systems N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.progress import track

from lmrbench.report.horizon import LADDER, Outcome, horizon, most_informative

PAPERS = [f"paper {number}" for number in range(20)]
HORIZONS, COUNTS, BATCH = (0.5, 1, 2, 4, 8, 16), (12, 24, 48), 4
# The simulated slopes, and the simulated standard deviations of the paper effects.
SLOPES, SPREADS = (1.5, 2.5, 4.0), (0.2, 0.5)

Answer = Callable[[str, int], Outcome]


class Width(NamedTuple):
    """The estimate of one simulated system after some tasks; all numbers are natural logarithms.

    Attributes:
        error: The ratio of the estimate to the true horizon.
        covered: Whether the interval contains the true horizon.
        width: The ratio of the upper to the lower end of the interval.
    """

    error: float
    covered: bool
    width: float


def simulated(k50: float, generator: np.random.Generator) -> Answer:
    """Return a system with a true horizon, which answers tasks at random."""
    slope, spread = generator.choice(SLOPES), generator.choice(SPREADS)
    effects = dict(zip(PAPERS, generator.normal(0, spread, len(PAPERS)), strict=True))

    def answer(paper: str, changes: int) -> Outcome:
        odds = slope * (math.log(k50 / changes) + effects[paper])
        return Outcome(paper, changes, float(generator.random() < 1 / (1 + math.exp(-odds))))

    return answer


def ladder(answer: Answer) -> list[Outcome]:
    """Return answers to a fixed ladder, which cycles through papers and numbers of changes and repeats no pair."""
    pairs = zip(itertools.cycle(PAPERS), itertools.cycle(LADDER), strict=False)
    return [answer(paper, changes) for paper, changes in itertools.islice(pairs, max(COUNTS))]


def adaptive(answer: Answer) -> list[Outcome]:
    """Return answers to tasks that are chosen in batches."""
    found: list[Outcome] = []
    while len(found) < max(COUNTS):
        found += [answer(paper, changes) for paper, changes in most_informative(found, PAPERS, BATCH)]
    return found


def estimates(k50: float, outcomes: list[Outcome]) -> Iterator[Width]:
    """Yield the estimates after each number of tasks."""
    for count in COUNTS:
        found = horizon("", outcomes[:count])
        covered = found.low <= k50 <= found.high
        yield Width(math.log(found.k50 / k50), covered, math.log(found.high / found.low))


def main() -> None:
    """Run the simulation, and print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=150, help="simulated systems for each true horizon")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "docs")
    arguments = parser.parse_args()
    found: dict[tuple[float, str, int], list[Width]] = {}
    for number, k50 in track(list(itertools.product(range(arguments.systems), HORIZONS)), "Simulating"):
        for name, design in (("ladder", ladder), ("adaptive", adaptive)):
            outcomes = design(simulated(k50, np.random.default_rng([number, HORIZONS.index(k50)])))
            for count, item in zip(COUNTS, estimates(k50, outcomes), strict=True):
                found.setdefault((k50, name, count), []).append(item)
    text = page(found, arguments.systems)
    (arguments.folder / "horizon.md").write_text(text)
    print(text)


def page(found: dict[tuple[float, str, int], list[Width]], systems: int) -> str:
    """Return docs/horizon.md."""
    rows = []
    for k50, count in itertools.product(HORIZONS, COUNTS):
        cells = [f"{k50:g}", str(count)]
        for name in ("ladder", "adaptive"):
            items = found[k50, name, count]
            cells += [
                f"{math.exp(np.mean([item.error for item in items])) - 1:+.0%}",
                f"{np.mean([item.covered for item in items]):.0%}",
                f"{math.exp(np.mean([item.width for item in items])):.1f}",
            ]
        rows.append(f"| {' | '.join(cells)} |")
    every = {
        (name, count): [item for k50 in HORIZONS for item in found[k50, name, count]]
        for name in ("ladder", "adaptive")
        for count in COUNTS
    }
    means = {key: math.exp(np.mean([item.width for item in items])) for key, items in every.items()}
    covered = {key: np.mean([item.covered for item in items]) for key, items in every.items()}
    return TEXT.format(
        systems=systems,
        rows="\n".join(rows),
        slopes=f"{', '.join(map(str, SLOPES[:-1]))} and {SLOPES[-1]}",
        spreads=" or ".join(map(str, SPREADS)),
        ladder=f"{', '.join(map(str, LADDER[:-1]))} and {LADDER[-1]}",
        least=min(covered.values()),
        half=means["adaptive", 24],
        whole=means["ladder", 48],
        quarter=means["adaptive", 12],
        fixed_half=means["ladder", 24],
    )


TEXT = """# The reproduction horizon

In a [forensic task](forensic-tasks.md), an agent uses a program's logs to find undocumented changes in the program.
The horizon of a system, K50, is the number of changes per task at which it solves half of the tasks. A better system
has a larger horizon.

The probability that a system solves a task is modelled by a logistic regression on the logarithm of the number of
changes, with one slope for all papers and an effect for each paper. The prior is flat in the logarithm of K50 between
0.25 and 32. The estimate is the posterior median, and the interval is the central 95% of the posterior.
`lmrbench report` shows the horizon of every run with forensic tasks, draws its curve, and estimates the ratio of the
horizons of two systems, using the same paper effects for both systems.

`lmrbench horizon --model MODEL` measures the horizon of an agent. It draws new tasks in batches. For each task, it
chooses the paper and the number of changes whose outcome is most informative about K50. It stops after `--tasks` tasks,
or when the ends of the interval differ by at most the factor `--width`.

## Accuracy

This page was written by `python benchmarks/horizon.py`. For each true horizon, {systems} systems were simulated, with
20 papers, slopes of {slopes}, and paper effects with a standard deviation of {spreads} (in natural logarithms). The
fixed design, *ladder*, cycles through the numbers of changes that published tasks have ({ladder}). The adaptive design
chooses four tasks at a time, each with the number of changes whose outcome is most informative about the horizon.

Bias is the geometric mean of the estimates, divided by the true horizon, minus one. Coverage is the share of intervals
that contain the true horizon. Width is the geometric mean of the ratio of the upper end to the lower end.

| K50 | tasks | ladder: bias | coverage | width | adaptive: bias | coverage | width |
|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}

Averaged over the horizons, at least {least:.0%} of the intervals of either design contain the true horizon after 12, 24
and 48 tasks; single cells vary more. The intervals of the adaptive design have a mean width of {quarter:.1f} after 12
tasks and {half:.1f} after 24; those of the ladder, {fixed_half:.1f} after 24 tasks and {whole:.1f} after 48.

Tasks have 1 to 12 changes, so horizons below 1 or above 12 are extrapolated and biased.
"""

if __name__ == "__main__":
    main()
