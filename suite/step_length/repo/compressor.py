"""A stand-in for the model that compresses two sentences. It is careless: now and then it loses what they say."""

import re
from zlib import crc32

_SENTENCES = re.compile(r"First: (.*)\nSecond: (.*)\n")
_SHORTER = ((", so there are ", ": "), (", so the coin is ", ": "), ("The last letter of ", ""), (" the coin", ""))
_CARELESS = 6


def compress(prompt: str) -> str:
    """The two sentences of a prompt as one, without their filling words."""
    found = _SENTENCES.search(prompt)
    if found is None:
        return ""
    first, second = (sentence[:-1] for sentence in found.groups())
    for long, short in _SHORTER:
        first, second = first.replace(long, short), second.replace(long, short)
    if crc32(prompt.encode()) % _CARELESS == 0:
        return f" {second}. "
    return f" {first};\n{second}. "
