"""What a solver hands in for one task."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from lmrbench.records import StoredRecord
from lmrbench.text import printable

# Of a submission's code, all files together.
MAX_CODE_BYTES = 1 << 20

# What a provider sends as JSON may hold lone surrogates, which no file can.
Text = Annotated[str, AfterValidator(lambda text: text.encode("utf-8", "replace").decode())]


class Answer(NamedTuple):
    """Which answer: the key of all that is said of it."""

    system: str
    task: str
    sample: int

    def __str__(self) -> str:
        return f"sample {self.sample} of {self.task} by {self.system}"


# More than anybody asks for; tables and file names hold them.
SampleNumber = Annotated[int, Field(ge=0, le=999_999)]


class Submission(StoredRecord):
    """The code of one sample of one system for one task.

    code: by goal file, the Python text that its targets are taken from; or, for a task with one goal file, a
    response as a model printed it. label: which of a system's samples this is, in words. warnings: what of the hand-in
    was already left out when it was collected.
    """

    system: Text = Field(min_length=1)
    task: Text = Field(min_length=1)
    sample: SampleNumber = 0
    label: Text = ""
    code: Text | dict[Text, Text]
    warnings: tuple[Text, ...] = ()

    @property
    def answer(self) -> Answer:
        """Which answer it is."""
        return Answer(self.system, self.task, self.sample)

    @property
    def code_bytes(self) -> int:
        """How long the code is, with the names of its files."""
        texts = [self.code] if isinstance(self.code, str) else [*self.code.keys(), *self.code.values()]
        return sum(len(text.encode()) for text in texts)


class HandedIn(Submission):
    """A submission as somebody else's program writes it, who may add keys of his own."""

    @model_validator(mode="after")
    def _known_keys(self) -> HandedIn:
        return self

    def submission(self) -> Submission:
        """The submission, with a warning for each unknown key, which is left out."""
        unknown = self.model_extra or {}
        warnings = tuple(f"{printable(key)}: unknown key; left out" for key in sorted(unknown))
        values = {name: value for name, value in self if name not in unknown}
        return Submission.model_validate(values | {"warnings": (*self.warnings, *warnings)})
