"""Exceptions, grouped by the party at fault.

- The submission: grading turns a `SubmissionError` into a failed grade with a reason.
- The command, the task, its source, the machine, the provider or the stored files: `UsageError`, `TaskError`,
  `SourceError`, `SandboxError`, `ServiceError` and `RecordError` are shown to the user as one line and never count
  against a submission.
- A judge (a model that rates submissions): no exception is raised, and the submission stays unjudged.

A message is one line. It names the file, key or task at fault and says what was expected.
"""


class LmrbenchError(Exception):
    """Base class of all errors that the command line prints as one line instead of a traceback.

    Attributes:
        exit_code: The exit code of the command: 2 if the command or its input is at fault, 3 if this machine is, and 4
            if a provider or an agent's program is.
    """

    exit_code = 2


class UsageError(LmrbenchError):
    """A command, option or argument is invalid."""


class TaskError(LmrbenchError):
    """A task folder is malformed, or the reference fails its own check. The task's author must fix it."""


class SubmissionError(LmrbenchError):
    """A submission cannot be used. Grading turns this error into a failed grade."""


class SandboxError(LmrbenchError):
    """This machine could not run untrusted code in a sandbox. The machine must be fixed; no score changes."""

    exit_code = 3


class SourceError(LmrbenchError):
    """The published code that a task is based on cannot be fetched, or differs from the version that the task pins."""


class RecordError(LmrbenchError):
    """A file of records cannot be read or written. The message names the file and any line at fault."""


class ServiceError(LmrbenchError):
    """A model provider or an agent's program failed. No score changes; run the same command again to retry."""

    exit_code = 4
