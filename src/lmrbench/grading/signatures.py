"""Was a record written by this installation, and is it as it was written?

A JSON object is signed with HMAC-SHA256 under a key that was drawn once on this machine and is kept in the cache
folder, where nobody else can read it. The signature is the object's last entry and covers every byte before it.
"""

from __future__ import annotations

import hmac
import re
import secrets

from lmrbench.files import cache_folder, made_once

_SIGNED = re.compile(rb'(\{.*),\s*"signature":\s*"([0-9a-f]{64})"\s*\}\s*', re.DOTALL)


def signed(text: str) -> bytes:
    """A JSON object with its signature as a further entry. text: of an object with at least one entry."""
    body, end = text.encode().rstrip()[:-1], b"}"
    if body.endswith(b"\n"):
        body, end = body.rstrip(), b"\n}"
    separator = b",\n  " if end != b"}" else b","
    return body + separator + b'"signature":"' + _signature(body).encode() + b'"' + end


def verified(data: bytes) -> bytes | None:
    """The JSON object that was signed here; None for one that was not, or was changed."""
    match = _SIGNED.fullmatch(data)
    if match is None or not hmac.compare_digest(_signature(match[1]), match[2].decode()):
        return None
    return match[1] + b"}"


def unsigned(data: bytes) -> bytes:
    """The JSON object without its signature, whoever made that; as it is where it has none."""
    match = _SIGNED.fullmatch(data)
    return match[1] + b"}" if match else data


def _signature(body: bytes) -> str:
    key = made_once(cache_folder() / "key", lambda: secrets.token_bytes(32))
    return hmac.digest(key, body, "sha256").hex()
