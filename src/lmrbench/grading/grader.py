"""Is each submission right? Transplant it, observe it in a sandbox, compare with the golden, give verdicts.

A case may take ten times the processor time of the golden, and at least 5 s; a whole check five times, and at least
30 s. Whatever a candidate does is a verdict; only a task's or the machine's fault raises.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

from lmrbench.errors import LmrbenchError, SubmissionError
from lmrbench.grading.compare import compare
from lmrbench.grading.reading import SIDE_BY_SIDE, read_in_one_layout, read_submission
from lmrbench.grading.records import CaseVerdict, Grade, Terms, Verdict
from lmrbench.grading.reference import (
    GoldenOutputs,
    environment_digest,
    golden_job,
    golden_outputs,
    require_check,
)
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import CaseOutcome, CaseStatus, Job, Outcome, WorkerPool
from lmrbench.tasks.digests import files_digest, grading_digest
from lmrbench.tasks.model import CASE_SECONDS, CASE_SLOWER, CHECK_SECONDS, CHECK_SLOWER, Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.tiers.forensic import share_found
from lmrbench.text import printable

# Of a reason, which may quote what a candidate made up.
MOST_CHARACTERS = 4000
# Submissions that are held ready at once. At its end some workers wait for the others.
_WINDOW = 1000
NOT_RUN = "not run, since an earlier case had failed"

_VERDICTS: dict[CaseStatus, Verdict] = {"raised": "error", "died": "error", "timeout": "timeout", "missing": "missing"}


@dataclass(frozen=True)
class Candidate:
    """A submission made ready: the repository to observe, or why there is none; and its warnings."""

    submission: Submission
    task: Task
    files: Mapping[str, bytes] | None
    refusal: str
    warnings: tuple[str, ...]
    digest: str


def prepare(submission: Submission, task: Task) -> Candidate:
    """Transplant a submission into a fresh mask. One that can't be used is a candidate without files, not an error."""
    try:
        files, warnings = read_submission(task, submission)
    except Exception as error:
        # What kept it from being collected says more than that there is no code.
        refusal = _refusal(error) if submission.code or not submission.warnings else submission.warnings[0]
        text = json.dumps({"code": submission.code, "refusal": refusal}, sort_keys=True)
        return Candidate(submission, task, None, refusal, submission.warnings, files_digest({"": text.encode()}))
    return Candidate(submission, task, files, "", (*submission.warnings, *warnings), files_digest(files))


def _refusal(error: Exception) -> str:
    """What an error says of the candidate that it came with; raises it where it is not the candidate's."""
    if isinstance(error, SubmissionError):
        return str(error)
    if isinstance(error, LmrbenchError | OSError | MemoryError):
        raise error
    return f"the harness failed on this answer: {type(error).__name__}: {error}"


