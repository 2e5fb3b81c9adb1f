"""Is a paper harder in another repository? Each system on the papers of which it answered tasks of several suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures.comparison import Comparison, comparisons, corrected


class RepositoryEffect(Record):
    """One system on the papers that stand in two suites; these are what is compared, and `tasks` are papers."""

    system: str
    comparison: Comparison


def repository_effects(
    grades: Iterable[Grade], suites: Mapping[str, str], papers: Mapping[str, str]
) -> list[RepositoryEffect]:
    """For each system and each two suites, the papers of which it answered tasks of both, with Holm's correction.

    suites, papers: of the tasks, by id; papers are told apart by these names. A paper's rate is the mean over all
    answers to its tasks of a suite, and signs of papers are flipped (`comparison.sign_flip_p`); where all papers have
    one answer in either suite, the test is McNemar's.
    """
    found = []
    for system, items in grouped(grades, lambda item: item.system).items():
        answers = [item.model_copy(update={"system": suites[item.task], "task": papers[item.task]}) for item in items]
        found += [(system, item) for item in comparisons(answers) if item.tasks]
    fixed = corrected([comparison for _, comparison in found])
    return [RepositoryEffect(system=system, comparison=item) for (system, _), item in zip(found, fixed, strict=True)]
