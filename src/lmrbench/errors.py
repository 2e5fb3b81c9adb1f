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


class LmrbenchError(Exception):
    """Base of every error that the command line prints as one line instead of a traceback.

    exit_code: what the command then exits with. It says whose fault it is: 2 that of the command or of what it was
    given, 3 that of this machine, 4 that of a provider or of an agent's program.
    """

    exit_code = 2


class UsageError(LmrbenchError):
    """A command was called, or an option set, in a way that makes no sense."""


class TaskError(LmrbenchError):
    """A task folder is not well formed, or its golden fails its own check. The task's author must mend it."""


class SubmissionError(LmrbenchError):
    """What a solver handed in can't be used. While grading, this is a failed grade, not an exception."""


class SandboxError(LmrbenchError):
    """Untrusted code could not be run, or not within its bounds. The machine must be mended; nobody's score changes."""

    exit_code = 3


class SourceError(LmrbenchError):
    """Code that a task is set on can't be fetched, or is not what the task pins."""


class RecordError(LmrbenchError):
    """A file of records can't be read. The message names the file and the line."""


class ServiceError(LmrbenchError):
    """A provider of models, or an agent's program, failed. Nobody's score changes; the same command asks again."""

    exit_code = 4
