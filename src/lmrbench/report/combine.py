"""Combine several runs into one `Findings`, from which reports are computed."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench.errors import UsageError
from lmrbench.report.findings import Findings
from lmrbench.tasks.dates import first_day
from lmrbench.tasks.loading import suite_folder
from lmrbench.tasks.model import Task, Tier

if TYPE_CHECKING:
    from lmrbench.grading.records import Grade
    from lmrbench.runs.folder import Run
    from lmrbench.runs.records import Judgement, Label, PublishedVerdict, RunFacts, Usage
    from lmrbench.tasks.submission import Answer, Submission


def systems_of(run: Run) -> list[str]:
    """Return the systems of a run, in the order in which they first occur."""
    results: list[Grade | Usage] = [*run.grades, *run.usages]
    return list(dict.fromkeys(item.system for item in results))


def unique(names: Iterable[str]) -> list[str]:
    """Return the names, with a number appended to each repetition of a name."""
    found: dict[str, None] = {}
    for name in names:
        numbered = (name if number == 1 else f"{name} {number}" for number in count(1))
        found[next(item for item in numbered if item not in found)] = None
    return list(found)


def system_names(runs: Sequence[Run], labels: Sequence[str], shown: Callable[[str], str] = str) -> list[dict[str, str]]:
    """Name the systems of several runs so that no two have the same name.

    Args:
        runs: Runs of any systems.
        labels: A label for each run, which is appended to the name of a system that occurs in several runs.
        shown: A function that returns the displayed form of a name.

    Returns:
        For each run, the new name of each of its systems.
    """
    systems = [systems_of(run) for run in runs]
    titles = [[f"{shown(system)}{_protocol(run, system)}" for system in systems_of(run)] for run in runs]
    counts = Counter(title for of_run in titles for title in of_run)
    names = iter(
        unique(
            f"{title} ({label})" if counts[title] > 1 else title
            for of_run, label in zip(titles, labels, strict=True)
            for title in of_run
        )
    )
    return [{system: next(names) for system in of_run} for of_run in systems]


def _protocol(run: Run, system: str) -> str:
    """Return ", paper's protocol" if the system was run with the LMR-BENCH paper's protocol, or else ""."""
    settings = run.facts.solving if run.facts else None
    of_paper = settings is not None and settings.get("protocol") == "paper" and settings.get("system") == system
    return ", paper's protocol" if of_paper else ""


def together(runs: Sequence[Run], suite: Path | None, label_files: Sequence[Path] = ()) -> Findings:
    """Combine several runs into one `Findings`.

    If systems of several runs have the same name, each name gets the folder of its run as a suffix.

    Args:
        runs: Runs of any systems.
        suite: The folder of the suite; None for the suite `core`. If a task has no grade and is not in the suite, its
            category is "unknown".
        label_files: Files of labels, which are the ratings that people gave to answers.

    Raises:
        UsageError: There are labels, but none matches an answer of the runs; or a label matches answers of two runs.
    """
    from lmrbench.jsonl import read_lines
    from lmrbench.resampling import paper_of
    from lmrbench.runs.folder import JUDGEMENTS
    from lmrbench.runs.records import Judgement
    from lmrbench.tasks.loading import load_suite
    from lmrbench.tasks.submission import Answer
    from lmrbench.tasks.tiers.forensic import is_forensic

    names = dict(zip((run.folder for run in runs), system_names(runs, [str(run.folder) for run in runs]), strict=True))

    def name(system: str, run: Run) -> dict[str, str]:
        return {"system": names[run.folder].get(system, system)}

    grades = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.grades)
    usages = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.usages)
    snapshots = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.snapshots)
    tasks = {item.id: item for item in load_suite(suite_folder(suite))}
    categories = {item.task: tasks[item.task].category if item.task in tasks else "unknown" for item in usages}
    categories |= {item.task: item.category for item in grades}
    tiers: dict[str, Tier] = {
        name: tasks[name].tier if name in tasks else "forensic" if is_forensic(name) else "function"
        for name in categories
    }
    slugs: dict[str, str] = {}
    papers = {item.id: slugs.setdefault(str(item.paper.url), item.paper.slug) for item in tasks.values()}
    # Forensic tasks are not listed in a suite, so they belong to the suite of their paper.
    named = {
        key: item.suite.name for item in reversed(tasks.values()) if item.suite for key in (item.paper.slug, item.id)
    }

    def suite_of(task: str) -> str:
        return named.get(task) or named.get(paper_of(task), "another suite")

    votes = [(item, run) for run in runs for item in read_lines(run.folder / JUDGEMENTS, Judgement)]
    labels, left_out = _labels(runs, votes, label_files)
    commands = {
        Answer(name(item.system, run)["system"], item.task, item.sample): command
        for run in runs
        for item, command in _commands(run, suite)
    }
    return Findings(
        folders=tuple(run.folder for run in runs),
        grades=grades,
        usages=usages,
        snapshots=snapshots,
        judgements=tuple(item.model_copy(update=name(item.system, run)) for item, run in votes),
        labels=tuple(item.model_copy(update=name(item.system, run)) for item, run in labels),
        categories=categories,
        tiers=tiers,
        suites={name: suite_of(name) for name in categories},
        papers={name: papers.get(name, paper_of(name)) for name in categories},
        commands=commands,
        originals={item.id: item.twin_of for item in tasks.values() if item.twin_of},
        warnings=(*warnings_of(runs), *left_out),
        listed={item.id: (suite_of(item.id), item.tier) for item in tasks.values() if item.files.check},
        settings={
            name(item.system, run)["system"]: str(run.facts.solving.get("setting", "prompt"))
            for run in runs
            if run.facts and run.facts.solving
            for item in run.usages
        },
        published=tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.published),
        dates=_dates(tasks, categories),
        conditions=tuple(dict.fromkeys(_conditions(run.facts) for run in runs if run.facts)),
    )


