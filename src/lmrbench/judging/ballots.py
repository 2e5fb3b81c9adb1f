"""Compute majorities and disagreement of votes. A vote is a judge's rating of one answer.

Only the votes are stored, not these results.
"""

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

# The judge name for the combined votes of all judges.
ALL_JUDGES = "all judges"


class Ballot(Record):
    """The votes of one judge, or of all judges, on one submission.

    Attributes:
        system: The system that answered.
        task: The task's id.
        sample: The number of the answer among the system's answers to the task.
        judge: The judge, or `ALL_JUDGES`.
        votes: The category of each vote; None for a vote without one.
    """

    system: str
    task: str
    sample: int
    judge: str
    votes: tuple[Category | None, ...]

    @property
    def cast(self) -> tuple[Category, ...]:
        """The categories of all votes that have one."""
        return tuple(vote for vote in self.votes if vote is not None)

    @property
    def majority(self) -> Category | None:
        """The category of more than half of the votes with a category; None if there is no majority."""
        return majority(self.cast)

    @property
    def disagreement(self) -> float | None:
        """The share of differing pairs among all pairs of votes with a category; None for fewer than two such votes."""
        total = len(self.cast)
        if total < 2:
            return None
        same = sum(count * (count - 1) for count in Counter(self.cast).values())
        return 1 - same / (total * (total - 1))


class Shares(Record):
    """Counts of the judgements that one judge, or all judges together, made of one system's answers.

    Attributes:
        system: The system that answered.
        judge: The judge, or `ALL_JUDGES`.
        answers: Number of answers; the sum of `categories`, `ties`, `unjudged` and `unusable`.
        categories: Answers with a majority, by category.
        ties: Answers whose votes have no majority.
        unjudged: Answers that got no vote with a category.
        unusable: Answers from which no code could be extracted.
        split: Answers on which the votes differ.
        error_classes: Number of votes by error class.
        input_tokens: Tokens that the judge read.
        output_tokens: Tokens that the judge wrote.
        dollars: The cost in dollars; None if no price is known.
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
    """Group judgements into a ballot for each answer and judge.

    If there are several judges, each answer also has a ballot with the votes of all judges.
    """
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
    """Return the last judgement for each answer, judge, vote number and order. Earlier ones are left out."""
    return list({(item.answer, item.judge, item.vote, item.order): item for item in judgements}.values())


def read_votes(folder: Path) -> dict[str, dict[Answer, list[Category]]]:
    """Read the votes in a run folder.

    Votes without a category are left out. If a vote was repeated, its last line counts.

    Returns:
        The categories of the votes by judge and answer; empty if there are no judgements.

    Raises:
        RecordError: A line is not a judgement; the message names file and line.
    """
    votes: dict[str, dict[Answer, list[Category]]] = {}
    for item in latest(read_lines(folder / JUDGEMENTS, Judgement)):
        if item.category is not None:
            votes.setdefault(item.judge, {}).setdefault(item.answer, []).append(item.category)
    return votes


def shares(judgements: Sequence[Judgement], unusable: Sequence[str], judges: Sequence[str]) -> Iterator[Shares]:
    """Yield the counts for each system and judge and, if there are several judges, for all judges together.

    Args:
        judgements: The judgements to count.
        unusable: The system of each submission from which no code could be extracted.
        judges: The judges, in the order of the result. The counts of all judges come last.
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
