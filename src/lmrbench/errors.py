"""Whose fault is it?

Vocabulary. Everything that can go wrong has one of three owners, and the owner decides what happens next:

- *the candidate's* fault is a verdict. `SubmissionError` never leaves `grading`: it becomes a failed grade and
  its reason.
- *the machinery's* fault raises. `TaskError` (a task's author must mend it), `SandboxError` (this machine must be
  mended) and `RecordError` (a file of records is damaged) reach the user as one line and are never counted against
  a candidate.
- *a judge's* fault leaves the submission unjudged.

Every message names the file, the key or the task at fault, and says in one line what was expected there.
"""


def one_line(text: str) -> str:
    """A text that somebody else chose, such as a file's name, fit for a message: what does not print is escaped."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


class LmrbenchError(Exception):
    """Base of every error that the command line prints as one line instead of a traceback."""


class TaskError(LmrbenchError):
    """A task folder is not well formed, or its golden fails its own check. The task's author must mend it."""


class SubmissionError(LmrbenchError):
    """What a solver handed in can't be used. While grading, this is a failed grade, not an exception."""


class SandboxError(LmrbenchError):
    """Untrusted code could not be run, or not within its bounds. The machine must be mended; nobody's score changes."""


class RecordError(LmrbenchError):
    """A file of records can't be read. The message names the file and the line."""
