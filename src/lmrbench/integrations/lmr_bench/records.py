"""Read the published records of the public edition of LMR-BENCH from a clone.

The clone is searched at any depth for four kinds of records:

- `human_evaluation/*.json`: labels, the categories that people gave to answers;
- `llm_as_a_judge_evaluation/AGENT/MODEL/*_analysis.txt`: the replies of the judge, a language model;
- `unit_test_evaluation/AGENT/MODEL/results.txt`: the verdicts of unit tests;
- `.../AGENT/MODEL/.../N-NAME/info.json`: output trees, each a copy of a paper's folder with a system's answers in it.

The names of agents and models occur in several spellings. A paper is identified by the number at the start of its
folder's name, and a function by its index in the folder's `info.json`, from 0. A record that can't be read is listed as
a problem and does not affect the others.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lmrbench.errors import RecordError, SubmissionError, TaskError, UsageError
from lmrbench.integrations.lmr_bench.edition import (
    INFO,
    MOST_OF_A_TEXT,
    benchmark_folders,
    paper_number,
    plain_text,
    read_implementations,
)
from lmrbench.integrations.lmr_bench.imported import Remark
from lmrbench.integrations.lmr_bench.published import PublishedOutcome
from lmrbench.runs.records import Category
from lmrbench.tasks.foreign import is_litter, read_foreign

JUDGE = "gpt-4.1-2025-04-14"
PEOPLE, JUDGES, UNIT_TESTS = "human_evaluation", "llm_as_a_judge_evaluation", "unit_test_evaluation"
_SCALE: Mapping[str, Category] = {"1": "LI", "2": "LC", "3": "CC"}
# The scale of an annotator who counts from 0 instead of 1.
_SCALE_FROM_0: Mapping[str, Category] = {"0": "LI", "1": "LC", "2": "CC"}
_SETTINGS = {"noagent": "prompting", "baseagent": "prompting", "openhands": "openhands"}
_MODELS = {"gpt41": "gpt-4.1", "gpt4o": "gpt-4o", "o4mini": "o4-mini", "claude37": "claude-3.7"}
# Matches a part of a path, converted to lower case without punctuation, that names an agent, a model or both.
_NAMED = re.compile(rf"({'|'.join(_SETTINGS)})?(?:agent|logs)?({'|'.join(_MODELS)})?(?:sonnet)?(?:20[0-9]{{6}})?")
_JUDGED = re.compile(r"([0-9]{1,6})[^0-9].*_([0-9]{1,4})_analysis\.txt")
_TESTED = re.compile(r"(?:.*/)?([0-9]{1,6})[^/0-9][^/]*/(?:.*/)?(unit_?tests?_?([0-9]{0,4}))\.log: *(\w*)")
_VERDICTS = {"PASS": True, "FAIL": False}


class System(NamedTuple):
    """A system of the edition: `prompting` or `openhands`, and the name of the model."""

    setting: str
    model: str


class PublicAnswer(NamedTuple):
    """The answer of a system to one function. Paper and function are identified by their numbers."""

    system: System
    paper: int
    function: int


class PublicJudgement(NamedTuple):
    """The category that the judge gave to an answer, and the reasons."""

    category: Category
    rationale: tuple[str, ...]


class PublicLabel(NamedTuple):
    """The category that an annotator gave to an answer, and the annotator's comment."""

    annotator: str
    category: Category
    comment: str


@dataclass(frozen=True)
class PublicRecords:
    """The records in a clone.

    Attributes:
        clone: The folder of the clone.
        unit_tests: For each answer with a unit test, whether it passes.
        judgements: The categories and reasons that the judge gave, by answer.
        labels: The labels by answer, at most one for each annotator.
        outputs: The paths of output trees relative to the clone, by system and number of the paper.
        logs: The paths of folders with OpenHands logs relative to the clone, by system.
        problems: The records that could not be read, with reasons.
    """

    clone: Path
    unit_tests: Mapping[PublicAnswer, bool]
    judgements: Mapping[PublicAnswer, PublicJudgement]
    labels: Mapping[PublicAnswer, Sequence[PublicLabel]]
    outputs: Mapping[System, Mapping[int, str]]
    logs: Mapping[System, Sequence[str]]
    problems: Sequence[Remark]

    @property
    def answers(self) -> list[PublicAnswer]:
        """The answers that have a unit-test result, a judgement or a label, sorted."""
        return sorted({*self.unit_tests, *self.judgements, *self.labels})

    @property
    def systems(self) -> list[System]:
        """The systems that have any record or output, sorted."""
        return sorted({*(item.system for item in self.answers), *self.outputs})

    def outcomes(self) -> list[PublishedOutcome]:
        """Return the records in the form that the analyses of the paper use.

        Papers and functions are named by their numbers. If several annotators labelled an answer, the first label
        counts.
        """
        found = []
        for item in self.answers:
            judged, passes = self.judgements.get(item), self.unit_tests.get(item)
            label = next(iter(self.labels.get(item, ())), None)
            found.append(
                PublishedOutcome(
                    setting=item.system.setting,
                    model=item.system.model,
                    paper=str(item.paper),
                    function=str(item.function),
                    unit_test=None if passes is None else "pass" if passes else "fail",
                    judge=judged.category if judged else None,
                    human=label.category if label else None,
                    annotator=label.annotator if label else None,
                )
            )
        return found


