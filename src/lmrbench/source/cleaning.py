"""Repair what a chat, a terminal or a web page does to the text of a program, and find the text that is the answer.

Every function keeps the number of lines, so that a line number holds for the text as it was submitted. The exception is
`unwrapped`, whose result is another text.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence

from lmrbench.source.syntax import lines_of

_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
# Strings and comments, in which a no-break space may be meant, or one character that is not.
_INVISIBLE = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
    r"|[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]"
)
_SPACE = r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_OUTSIDE = re.compile(
    r"(?P<kept>'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|\#[^\n]*)"
    rf"|(?P<dropped>{_INVISIBLE})|(?P<space>{_SPACE})",
    re.DOTALL,
)
# What a model's tokenizer ends a text with.
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
    """The text without escape codes of a terminal, NULs, end tokens and invisible characters.

    Strings and comments keep their invisible characters; outside of them spaces of other widths become plain ones.
    Line ends become plain ones too.
    """
    plain = "\n".join(lines_of(_TERMINAL.sub("", text).replace("\0", "")))
    return _OUTSIDE.sub(lambda match: match["kept"] or (" " if match["space"] else ""), _END.sub("", plain))


def without_reasoning(text: str, code: Sequence[tuple[int, int]]) -> str:
    """Empty the lines of a model's reasoning: all before its last end, and all behind a beginning without an end.

    Args:
        text: with plain line ends.
        code: the spans of the text that are code for certain, in which such a tag is part of a string.
    """

    def is_tag(match: re.Match[str]) -> bool:
        quoted = text[max(0, match.start() - 1) : match.start()] in ('"', "'", "\\")
        return not quoted and not any(start <= match.start() < end for start, end in code)

    begin = max((match.end() for match in _END_OF_REASONING.finditer(text) if is_tag(match)), default=0)
    unended = next((match.start() for match in _BEGIN_OF_REASONING.finditer(text, begin) if is_tag(match)), len(text))
    return "\n" * text.count("\n", 0, begin) + text[begin:unended] + "\n" * text.count("\n", unended)


def may_hold_reasoning(text: str) -> bool:
    """Whether a text has a tag that may be the beginning or the end of a model's reasoning."""
    return bool(_END_OF_REASONING.search(text) or _BEGIN_OF_REASONING.search(text))


def unwrapped(text: str) -> str | None:
    """The code of a JSON object: its only value, or that of a key such as `code`; None for another text."""
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
    """The text with entities replaced by their characters, and without tags of a page at the ends of its lines."""
    lines = "\n".join(_TAG.sub("", line) for line in text.split("\n"))
    # A page in a page escapes the marks of its entities too.
    for _ in range(2):
        lines = _ENTITY.sub(lambda match: html.unescape(match[0]).replace("\xa0", " "), lines)
    return lines


def without_quotation(lines: Sequence[str]) -> list[str]:
    """The lines without the marks of a Markdown quotation."""
    return [_QUOTATION.sub("", line) for line in lines]


def without_prompts(lines: Sequence[str]) -> list[str]:
    """What was typed at Python's prompts, or all lines if there are none; lines of output are empty."""
    if not any(line.lstrip().startswith(">>> ") for line in lines):
        return list(lines)
    typed = (_PROMPT.match(line) for line in lines)
    return [(match["code"] or "") if match else "" for match in typed]