def prepared(submissions: Sequence[Submission], tasks: Mapping[str, Task]) -> Iterator[Candidate]:
    """Make submissions ready, several at a time; the candidates come in their order."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        ready = [threads.submit(prepare, item, tasks[item.task]) for item in submissions]
        try:
            for candidate in ready:
                yield candidate.result()
        finally:
            for candidate in ready:
                candidate.cancel()


def grade(
    submissions: Sequence[Submission],
    tasks: Mapping[str, Task],
    seeds: Sequence[int],
    pool: WorkerPool,
    graded: Iterable[Grade] = (),
    observed: Callable[[Task, int], None] = lambda task, seed: None,
    fail_fast: bool = False,
    goldens_pool: WorkerPool | None = None,
    keep_goldens: bool = True,
) -> Iterator[Grade]:
    """Grade submissions under all seeds; yields the grades as they are done. Equal content is graded once.

    tasks: by id; every submission's task must be there. graded: grades of an earlier run, which are given back at
    once where they hold for the same candidate, task, seeds, sandbox and environment. observed: called after each
    golden. fail_fast: under each seed, no case is run after the first one that fails. goldens_pool: where goldens are
    observed, if not in `pool`. keep_goldens: in the cache. Raises TaskError and SandboxError, which are no candidate's
    fault.
    """
    for name in dict.fromkeys(item.task for item in submissions):
        require_check(tasks[name])
    grading = _Grading(tasks, tuple(seeds), pool.sandbox.name)
    # As compressed text, which takes a fiftieth of the memory.
    known = {item.terms: _packed(item) for item in graded}
    left = Counter(map(_content, submissions))
    goldens: dict[tuple[str, int], GoldenOutputs] = {}
    first_grades: dict[str, bytes] = {}
    for some in _windows(submissions):
        todo: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in prepared(some, tasks):
            content = _content(candidate.submission)
            left[content] -= 1
            if earlier := known.get(grading.terms(candidate)):
                yield _unpacked(earlier)
            elif first := first_grades.get(content):
                yield _same(_unpacked(first), candidate, grading.terms(candidate))
            else:
                todo[content].append(candidate)
        firsts = [candidates[0] for candidates in todo.values()]
        needed = {item.task.id: item.task for item in firsts if (item.task.id, seeds[0]) not in goldens}
        goldens |= golden_outputs(needed.values(), seeds, goldens_pool or pool, observed, keep_goldens)
        for candidate, cases, outcomes in _observed(firsts, seeds, goldens, pool, fail_fast):
            content = _content(candidate.submission)
            made = _grade(candidate, grading.terms(candidate), cases, outcomes)
            yield made
            for other in todo[content][1:]:
                yield _same(made, other, grading.terms(other))
            if left[content]:
                first_grades[content] = _packed(made)
        first_grades = {content: first for content, first in first_grades.items() if left[content]}


def _packed(item: Grade) -> bytes:
    return zlib.compress(item.model_dump_json().encode())


def _unpacked(data: bytes) -> Grade:
    return Grade.model_validate_json(zlib.decompress(data))


def _content(submission: Submission) -> str:
    """A name for what is graded: submissions with the same are graded once."""
    why_empty = () if submission.code else submission.warnings
    return files_digest({submission.task: json.dumps([submission.code, why_empty], sort_keys=True).encode()})


def _windows(submissions: Sequence[Submission]) -> Iterator[Sequence[Submission]]:
    """So many submissions at a time as are made ready and held at once, all of a system one after the other."""
    places: dict[str, int] = {}
    for item in submissions:
        places.setdefault(item.system, len(places))
    ordered = sorted(submissions, key=lambda item: places[item.system])
    for start in range(0, len(ordered), _WINDOW):
        yield ordered[start : start + _WINDOW]


def _observed(
    candidates: Sequence[Candidate],
    seeds: Sequence[int],
    goldens: Mapping[tuple[str, int], GoldenOutputs],
    pool: WorkerPool,
    fail_fast: bool,
) -> Iterator[tuple[Candidate, list[CaseVerdict], list[Outcome]]]:
    """Run candidates under all seeds; yields each with its verdicts, as they are done."""
    jobs: list[tuple[int, int]] = []
    for number, candidate in enumerate(candidates):
        if candidate.files is None:
            of_seeds = [(seed, goldens[candidate.task.id, seed]) for seed in seeds]
            missing = [case for seed, golden in of_seeds for case in _all_missing(golden, seed, candidate.refusal)]
            yield candidate, missing, []
        else:
            jobs += [(number, seed) for seed in seeds]
    found: dict[int, dict[int, Outcome]] = defaultdict(dict)
    for job, outcome in pool.run([_job(candidates[number], seed, goldens, fail_fast) for number, seed in jobs]):
        number, seed = jobs[job]
        found[number][seed] = outcome
        if len(found[number]) == len(seeds):
            candidate, outcomes = candidates[number], found.pop(number)
            cases: list[CaseVerdict] = []
            for seed in seeds:
                golden = goldens[candidate.task.id, seed]
                try:
                    cases += verdicts(candidate.task, seed, golden, outcomes[seed], fail_fast)
                except Exception as error:
                    cases += _all_missing(golden, seed, _refusal(error))
            yield candidate, cases, [outcomes[seed] for seed in seeds]


class _Grading:
    """Under what the grades of one call are made; what depends on a task alone is computed once."""

    def __init__(self, tasks: Mapping[str, Task], seeds: tuple[int, ...], sandbox: str) -> None:
        self.seeds = seeds
        self.sandbox = sandbox
        self._of_task = cache(lambda name: (grading_digest(tasks[name]), environment_digest(tasks[name])))

    def terms(self, candidate: Candidate) -> Terms:
        """What the grade of a candidate would hold for."""
        submission = candidate.submission
        task_digest, environment = self._of_task(submission.task)
        return Terms(
            system=submission.system,
            task=submission.task,
            sample=submission.sample,
            candidate_digest=candidate.digest,
            task_digest=task_digest,
            seeds=self.seeds,
            sandbox=self.sandbox,
            environment=environment,
        )


def _same(first: Grade, candidate: Candidate, terms: Terms) -> Grade:
    """The grade of a candidate whose content has been graded."""
    warnings = tuple(map(_said, candidate.warnings))
    return first.model_copy(update={**terms._asdict(), "label": candidate.submission.label, "warnings": warnings})


def _job(
    candidate: Candidate, seed: int, goldens: Mapping[tuple[str, int], GoldenOutputs], fail_fast: bool = False
) -> Job:
    golden = goldens[candidate.task.id, seed]

    def fails(number: int, case: CaseOutcome) -> bool:
        in_golden = number < len(golden.observations)
        return in_golden and _verdict(candidate.task, golden.observations[number], case)[0] != "match"

    assert candidate.files is not None
    return replace(
        golden_job(candidate.task, seed, golden.drawn),
        owner=f"system {candidate.submission.system}",
        files=candidate.files,
        check_seconds=check_seconds(golden),
        case_seconds=case_seconds(golden),
        ends_with=fails if fail_fast else None,
    )


def check_seconds(golden: GoldenOutputs) -> float:
    """Return the processor seconds that a candidate may take for all cases together."""
    return max(CHECK_SECONDS, CHECK_SLOWER * golden.seconds)


def case_seconds(golden: GoldenOutputs) -> list[float]:
    """Return the processor seconds that a candidate may take for each case."""
    return [max(CASE_SECONDS, CASE_SLOWER * seconds) for seconds in golden.case_seconds]


def verdicts(
    task: Task, seed: int, golden: GoldenOutputs, outcome: Outcome, fail_fast: bool = False
) -> Iterator[CaseVerdict]:
    """The verdict on each case of a candidate's job, against what the golden returned under the same seed."""
    if outcome.broken is not None:
        # The golden ran under the same check, so whatever broke it here came with the candidate.
        yield from _all_missing(golden, seed, outcome.broken.strip())
        return
    failed = False
    for index, (name, payload) in enumerate(zip(golden.names, golden.observations, strict=True)):
        case = outcome.cases[index] if index < len(outcome.cases) else CaseOutcome("missing")
        if fail_fast and failed:
            # A back end may have run it all the same.
            case = CaseOutcome("missing", message=NOT_RUN)
        verdict, reason = _verdict(task, payload, case)
        failed = failed or verdict != "match"
        yield CaseVerdict(
            seed=seed,
            case=index,
            name=name,
            verdict=verdict,
            reason=reason,
            seconds=case.seconds,
            given=golden.given[index],
        )