@dataclass
class _Found:
    """The records read so far; see `PublicRecords`. Labels are converted last, when each annotator's scale is known."""

    clone: Path
    tests: Mapping[int, Mapping[str, int]]
    unit_tests: dict[PublicAnswer, bool] = field(default_factory=dict)
    judgements: dict[PublicAnswer, PublicJudgement] = field(default_factory=dict)
    given: list[tuple[str, PublicAnswer, str, str, str]] = field(default_factory=list)
    outputs: dict[System, dict[int, str]] = field(default_factory=dict)
    logs: dict[System, list[str]] = field(default_factory=dict)
    problems: list[Remark] = field(default_factory=list)

    def problem(self, where: object, reason: object) -> None:
        self.problems.append(Remark(where=str(where), reason=str(reason)))

    def text(self, file: PurePosixPath) -> str:
        try:
            return (read_foreign(self.clone, str(file), MOST_OF_A_TEXT) or b"").decode()
        except SubmissionError as error:
            raise RecordError(str(error).removeprefix(f"{file}: ")) from error
        except UnicodeDecodeError as error:
            raise RecordError("not valid UTF-8") from error


def read_records(clone: Path) -> PublicRecords:
    """Read all records in a clone of the edition's repository.

    Args:
        clone: The folder of the clone.

    Returns:
        The records, and a problem for each file, line or label that can't be read.

    Raises:
        UsageError: The folder contains no records in a known form.
    """
    if not clone.is_dir():
        raise UsageError(f"{clone}: no such folder")
    found = _Found(clone, _unit_tests_of_functions(clone))
    for folder, names in _folders(clone):
        system = system_of(folder.parts)
        if system and INFO in names:
            _add_output(found, system, folder)
        elif system and folder.name == "events":
            _add_log(found, system, folder)
        for name in names:
            try:
                if PEOPLE in folder.parts and name.endswith(".json"):
                    _read_labels(found, folder / name)
                elif system and JUDGES in folder.parts and name.endswith("_analysis.txt"):
                    _read_judgement(found, system, folder / name)
                elif system and UNIT_TESTS in folder.parts and name == "results.txt":
                    _read_unit_tests(found, system, folder / name)
            except RecordError as error:
                found.problem(folder / name, error)
    labels = _labels(found)
    if not (found.unit_tests or found.judgements or labels or found.outputs):
        raise UsageError(
            f"{clone}: no published records found; expected a clone of the edition's repository with the folders "
            f"{PEOPLE}, {JUDGES} and {UNIT_TESTS} in its folder results"
        )
    return PublicRecords(
        clone, found.unit_tests, found.judgements, labels, found.outputs, found.logs, tuple(found.problems)
    )


def system_of(names: Sequence[str]) -> System | None:
    """Return the system whose agent and model occur in the parts of a path, in any spelling.

    Returns:
        The system; None if the agent or the model does not occur.
    """
    setting = model = ""
    for name in names:
        named = _NAMED.fullmatch(re.sub(r"[^a-z0-9]", "", name.casefold()))
        if named:
            setting = setting or _SETTINGS.get(named[1], "")
            model = model or _MODELS.get(named[2], "")
    return System(setting, model) if setting and model else None


def judgement_in(text: str) -> PublicJudgement:
    """Parse a reply of the judge.

    Args:
        text: A JSON object with `category` and `rationale`, possibly surrounded by other text, or prose whose last line
            is the category. Categories are 1, 2 and 3.

    Returns:
        The category and the reasons. Prose counts as one reason.

    Raises:
        RecordError: The text has neither form.
    """
    try:
        values = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
    except (ValueError, RecursionError):
        values = None
    if isinstance(values, dict) and plain_text(values.get("category")) in _SCALE:
        given = values.get("rationale")
        points = map(plain_text, given if isinstance(given, list) else [given])
        return PublicJudgement(_SCALE[plain_text(values["category"])], tuple(filter(None, points)))
    prose, _, last = text.strip().rpartition("\n")
    if last.strip() in _SCALE:
        return PublicJudgement(_SCALE[last.strip()], (plain_text(prose),) if prose.strip() else ())
    raise RecordError(
        'neither a JSON object with a "category" from 1 to 3 nor a text that ends with a line "1", "2" or "3"'
    )


def _folders(clone: Path) -> Iterator[tuple[PurePosixPath, list[str]]]:
    """Yield each folder, relative to the clone, with the names of its files.

    Links and hidden folders are not entered, nor are the subfolders of a folder with an `info.json`.
    """
    for place, inner, names in os.walk(clone):
        inner[:] = sorted(name for name in inner if name[0] != "." and not is_litter(PurePosixPath(name)))
        if INFO in names:
            inner.clear()
        yield PurePosixPath(Path(place).relative_to(clone).as_posix()), sorted(names)


