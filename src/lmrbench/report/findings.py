"""The results of several runs, from which reports and analyses are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lmrbench.errors import UsageError
from lmrbench.tasks.model import TIERS, Tier
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.grading.records import Grade
    from lmrbench.runs.records import Judgement, Label, PublishedVerdict, Snapshot, Usage
    from lmrbench.tasks.submission import Answer

    Result = Grade | Usage | Snapshot | Judgement | Label | PublishedVerdict


class Group(NamedTuple):
    """Tasks and systems that are reported together.

    Attributes:
        tier: The tier (kind) of the tasks, such as `function`.
        setting: How the systems solve tasks: `prompt`, `agent` or `other`; "" if the settings are not kept apart.
    """

    tier: Tier
    setting: str = ""

    @property
    def title(self) -> str:
        """The group in words, such as "method tier, agent setting"."""
        return f"{self.tier} tier, {self.setting} setting" if self.setting else f"{self.tier} tier"

    def __str__(self) -> str:
        """Return the group's name in files and JSON, such as `method-agent`."""
        return "-".join(filter(None, self))


@dataclass(frozen=True)
class Findings:
    """The results of several runs, and the labels of their answers.

    Attributes:
        folders: The run folders.
        grades: The grades of the answers.
        usages: The status and the cost of each attempt of a model to answer a task.
        snapshots: The grades of traced agents' workspaces after each turn.
        judgements: The votes of judges on answers.
        labels: The ratings that people gave to answers.
        categories: The category of each task, by task id.
        tiers: The tier (kind) of each task, by task id.
        suites: The name of the suite of each task, by task id.
        papers: The name of the paper, by task id. Papers with the same URL have the same name, even in different
            suites.
        commands: The command that shows a graded answer, by answer.
        originals: The id of the original task, by the id of its twin (a task made from an altered version of the
            original's paper).
        warnings: Warnings to show above the results.
        listed: The suite and tier of every task in the suite that has a check, by task id. The task need not have
            results.
        settings: The setting, `prompt` or `agent`, of each system that is a model.
        published: Verdicts of unit tests on answers, as published by others.
        dates: The day on which a task's method became public, by task id; the first day of the month if only the month
            is known.
        cutoff: The date at which reports split rates into before and since; None for no split.
        conditions: One line for each combination of suite, sandbox, number of seeds and version of lmrbench with which
            the runs were graded.
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
    settings: Mapping[str, str] = field(default_factory=dict)
    published: tuple[PublishedVerdict, ...] = ()
    dates: Mapping[str, date] = field(default_factory=dict)
    cutoff: date | None = None
    conditions: tuple[str, ...] = ()

    @property
    def expected(self) -> frozenset[str]:
        """The tasks in `listed` that have the same suite and tier as a task with results."""
        places = {self.listed[task] for task in self.tiers if task in self.listed}
        return frozenset(task for task, place in self.listed.items() if place in places)

    @property
    def not_submitted(self) -> dict[str, list[str]]:
        """The expected tasks without an answer, for each system that answered only some of them."""
        asked: dict[str, set[str]] = {}
        answers: list[Grade | Usage] = [*self.grades, *self.usages]
        for item in answers:
            asked.setdefault(item.system, set()).add(item.task)
        expected = self.expected
        missing = {system: expected - tasks for system, tasks in asked.items()}
        return {system: sorted(tasks) for system, tasks in missing.items() if 0 < len(tasks) < len(expected)}


def kept_since(findings: Findings, first: date) -> Findings:
    """Return the findings for the tasks whose methods became public on or after a date.

    Raises:
        UsageError: No task with a result is from that date or later.
    """
    late = {task for task, day in findings.dates.items() if day >= first}
    if not late & findings.tiers.keys():
        newest = max((day for task, day in findings.dates.items() if task in findings.tiers), default=None)
        found = f"the newest one is from {newest}" if newest else "none has a date"
        raise UsageError(f"--since {first}: no task of these runs is from that date or later; {found}")
    return replace(
        _of_tasks(findings, late),
        listed={task: place for task, place in findings.listed.items() if task in late},
        warnings=(*findings.warnings, *_undated(findings, "--since")),
    )


def split(findings: Findings, cutoff: date) -> Findings:
    """Return the findings with a cutoff, so that reports also show the rates before and since it.

    Raises:
        UsageError: No task with a result has a date.
    """
    if not findings.dates.keys() & findings.tiers.keys():
        raise UsageError(f"--cutoff {cutoff}: no task of these runs has a date; set paper.published in task.toml")
    return replace(findings, cutoff=cutoff, warnings=(*findings.warnings, *_undated(findings, "--cutoff")))


def _undated(findings: Findings, option: str) -> list[str]:
    """Return a warning if some tasks with results have no date."""
    undated = [task for task in findings.tiers if task not in findings.dates]
    if not undated:
        return []
    return [f"{option}: left out {counted(len(undated), 'task')} without a date; the first is {undated[0]}"]


def by_group(findings: Findings) -> dict[Group, Findings]:
    """Return the findings of each group that has results, the headline tier first. A group is usually a tier.

    In the method tier, the prompt and agent settings are kept apart: only agents can run the experiment, and only
    prompts state the details that can otherwise be found only in the logged results.
    """
    found: dict[Group, Findings] = {}
    for tier in TIERS:
        of_tier = {task for task, its in findings.tiers.items() if its == tier}
        if of_tier or (tier == "function" and not findings.tiers):
            its = _of_tasks(findings, of_tier)
            found |= _by_setting(its) if tier == "method" else {Group(tier): its}
    return found


def _by_setting(findings: Findings) -> dict[Group, Findings]:
    answers: list[Grade | Usage] = [*findings.grades, *findings.usages]
    of_systems = {item.system: findings.settings.get(item.system, "other") for item in answers}
    settings = sorted(set(of_systems.values()), key=("prompt", "agent", "other").index)
    if len(settings) < 2:
        return {Group("method"): findings}
    found = {}
    for setting in settings:
        its = {system for system, of_system in of_systems.items() if of_system == setting}
        found[Group("method", setting)] = _where(findings, partial(_is_of, its))
    return found


def _is_of(systems: set[str], item: Result) -> bool:
    return item.system in systems


def by_suite(findings: Findings) -> dict[str, Findings]:
    """Return the findings of each suite that has results, by the name of the suite."""
    return {
        name: _of_tasks(findings, {task for task, its in findings.suites.items() if its == name})
        for name in dict.fromkeys(findings.suites.values())
    }


def _of_tasks(findings: Findings, tasks: set[str]) -> Findings:
    return replace(
        _where(findings, lambda item: item.task in tasks),
        tiers={task: tier for task, tier in findings.tiers.items() if task in tasks},
        suites={task: suite for task, suite in findings.suites.items() if task in tasks},
    )


def _where(findings: Findings, meant: Callable[[Result], bool]) -> Findings:
    return replace(
        findings,
        grades=tuple(filter(meant, findings.grades)),
        usages=tuple(filter(meant, findings.usages)),
        snapshots=tuple(filter(meant, findings.snapshots)),
        judgements=tuple(filter(meant, findings.judgements)),
        labels=tuple(filter(meant, findings.labels)),
        published=tuple(filter(meant, findings.published)),
    )