def _verdict(task: Task, golden: bytes, case: CaseOutcome) -> tuple[Verdict, str]:
    if case.status != "observed":
        return _VERDICTS[case.status], _said(case.message) or "no observation arrived"
    try:
        observation = decode(case.payload)
    except ValueError as error:
        return "error", _said(str(error))
    difference = compare(decode(golden), observation, task.tolerance, task.tolerances)
    return ("mismatch", _said(difference)) if difference else ("match", "")


def _said(text: str) -> str:
    """What a candidate said, fit for a terminal and a table: its head and tail, without control characters."""
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:500]} ... {text[-MOST_CHARACTERS + 500 :]}"
    return printable(text, lines=True)


def _all_missing(golden: GoldenOutputs, seed: int, reason: str) -> Iterator[CaseVerdict]:
    for index, name in enumerate(golden.names):
        given = golden.given[index]
        yield CaseVerdict(seed=seed, case=index, name=name, verdict="missing", reason=_said(reason), given=given)


def _grade(candidate: Candidate, terms: Terms, cases: Sequence[CaseVerdict], outcomes: Sequence[Outcome]) -> Grade:
    passed = bool(cases) and all(case.verdict == "match" for case in cases)
    found = None
    if candidate.task.draw is not None:
        found = 1.0 if passed else _share_found(candidate)
    return Grade(
        **terms._asdict(),
        label=candidate.submission.label,
        category=candidate.task.category,
        passed=passed,
        found=found,
        cases=tuple(cases),
        seconds=sum(outcome.seconds for outcome in outcomes),
        peak_mb=max((outcome.peak_mb for outcome in outcomes), default=0.0),
        warnings=tuple(map(_said, candidate.warnings)),
        log=_said(outcomes[0].log) if outcomes else "",
    )


def _share_found(candidate: Candidate) -> float:
    try:
        return share_found(candidate.task, read_in_one_layout(_goals(candidate)))
    except Exception as error:
        _refusal(error)
        return 0.0


def _goals(candidate: Candidate) -> dict[str, bytes]:
    return {name: candidate.files[name] for name in candidate.task.goal_files} if candidate.files else {}
