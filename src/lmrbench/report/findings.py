"""What several runs hold together: what reports and analyses of more than one run are made of."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench.tasks.loading import suite_folder
from lmrbench.tasks.model import TIERS, Tier
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.grading.records import Grade
    from lmrbench.runs.folder import Run
    from lmrbench.runs.records import Judgement, Label, Snapshot, Usage
    from lmrbench.tasks.submission import Answer, Submission


@dataclass(frozen=True)
class Findings:
    """What several runs hold, and what people say of their answers.

    folders: where it stands. categories, tiers, suites, papers: of the tasks, by id; tasks of two suites have the same
    paper where its address is the same. commands: what to call to see an answer that has a grade. originals: the ids of
    tasks by those of their twins. warnings: what a reader must know before the numbers. listed: by task, the suite and
    tier of all tasks that can be answered.
    """

    folders: tuple[Path, ...]
    grades: tuple[Grade, ...]
    usages: tuple[Usage, ...]
    snapshots: tuple[Snapshot, ...]
    judgements: tuple[Judgement, ...]
    labels: tuple[Label, ...]
    categories: Mapping[str, str]
    tiers: Mapping[str, Tier]
    suites: Mapping[str, str]
    papers: Mapping[str, str]
    commands: Mapping[Answer, str]
    originals: Mapping[str, str]
    warnings: tuple[str, ...]
    listed: Mapping[str, tuple[str, Tier]] = field(default_factory=dict)

    @property
    def expected(self) -> frozenset[str]:
        """All listed tasks of the suites and tiers of which there is any answer."""
        places = {self.listed[task] for task in self.tiers if task in self.listed}
        return frozenset(task for task, place in self.listed.items() if place in places)

    @property
    def not_submitted(self) -> dict[str, list[str]]:
        """The expected tasks that a system has no answer to, for each that has answers to some of them alone."""
        asked: dict[str, set[str]] = {}
        answers: list[Grade | Usage] = [*self.grades, *self.usages]
        for item in answers:
            asked.setdefault(item.system, set()).add(item.task)
        expected = self.expected
        missing = {system: expected - tasks for system, tasks in asked.items()}
        return {system: sorted(tasks) for system, tasks in missing.items() if 0 < len(tasks) < len(expected)}


def together(runs: Sequence[Run], suite: Path | None, label_files: Sequence[Path] = ()) -> Findings:
    """Several runs as one. A system that occurs in more than one folder is named with its folder.

    suite: its folder; tasks without a grade that are not in it are of category "unknown". label_files: what people say
    of the answers. Raises UsageError where labels are of no answer of the runs, or of one that two runs have.
    """
    from lmrbench.jsonl import read_lines
    from lmrbench.report.statistics import paper_of
    from lmrbench.runs.folder import JUDGEMENTS
    from lmrbench.runs.records import Judgement
    from lmrbench.tasks.loading import load_suite
    from lmrbench.tasks.submission import Answer
    from lmrbench.tasks.tiers.forensic import is_forensic

    places = {(item.system, run.folder) for run in runs for item in run.grades}
    places |= {(item.system, run.folder) for run in runs for item in run.usages}
    several = {system for system, count in Counter(system for system, _ in places).items() if count > 1}

    def name(system: str, run: Run) -> dict[str, str]:
        return {"system": f"{system} ({run.folder})" if system in several else system}

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
    # Forensic tasks are not listed, but their papers are.
    named = {
        key: item.suite.name for item in reversed(tasks.values()) if item.suite for key in (item.paper.slug, item.id)
    }

    def suite_of(task: str) -> str:
        return named.get(task) or named.get(paper_of(task), "another suite")

    judgements = tuple(
        item.model_copy(update=name(item.system, run))
        for run in runs
        for item in read_lines(run.folder / JUDGEMENTS, Judgement)
    )
    labels, left_out = _labels(runs, label_files)
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
        judgements=judgements,
        labels=tuple(item.model_copy(update=name(item.system, run)) for item, run in labels),
        categories=categories,
        tiers=tiers,
        suites={name: suite_of(name) for name in categories},
        papers={name: papers.get(name, paper_of(name)) for name in categories},
        commands=commands,
        originals={item.id: item.twin_of for item in tasks.values() if item.twin_of},
        warnings=(*warnings_of(runs), *left_out),
        listed={item.id: (suite_of(item.id), item.tier) for item in tasks.values() if item.files.check},
    )


def by_tier(findings: Findings) -> dict[Tier, Findings]:
    """The findings of each tier of which there are any, the headline first."""
    found: dict[Tier, Findings] = {}
    for tier in TIERS:
        of_tier = {task for task, its in findings.tiers.items() if its == tier}
        if of_tier or (tier == "function" and not findings.tiers):
            found[tier] = _of_tasks(findings, of_tier)
    return found


def by_suite(findings: Findings) -> dict[str, Findings]:
    """The findings of each suite of which there are any, by its name."""
    return {
        name: _of_tasks(findings, {task for task, its in findings.suites.items() if its == name})
        for name in dict.fromkeys(findings.suites.values())
    }


def parts_of(findings: Findings) -> Iterator[tuple[str, Findings]]:
    """The findings of each suite and tier, and what is said behind a system's name where there are several."""
    parts = [(suite, tier, part) for suite, its in by_suite(findings).items() for tier, part in by_tier(its).items()]
    for suite, tier, part in parts:
        where = f", {suite}" if len({suite for suite, _, _ in parts}) > 1 else ""
        where += f", {tier} tier" if len({tier for _, tier, _ in parts}) > 1 else ""
        yield where, part


