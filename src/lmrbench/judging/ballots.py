"""What do several votes say together? Majorities and disagreement are derived from the votes, and never stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lmrbench.jsonl import read_lines
from lmrbench.judging.labels import majority
from lmrbench.records import Record
from lmrbench.runs.folder import JUDGEMENTS
from lmrbench.runs.records import CATEGORIES, Category, ErrorClass, Judgement
from lmrbench.tasks.submission import Answer

# In the place of a judge's name: the votes of all judges together.
ALL_JUDGES = "all judges"


class Ballot(Record):
    """All votes of one judge, or of all judges, on one submission. votes: None for one that has no category."""

    system: str
    task: str
    sample: int
    judge: str
    votes: tuple[Category | None, ...]

    @property
    def cast(self) -> tuple[Category, ...]:
        """The votes that have a category."""
        return tuple(vote for vote in self.votes if vote is not None)

    @property
    def majority(self) -> Category | None:
        """The category of more than half of the votes that have one; None where there is none."""
        return majority(self.cast)

    @property
    def disagreement(self) -> float | None:
        """The share of pairs of votes that differ; None for fewer than two votes."""
        total = len(self.cast)
        if total < 2:
            return None
        same = sum(count * (count - 1) for count in Counter(self.cast).values())
        return 1 - same / (total * (total - 1))


class Shares(Record):
    """What one judge, or all judges together, said of the answers of one system.

    answers: all, of which so many have a majority for each category, none (ties), no vote with a category
    (unjudged), or nothing that could be judged (unusable). split: answers whose votes are not all the same.
    error_classes: votes by error class. The dollars are None where no price is known.
    """

    system: str
    judge: str
    answers: int
    categories: dict[Category, int]
    ties: int
    unjudged: int
    unusable: int
    split: int
    error_classes: dict[ErrorClass, int]
    input_tokens: int
    output_tokens: int
    dollars: float | None


def ballots(judgements: Iterable[Judgement]) -> list[Ballot]:
    """The ballots of each judge, and of all judges together where there are several."""
    items = list(judgements)
    several = len({item.judge for item in items}) > 1
    votes: dict[tuple[str, str, int, str], list[Category | None]] = {}
    for item in items:
        for judge in (item.judge, ALL_JUDGES) if several else (item.judge,):
            votes.setdefault((*item.answer, judge), []).append(item.category)
    return [
        Ballot(system=system, task=task, sample=sample, judge=judge, votes=tuple(found))
        for (system, task, sample, judge), found in votes.items()
    ]


def latest(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Of each vote on a submission, in each order, the last judgement: those before it were asked again or outdated."""
    return list({(item.answer, item.judge, item.vote, item.order): item for item in judgements}.values())


def read_votes(folder: Path) -> dict[str, dict[Answer, list[Category]]]:
    """What each judge of a run said of each answer, a category for each of its votes; {} where nobody judged.

    A vote without a category is left out; of a vote that was asked for again, the last line counts. Raises RecordError,
    naming file and line, for a line that is no judgement.
    """
    votes: dict[str, dict[Answer, list[Category]]] = {}
    for item in latest(read_lines(folder / JUDGEMENTS, Judgement)):
        if item.category is not None:
            votes.setdefault(item.judge, {}).setdefault(item.answer, []).append(item.category)
    return votes


def shares(judgements: Sequence[Judgement], unusable: Sequence[str], judges: Sequence[str]) -> Iterator[Shares]:
    """By system and judge, in the order of the judges; all judges together come last.

    unusable: for each submission with nothing to judge, its system.
    """
    found = ballots(judgements)
    systems = dict.fromkeys([*(item.system for item in judgements), *unusable])
    for system in systems:
        for judge in [*judges, *([ALL_JUDGES] if len(judges) > 1 else [])]:
            own = [item for item in found if (item.system, item.judge) == (system, judge)]
            votes = [item for item in judgements if item.system == system and judge in (item.judge, ALL_JUDGES)]
            majorities = Counter(item.majority for item in own)
            unjudged = sum(not item.cast for item in own)
            dollars = [item.dollars for item in votes if item.dollars is not None]
            yield Shares(
                system=system,
                judge=judge,
                answers=len(own) + unusable.count(system),
                categories={category: majorities[category] for category in CATEGORIES},
                ties=majorities[None] - unjudged,
                unjudged=unjudged,
                unusable=unusable.count(system),
                split=sum(bool(item.disagreement) for item in own),
                error_classes=dict(Counter(item.error_class for item in votes if item.error_class).most_common()),
                input_tokens=sum(item.input_tokens for item in votes),
                output_tokens=sum(item.output_tokens for item in votes),
                dollars=sum(dollars) if dollars else None,
            )