def _unit_tests_of_functions(clone: Path) -> dict[int, dict[str, int]]:
    """Return the index of the function that each unit test belongs to, by number of the paper and name of the test."""
    try:
        folders = benchmark_folders(clone)
    except UsageError:
        return {}
    found: dict[int, dict[str, int]] = {}
    for folder in folders:
        number = paper_number(folder.name)
        if number is None:
            continue
        try:
            implementations = read_implementations(folder)
        except TaskError:
            continue
        for function, item in enumerate(implementations):
            if name := PurePosixPath(plain_text(item.get("unit_test_file"))).stem:
                found.setdefault(number, {}).setdefault(name, function)
    return found


def _add_output(found: _Found, system: System, folder: PurePosixPath) -> None:
    number = paper_number(folder.name)
    if number is None:
        found.problem(folder, "the name of an output tree must start with the number of its paper, as in 1-DPO")
    elif (known := found.outputs.setdefault(system, {}).setdefault(number, str(folder))) != str(folder):
        found.problem(folder, f"left out, because {known} also contains this system's answers to this paper")


def _add_log(found: _Found, system: System, events: PurePosixPath) -> None:
    """Add a log folder: the topmost folder above `events` whose path names the system's agent and model."""
    places = [events, *events.parents]
    place = str(max((place for place in places if system_of(place.parts)), key=places.index))
    if place not in found.logs.setdefault(system, []):
        found.logs[system].append(place)


def _read_unit_tests(found: _Found, system: System, file: PurePosixPath) -> None:
    for line in found.text(file).splitlines():
        match = _TESTED.match(line)
        if match is None:
            continue
        paper, name, number, word = match.groups()
        if word not in _VERDICTS:
            found.problem(file, f"expected PASS or FAIL: {line[:200]}")
            continue
        by_place = max(int(number or 1) - 1, 0)
        function = found.tests.get(int(paper), {}).get(name, by_place)
        answer = PublicAnswer(system, int(paper), function)
        if found.unit_tests.setdefault(answer, _VERDICTS[word]) != _VERDICTS[word]:
            found.problem(file, f"contradicts an earlier verdict on the same answer; left out: {line[:200]}")


def _read_judgement(found: _Found, system: System, file: PurePosixPath) -> None:
    match = _JUDGED.fullmatch(file.name)
    if match is None:
        raise RecordError("expected a name such as 1-DPO_direct-preference-optimization_0_analysis.txt")
    judgement = judgement_in(found.text(file))
    answer = PublicAnswer(system, int(match[1]), int(match[2]))
    if found.judgements.setdefault(answer, judgement).category != judgement.category:
        raise RecordError("contradicts an earlier judgement of the same answer; left out")


def _read_labels(found: _Found, file: PurePosixPath) -> None:
    try:
        values = json.loads(found.text(file))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not valid JSON: {error}") from error
    if not isinstance(values, list):
        raise RecordError("expected a JSON list of labels")
    for number, item in enumerate(values, 1):
        place = f"{file}: label {number}"
        if not isinstance(item, dict):
            found.problem(place, "not a JSON object")
            continue
        text = {key: plain_text(value) for key, value in item.items()}
        system = system_of((text.get("agent_type", ""), text.get("model_name", "")))
        paper, function = (text.get(key, "") for key in ("paper_index", "function_index"))
        if system is None:
            named = f"{item.get('agent_type')!r}, {item.get('model_name')!r}"
            found.problem(place, f"agent_type, model_name: unknown system {named}")
        elif not re.fullmatch(r"[0-9]{1,6}", paper) or not re.fullmatch(r"[0-9]{1,4}", function):
            found.problem(place, "paper_index, function_index: expected whole numbers")
        else:
            answer = PublicAnswer(system, int(paper), int(function))
            annotator = text.get("annotator") or file.stem
            found.given.append((place, answer, annotator, text.get("human_judge_result", ""), text.get("comment", "")))


def _labels(found: _Found) -> dict[PublicAnswer, list[PublicLabel]]:
    """Return the labels by answer. An annotator who uses 0 at least once is assumed to count from 0."""
    from_0 = {annotator for _, _, annotator, value, _ in found.given if value == "0"}
    labels: dict[PublicAnswer, list[PublicLabel]] = {}
    for place, answer, annotator, value, comment in found.given:
        scale = _SCALE_FROM_0 if annotator in from_0 else _SCALE
        if value not in scale:
            also = f", because {annotator} also uses 0" if annotator in from_0 else ""
            found.problem(place, f"human_judge_result: {value!r}; expected {min(scale)} to {max(scale)}{also}")
            continue
        label = PublicLabel(annotator, scale[value], comment)
        known = next((item for item in labels.get(answer, ()) if item.annotator == annotator), None)
        if known is None:
            labels.setdefault(answer, []).append(label)
        elif known.category != label.category:
            found.problem(place, f"contradicts an earlier label of {annotator}; left out")
    return labels