def not_submitted(findings: Findings) -> list[str]:
    """For each system that lacks any, how many tasks of a suite and tier there is no answer to, in a sentence."""
    return [
        f"{system}{where}: nothing submitted for {len(tasks)} of {counted(len(part.expected), 'task')}"
        for where, part in parts_of(findings)
        for system, tasks in part.not_submitted.items()
    ]


def _of_tasks(findings: Findings, tasks: set[str]) -> Findings:
    return replace(
        findings,
        grades=tuple(item for item in findings.grades if item.task in tasks),
        usages=tuple(item for item in findings.usages if item.task in tasks),
        snapshots=tuple(item for item in findings.snapshots if item.task in tasks),
        judgements=tuple(item for item in findings.judgements if item.task in tasks),
        labels=tuple(item for item in findings.labels if item.task in tasks),
        tiers={task: tier for task, tier in findings.tiers.items() if task in tasks},
        suites={task: suite for task, suite in findings.suites.items() if task in tasks},
    )


def warnings_of(runs: Sequence[Run]) -> list[str]:
    """What a reader must know of some runs before their numbers."""
    found = []
    for run in runs:
        if not run.grades:
            found.append(f"{run.folder}: holds no grades, so that there is no rate of it")
        if run.unsigned:
            found.append(f"{run.folder}: {run.unsigned} of {len(run.grades)} grades were not made by this installation")
    if len({run.facts.suite_digest for run in runs if run.facts}) > 1:
        found.append("these runs are of different versions of the suite; their rates are not to be compared")
    return found


def _labels(runs: Sequence[Run], files: Sequence[Path]) -> tuple[list[tuple[Label, Run]], list[str]]:
    """The labels of answers of the runs, each with the run of its answer; and a warning if there are other labels.

    Raises UsageError where all are of other answers, or one is of an answer that two runs have.
    """
    from lmrbench.errors import UsageError
    from lmrbench.judging.labels import read_labels
    from lmrbench.tasks.submission import Answer

    holders: dict[Answer, dict[Path, Run]] = {}
    for run in runs:
        answers: list[Submission | Grade] = [*run.submissions, *run.grades]
        for item in answers:
            holders.setdefault(Answer(item.system, item.task, item.sample), {})[run.folder] = run
    found, others = [], []
    for label in read_labels(files):
        match list(holders.get(label.answer, {}).values()):
            case []:
                others.append(label)
            case [run]:
                found.append((label, run))
            case [run, other, *_]:
                raise UsageError(
                    f"{label.answer} is in {run.folder} and in {other.folder}, so that it can't be known which of them "
                    "is labelled; report one of them"
                )
    if not others:
        return found, []
    names = ", ".join(map(str, files))
    if not found:
        raise UsageError(f"{names}: holds no label of an answer of these runs; the first one is of {others[0].answer}")
    count = f"{len(others)} of {len(others) + len(found)} labels"
    return found, [f"{names}: {count} are of no answer of these runs, and left out; the first is of {others[0].answer}"]


def _commands(run: Run, suite: Path | None) -> Iterator[tuple[Grade, str]]:
    """The `lmrbench why` that shows each answer of a run."""
    several = len({item.system for item in run.grades}) > 1
    samples = Counter((item.system, item.task) for item in run.grades)
    for item in run.grades:
        words = ["lmrbench", "why", str(run.folder), item.task]
        words += ["--system", item.system] if several else []
        words += ["--sample", str(item.sample)] if samples[item.system, item.task] > 1 else []
        words += ["--suite", str(suite)] if suite is not None else []
        yield item, shlex.join(words)
