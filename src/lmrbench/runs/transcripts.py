"""What was said between a system and its model, out of Inspect's logs, without what tells of the machine.

Inspect's own files also hold where they were made, by which command, and every error with its paths. Of them only the
messages are taken, and in these the folders of this machine and what looks like a key are replaced.
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
# Shorter values of variables may be ordinary words.
_SHORTEST_SECRET = 8


def transcripts(folder: Path) -> Iterator[str]:
    """The messages of each log of a run folder, as JSON lines, one per sample."""
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
    """Replaces the folders of this machine, the values of variables that are named like secrets, and keys."""
    places = {str(folder.resolve()), os.getcwd(), str(Path.home())}
    secrets = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    told = [item for item in places if len(item) > 1] + [item for item in secrets if len(item) >= _SHORTEST_SECRET]
    # The longest first, for one may begin with another.
    listed = re.compile("|".join(map(re.escape, sorted(told, key=len, reverse=True))))

    def clean(text: str) -> str:
        return _HOME.sub(r"\1someone", _SECRET.sub("[left out]", listed.sub("[left out]", text)))

    return clean
