"""Export the conversations in Inspect's logs without information about the machine.

Inspect's logs also contain the folder and the command of the run, and errors with local paths. Only the messages are
exported. In the messages, the names of local folders and likely secrets are replaced.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench.runs.logs import log_files, logged_samples

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

_SECRET_NAME = re.compile("key|token|secret|password|credential", re.I)
_SECRET = re.compile(r"\b(?:sk|pk|ghp|gho|hf|xai|gsk|AKIA|AIza|Bearer)[-_ ]?[A-Za-z0-9_-]{16,}")
_HOME = re.compile(r"(/home/|/Users/|\\Users\\)[^/\\\s\"':]+")
# Shorter values of environment variables are kept in transcripts, because they may be ordinary words.
_SHORTEST_SECRET = 8


def transcripts(folder: Path) -> Iterator[str]:
    """Export the messages of each log of a run folder.

    Args:
        folder: The run folder.

    Yields:
        The JSON lines of each log, with one line per sample.

    Raises:
        RecordError: A log is damaged or too large.
    """
    clean = _cleaner(folder)
    for name in log_files(folder):
        yield "".join(
            json.dumps(_transcript(item, clean), ensure_ascii=False) + "\n" for item in logged_samples(folder, name)
        )


def _transcript(sample: EvalSample, clean: Callable[[str], str]) -> dict[str, Any]:
    from inspect_ai.log import resolve_sample_attachments

    messages = []
    for item in resolve_sample_attachments(sample).messages:
        calls = getattr(item, "tool_calls", None) or []
        messages.append(
            {
                "role": item.role,
                "text": clean(item.text),
                "calls": [
                    {"tool": clean(call.function), "arguments": clean(json.dumps(call.arguments))} for call in calls
                ],
            }
        )
    return {"task": str(sample.id), "sample": sample.epoch - 1, "messages": messages}


def _cleaner(folder: Path) -> Callable[[str], str]:
    """Return a function that replaces local folders, API keys and the values of secret environment variables."""
    places = {str(folder.resolve()), os.getcwd(), str(Path.home())}
    secrets = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    private = [item for item in places if len(item) > 1] + [item for item in secrets if len(item) >= _SHORTEST_SECRET]
    # The longest alternative comes first, because one may be a prefix of another.
    listed = re.compile("|".join(map(re.escape, sorted(private, key=len, reverse=True))))

    def clean(text: str) -> str:
        return _HOME.sub(r"\1someone", _SECRET.sub("[left out]", listed.sub("[left out]", text)))

    return clean
