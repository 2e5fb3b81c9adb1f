"""Remove artefacts of chats, terminals and web pages from the text of a program.

Every function except `unwrapped` keeps the number of lines, so that line numbers refer to the submitted text.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence

from lmrbench.source.syntax import lines_of

_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_INVISIBLE = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
    r"|[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]"
)
_SPACE = r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
# Strings and comments are matched first, because a special space in them may be intended.
_OUTSIDE = re.compile(
    r"(?P<kept>'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|\#[^\n]*)"
    rf"|(?P<dropped>{_INVISIBLE})|(?P<space>{_SPACE})",
    re.DOTALL,
)
# Special tokens that models write at the end of a text.
_END = re.compile(
    r"(?:<\|[\w .-]{1,40}\|>|<｜[^｜\n]{1,40}｜>|</s>|<eos>|<end_of_turn>|\[/?INST\])[ \t]*$", re.MULTILINE
)
_REASONING = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
_END_OF_REASONING = re.compile(
    rf"(?:</{_REASONING}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>)(?![\"'])",
    re.IGNORECASE,
)
_BEGIN_OF_REASONING = re.compile(
    rf"^[ \t]*(?:<{_REASONING}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(
    r"^[ \t]*(?:</?(?:pre|code|br|p|div|span)\b[^<>\n]*>)+|(?:</?(?:pre|code|br|p|div|span)\b[^<>\n]*>)+[ \t]*$", re.I
)
_ENTITY = re.compile(r"&(?:#\d{1,6}|#x[0-9a-f]{1,5}|lt|gt|amp|quot|apos|nbsp);", re.I)
_QUOTATION = re.compile(r"^(?: {0,3}>(?!>>) ?)+")
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: (?P<code>.*))?$")
_CODE_KEYS = ("code", "answer", "solution", "python", "implementation")


def cleaned(text: str) -> str:
    """Remove terminal escape codes, NULs, end tokens and invisible characters from a text.

    Strings and comments keep their invisible characters. Elsewhere, Unicode spaces become plain spaces. Newlines of all
    kinds become line feeds.
    """
    plain = "\n".join(lines_of(_TERMINAL.sub("", text).replace("\0", "")))
    return _OUTSIDE.sub(lambda match: match["kept"] or (" " if match["space"] else ""), _END.sub("", plain))


def without_reasoning(text: str, code: Sequence[tuple[int, int]]) -> str:
    """Replace the lines of a model's reasoning with empty lines.

    Reasoning is everything up to the last end tag, and everything after a start tag that has no end tag.

    Args:
        text: The text, as `cleaned` returns it.
        code: Spans (start, end) of the text that are certainly code. Tags in these spans are ignored,
            because they are parts of strings.
    """

    def is_tag(match: re.Match[str]) -> bool:
        quoted = text[max(0, match.start() - 1) : match.start()] in ('"', "'", "\\")
        return not quoted and not any(start <= match.start() < end for start, end in code)

    begin = max((match.end() for match in _END_OF_REASONING.finditer(text) if is_tag(match)), default=0)
    unended = next((match.start() for match in _BEGIN_OF_REASONING.finditer(text, begin) if is_tag(match)), len(text))
    return "\n" * text.count("\n", 0, begin) + text[begin:unended] + "\n" * text.count("\n", unended)


def may_hold_reasoning(text: str) -> bool:
    """Return whether a text has a tag that may start or end a model's reasoning."""
    return bool(_END_OF_REASONING.search(text) or _BEGIN_OF_REASONING.search(text))


def unwrapped(text: str) -> str | None:
    """Return the code from a text that is a JSON object: the only value of the object, or that of a key such as `code`.

    Returns None if the text is not such an object.
    """
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return None
    try:
        values = json.loads(stripped, strict=False)
    except (ValueError, RecursionError):
        return None
    value: object = values
    while isinstance(value, dict):
        only = next(iter(value.values())) if len(value) == 1 else None
        value = only if only is not None else next((value[key] for key in _CODE_KEYS if key in value), None)
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "\n".join(line.removesuffix("\n") for line in value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def without_html(text: str) -> str:
    """Replace HTML entities with their characters, and remove HTML tags at the start and end of lines."""
    lines = "\n".join(_TAG.sub("", line) for line in text.split("\n"))
    # Text that was escaped twice has entities such as `&amp;lt;`.
    for _ in range(2):
        lines = _ENTITY.sub(lambda match: html.unescape(match[0]).replace("\xa0", " "), lines)
    return lines


def without_quotation(lines: Sequence[str]) -> list[str]:
    """Remove the `>` marks of Markdown block quotes."""
    return [_QUOTATION.sub("", line) for line in lines]


def without_prompts(lines: Sequence[str]) -> list[str]:
    """Return the input of an interactive Python session, with empty lines in place of output.

    If no line has a prompt, the lines are returned unchanged.
    """
    if not any(line.lstrip().startswith(">>> ") for line in lines):
        return list(lines)
    typed = (_PROMPT.match(line) for line in lines)
    return [(match["code"] or "") if match else "" for match in typed]
