"""Answers on disk: a file of JSON lines for each model, prompt setting and category.

Files are only appended to. A pair that was asked again about an event has several lines, of which the last one counts:
some models refuse in one run of batched inference what they answer in the next.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_FOLDER = [Path("results")]
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Answer:
    """The response of a model, as one perceiver, about one event of one experiencer."""

    perceiver: str
    experiencer: str
    event_id: int
    response: str

    @property
    def intensity(self) -> float | None:
        """The number that the response starts with, or None if the model refused."""
        found = _NUMBER.match(self.response.strip())
        return float(found.group()) if found else None


def use_folder(folder: Path) -> None:
    """Store results in this folder from now on."""
    _FOLDER[0] = folder


def append_answers(model_id: str, prompt_variation: str, group_option: str, answers: Iterable[Answer]) -> None:
    """Append answers to a file, which is created if it is missing."""
    path = _path(model_id, prompt_variation, group_option)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(answer)) + "\n" for answer in answers)


def read_answers(model_id: str, prompt_variation: str, group_option: str) -> Iterator[Answer]:
    """Yield the answers of all lines of a file, in order.

    Raises:
        FileNotFoundError: If the model was not asked.
    """
    with _path(model_id, prompt_variation, group_option).open(encoding="utf-8") as file:
        for line in file:
            yield Answer(**json.loads(line))


def refused_ids(answers: Iterable[Answer]) -> set[int]:
    """Return the events that at least one pair refused, after all reruns (Appendix C.1)."""
    last = {(answer.perceiver, answer.experiencer, answer.event_id): answer for answer in answers}
    return {answer.event_id for answer in last.values() if answer.intensity is None}


def _path(model_id: str, prompt_variation: str, group_option: str) -> Path:
    return _FOLDER[0] / model_id / f"{prompt_variation}-{group_option}.jsonl"
