"""Submissions: the code that a system (a model, an agent or a person) wrote for a task."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from lmrbench.records import StoredRecord
from lmrbench.text import printable

# The maximum size of the code of a submission, over all files.
MAX_CODE_BYTES = 1 << 20

# JSON from a provider may contain lone surrogates, which cannot be encoded as UTF-8; they are replaced.
Text = Annotated[str, AfterValidator(lambda text: text.encode("utf-8", "replace").decode())]


class Answer(NamedTuple):
    """The key of a submission, of its grade and of all other records about it.

    Attributes:
        system: The name of the system.
        task: The id of the task.
        sample: The number of the sample (one attempt of the system at the task), from 0.
    """

    system: str
    task: str
    sample: int

    def __str__(self) -> str:
        """Return the key in words, for messages."""
        return f"sample {self.sample} of {self.task} by {self.system}"


# The upper bound keeps tables and file names readable.
SampleNumber = Annotated[int, Field(ge=0, le=999_999)]


class Submission(StoredRecord):
    """The code of one sample of one system for one task.

    Attributes:
        system: The name of the system.
        task: The id of the task.
        sample: The number of the sample, from 0.
        label: A description of the sample.
        code: Either the Python text of each goal file (a file with masked functions), by path, or a single text that
            contains all masked functions, such as the response of a model.
        warnings: One line for each part of the answer that was left out when the submission was collected.
    """

    system: Text = Field(min_length=1)
    task: Text = Field(min_length=1)
    sample: SampleNumber = 0
    label: Text = ""
    code: Text | dict[Text, Text]
    warnings: tuple[Text, ...] = ()

    @property
    def answer(self) -> Answer:
        """The key of the submission."""
        return Answer(self.system, self.task, self.sample)

    @property
    def code_bytes(self) -> int:
        """The size of the code in bytes, including the names of files."""
        texts = [self.code] if isinstance(self.code, str) else [*self.code.keys(), *self.code.values()]
        return sum(len(text.encode()) for text in texts)


class ForeignSubmission(Submission):
    """A submission read from a file that another program wrote. It may have unknown keys."""

    @model_validator(mode="after")
    def _known_keys(self) -> ForeignSubmission:
        return self

    def submission(self) -> Submission:
        """Return the submission without its unknown keys, with a warning for each of them."""
        unknown = self.model_extra or {}
        warnings = tuple(f"{printable(key)}: unknown key; left out" for key in sorted(unknown))
        values = {name: value for name, value in self if name not in unknown}
        return Submission.model_validate(values | {"warnings": (*self.warnings, *warnings)})
