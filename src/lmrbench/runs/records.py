"""Records in a run folder: facts, usage, snapshots, judgements, labels and published verdicts.

Submissions are defined in `lmrbench.tasks.submission`, and grades in `lmrbench.grading.records`. `Category` is the
scale of judgements and labels, and `ErrorClass` names the kinds of error (LMR-BENCH, sections 4.2 and 5.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from pydantic import Field, JsonValue, model_validator

from lmrbench.records import Migration, StoredRecord
from lmrbench.tasks.submission import Answer, SampleNumber, Text

# The ways in which an attempt to answer a task can end. The last three are faults of the provider, of the agent's
# program or of the machine. They leave the sample without a grade; running the same command again repeats the attempt.
AnswerStatus = Literal[
    "answered",
    "truncated",
    "refused",
    "filtered",
    "empty",
    "unusable",
    "limit",
    "provider_error",
    "agent_crash",
    "machine_error",
]
UNANSWERED: tuple[AnswerStatus, ...] = ("provider_error", "agent_crash", "machine_error")

# The ways in which the request for a judge's vote can end. The last one is a fault of the provider; running the same
# command again repeats the request.
VoteStatus = Literal["judged", "refused", "unparsable", "provider_error"]
# The order in which a judge reads the reference and the candidate (the code of the submission).
Order = Literal["reference first", "candidate first"]

# Completely correct; correct logic with an incorrect implementation; incorrect logic.
Category = Literal["CC", "LC", "LI"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
# The two ends of the scale of categories.
OPPOSITES = frozenset({"CC", "LI"})

# The kinds of error in answers that are not completely correct.
ErrorClass = Literal["paper parsing", "problem context", "code robustness", "cross-file retrieval", "policy"]
# The definition of each error class, as judges and annotators read it.
ERROR_CLASSES: Mapping[ErrorClass, str] = {
    "paper parsing": "a formula, symbol or detail of the paper was misread or left out",
    "problem context": "what the task asks of this function, or what surrounds it, was misunderstood",
    "code robustness": "the code fails on inputs that it must handle: types, shapes, edge cases, numerical range",
    "cross-file retrieval": "something defined elsewhere in the repository was not found, or was used wrongly",
    "policy": "nothing was implemented, or not what was asked: a refusal, a stub, an answer to another question",
}


class Usage(StoredRecord):
    """The outcome and the cost of one attempt to answer a task.

    Attributes:
        system: The name of the system.
        task: The id of the task.
        sample: The number of the sample, from 0.
        status: The outcome.
        detail: The reason for the status, such as the provider's message; may be "".
        calls: The number of model calls.
        input_tokens: Tokens that the model read.
        output_tokens: Tokens that the model wrote.
        dollars: The cost, or None if the model's prices are unknown.
        seconds: Working time of the model and its tools, without retries, queueing and grading.
        limit: The limit that ended the attempt; "" if none did.
        cut: The parts of the prompt that were shortened because the prompt was too long.
        runs: The number of runs of the experiment that `replay.py` counted; None if the task has no `replay.py`.
    """

    system: str
    task: str
    sample: int
    status: AnswerStatus
    detail: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float
    limit: str
    cut: tuple[str, ...]
    runs: int | None = None

    @property
    def answer(self) -> Answer:
        """The answer that this record describes."""
        return Answer(self.system, self.task, self.sample)


def _correct(state: dict[str, Any]) -> dict[str, Any]:
    """Rename the key `passed` of earlier schemas to `correct`."""
    return {"correct" if key == "passed" else key: value for key, value in state.items()}


class Snapshot(StoredRecord):
    """The grade of an agent's workspace after a turn, and the cost so far.

    There is a snapshot for each turn that changed a goal file (a file with masked functions), and one for the end of
    the session.

    Attributes:
        system: The name of the system.
        task: The id of the task.
        sample: The number of the sample, from 0.
        turn: The number of successful model calls so far.
        input_tokens: Tokens that the model read so far.
        output_tokens: Tokens that the model wrote so far.
        tool_calls: The number of tool calls that the model requested so far.
        seconds: Working time so far, as in `Usage`.
        dollars: Cost so far, as in `Usage`.
        matched: The number of cases that match.
        cases: The number of cases.
        correct: Whether all ordinary cases match. Snapshots are graded with the same seeds as the final answer.
    """

    migrations: ClassVar[Mapping[int, Migration]] = {3: _correct}

    system: str
    task: str
    sample: int
    turn: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    seconds: float
    dollars: float | None
    matched: int
    cases: int
    correct: bool

    @property
    def answer(self) -> Answer:
        """The answer that the agent was working on."""
        return Answer(self.system, self.task, self.sample)


def _with_flat_settings(facts: dict[str, Any]) -> dict[str, Any]:
    """Convert settings that were stored with schema version 0: flatten their groups, and use the current names."""
    if facts.get("solving") is None:
        return facts
    old = dict(facts["solving"])
    limits = {f"{name}_limit": value for name, value in old.pop("limits", {}).items()}
    mount = [folder for folder in old.pop("shown", "").split(":") if folder]
    renamed = {"agent_sandbox": old.pop("sandbox", "bubblewrap"), "mount": mount}
    if old.get("paper") == "digest":
        renamed["paper"] = "summary"
    return facts | {"solving": old | old.pop("generation", {}) | limits | renamed}


class RunFacts(StoredRecord):
    """`run.json`: the conditions under which the folder's submissions and last grades were made.

    Attributes:
        lmrbench: The version of lmrbench.
        suite_digest: The digest of the suite.
        tasks: The ids of the run's tasks.
        seeds: The seeds that cases were drawn with.
        sandbox: The name of the sandbox back end.
        environment: The harness, the machine and the versions of installed packages.
        suite: The name and version of the suite; "" for a suite without a name.
        solving: The settings with which a model solved the tasks (`lmrbench.models.settings`), or None if lmrbench did
            not ask a model for the submissions.
        fresh_seeds: Whether the seeds were drawn for this run alone.
        blind: Whether the grades omit reasons.
        fail_fast: Whether grading stopped at the first failing case.
        source: The file that the submissions were read from, relative to the folder; "" for submissions of models and
            built-in systems.
    """

    migrations: ClassVar[Mapping[int, Migration]] = {0: _with_flat_settings}

    lmrbench: str
    suite_digest: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    sandbox: str
    environment: dict[str, str]
    suite: str = ""
    solving: dict[str, JsonValue] | None = None
    fresh_seeds: bool = False
    blind: bool = False
    fail_fast: bool = False
    source: str = ""


class VoteKey(NamedTuple):
    """The identity of a vote. The digest is that of the prompt, so submissions with the same prompt share votes."""

    judge: str
    vote: int
    digest: str


class Judgement(StoredRecord):
    """One vote of one judge on one submission.

    Attributes:
        system: The system of the submission.
        task: The task of the submission.
        sample: The sample of the submission.
        judge: The name of the judge.
        vote: The number of the vote, from 0; a judge may vote several times on a submission.
        order: Whether the judge read the reference or the candidate first.
        prompt_version: The version of the judge's prompt; 0 if lmrbench did not request the vote.
        evidence: Whether the judge saw the verdicts on the submission's cases.
        comments_stripped: Whether comments were removed from the submission.
        digest: The digest of the prompt (which contains the judged code), its version and the temperature, if set.
        status: The outcome of the request.
        category: The category, or None unless the status is `judged`.
        error_class: The error class, if the judge named one.
        logic: The judge's remarks on the logic.
        implementation: The judge's remarks on the implementation.
        rationale: The judge's remarks on both together, if it judged with the protocol of the LMR-BENCH paper.
        detail: The reason why the vote has no category; "" if it has one.
        attempts: The number of requests; 0 if the vote was copied from another submission with the same prompt.
        input_tokens: Tokens that the judge read.
        output_tokens: Tokens that the judge wrote.
        dollars: The cost, or None if the judge's prices are unknown.
    """

    system: Text
    task: Text
    sample: int
    judge: str
    vote: int = Field(ge=0)
    order: Order
    prompt_version: int
    evidence: bool
    comments_stripped: bool
    digest: str
    status: VoteStatus
    category: Category | None
    error_class: ErrorClass | None
    logic: tuple[Text, ...]
    implementation: tuple[Text, ...]
    rationale: tuple[Text, ...] = ()
    detail: Text
    attempts: int
    input_tokens: int
    output_tokens: int
    dollars: float | None

    @model_validator(mode="after")
    def _category_of_a_judgement(self) -> Judgement:
        if (self.status == "judged") != (self.category is not None):
            raise ValueError("category: required if the status is 'judged', not allowed otherwise")
        return self

    @property
    def key(self) -> VoteKey:
        """The identity of this vote."""
        return VoteKey(self.judge, self.vote, self.digest)

    @property
    def answer(self) -> Answer:
        """The answer that was judged."""
        return Answer(self.system, self.task, self.sample)


class Label(StoredRecord):
    """The label that one person gave to one answer.

    Attributes:
        system: The system of the answer.
        task: The task of the answer.
        sample: The sample of the answer.
        annotator: The name of the person.
        category: The category.
        error_class: The error class, if the person chose one.
        reason: The person's explanation.
        seconds: The time that labelling took, or None if it was not measured.
    """

    system: str = Field(min_length=1)
    task: str = Field(min_length=1)
    sample: SampleNumber
    annotator: str = Field(min_length=1)
    category: Category
    error_class: ErrorClass | None = None
    reason: str = ""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @property
    def answer(self) -> Answer:
        """The answer that was labelled."""
        return Answer(self.system, self.task, self.sample)


class PublishedVerdict(StoredRecord):
    """The published result of a unit test of an answer. lmrbench did not run the test, so this is not a grade.

    Attributes:
        system: The system of the answer.
        task: The task of the answer.
        sample: The sample of the answer.
        passed: Whether the unit test passed.
    """

    system: Text
    task: Text
    sample: SampleNumber
    passed: bool

    @property
    def answer(self) -> Answer:
        """The answer that was tested."""
        return Answer(self.system, self.task, self.sample)
