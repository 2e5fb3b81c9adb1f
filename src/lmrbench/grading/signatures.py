"""Signatures on JSON objects, which show that this installation wrote them and that they are unchanged.

An object is signed with HMAC-SHA256. The key is generated once on this machine and stored in the cache folder, where
only the user can read it. The signature is the object's last entry and covers every byte before it.
"""

from __future__ import annotations

import hmac
import re
import secrets

from lmrbench.files import cache_folder, made_once

_SIGNED = re.compile(rb'(\{.*),\s*"signature":\s*"([0-9a-f]{64})"\s*\}\s*', re.DOTALL)


def signed(text: str) -> bytes:
    """Return a JSON object with a signature added. The object must have at least one entry."""
    body, end = text.encode().rstrip()[:-1], b"}"
    if body.endswith(b"\n"):
        body, end = body.rstrip(), b"\n}"
    separator = b",\n  " if end != b"}" else b","
    return body + separator + b'"signature":"' + _signature(body).encode() + b'"' + end


def verified(data: bytes) -> bytes | None:
    """Return a JSON object without its signature; None if this installation did not sign it, or it was changed."""
    match = _SIGNED.fullmatch(data)
    if match is None or not hmac.compare_digest(_signature(match[1]), match[2].decode()):
        return None
    return match[1] + b"}"


def unsigned(data: bytes) -> bytes:
    """Return a JSON object without its signature, which is not verified."""
    match = _SIGNED.fullmatch(data)
    return match[1] + b"}" if match else data


def _signature(body: bytes) -> str:
    key = made_once(cache_folder() / "key", lambda: secrets.token_bytes(32))
    return hmac.digest(key, body, "sha256").hex()