def _dates(tasks: Mapping[str, Task], categories: Iterable[str]) -> dict[str, date]:
    """Return the day on which each task's method became public. A forensic task has the date of its paper."""
    from lmrbench.resampling import paper_of

    since = {
        key: first_day(item.paper.public_since)
        for item in reversed(list(tasks.values()))
        if item.paper.public_since
        for key in (item.paper.slug, item.id)
    }
    dates = {name: since.get(name) or since.get(paper_of(name)) for name in (*tasks, *categories)}
    return {name: day for name, day in dates.items() if day is not None}


def _conditions(facts: RunFacts) -> str:
    """Describe in one line how a run was graded: its suite, sandbox, seeds and version of lmrbench."""
    seeds = f"{'fresh ' if facts.fresh_seeds else ''}{'seed' if len(facts.seeds) == 1 else 'seeds'}"
    return (
        f"suite {facts.suite or 'without a name'}, sandbox {facts.sandbox}, {len(facts.seeds)} {seeds}, "
        f"lmrbench {facts.lmrbench}"
    )


def warnings_of(runs: Sequence[Run]) -> list[str]:
    """Return the warnings to show above the results of these runs."""
    found = []
    for run in runs:
        if not run.grades:
            found.append(f"{run.folder}: no grades yet; omitted from the rates")
        if run.unsigned:
            found.append(f"{run.folder}: {run.unsigned} of {len(run.grades)} grades were not made by this installation")
    if len({run.facts.suite_digest for run in runs if run.facts}) > 1:
        found.append("the runs used different versions of the suite; do not compare their rates")
    return found


def _labels(
    runs: Sequence[Run], votes: Sequence[tuple[Judgement, Run]], files: Sequence[Path]
) -> tuple[list[tuple[Label, Run]], list[str]]:
    """Match labels with the answers of the runs.

    An answer belongs to a run that has a submission, a grade, a judgement or a published verdict for it.

    Returns:
        The labels that match, each with the run of its answer, and a warning if other labels match no answer.

    Raises:
        UsageError: There are labels, but none matches; or a label matches answers of two runs.
    """
    from lmrbench.judging.labels import read_labels
    from lmrbench.tasks.submission import Answer

    holders: dict[Answer, dict[Path, Run]] = {}
    for run in runs:
        answers: list[Submission | Grade | PublishedVerdict] = [*run.submissions, *run.grades, *run.published]
        for item in answers:
            holders.setdefault(Answer(item.system, item.task, item.sample), {})[run.folder] = run
    for vote, run in votes:
        holders.setdefault(vote.answer, {})[run.folder] = run
    found, others = [], []
    for label in read_labels(files):
        match list(holders.get(label.answer, {}).values()):
            case []:
                others.append(label)
            case [run]:
                found.append((label, run))
            case [run, other, *_]:
                raise UsageError(
                    f"{label.answer}: the label matches answers in {run.folder} and in {other.folder}; report only one "
                    "of these runs"
                )
    if not others:
        return found, []
    names = ", ".join(map(str, files))
    if not found:
        raise UsageError(f"{names}: no label matches an answer of these runs; the first one is for {others[0].answer}")
    unmatched = f"{len(others)} of {len(others) + len(found)} labels match no answer of these runs and are ignored"
    return found, [f"{names}: {unmatched}; the first one is for {others[0].answer}"]


def _commands(run: Run, suite: Path | None) -> Iterator[tuple[Grade, str]]:
    """Yield each graded answer of a run with the command that shows it."""
    several = len({item.system for item in run.grades}) > 1
    samples = Counter((item.system, item.task) for item in run.grades)
    for item in run.grades:
        words = ["lmrbench", "why", str(run.folder), item.task]
        words += ["--system", item.system] if several else []
        words += ["--sample", str(item.sample)] if samples[item.system, item.task] > 1 else []
        words += ["--suite", str(suite)] if suite is not None else []
        yield item, shlex.join(words)
