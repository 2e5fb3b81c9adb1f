"""Check whether a provider responds at all, by sending a small request."""

from __future__ import annotations

import time

import anyio
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model

from lmrbench.models.endings import ProviderError, one_line

# The text of the small request.
SMALL_REQUEST = "Reply with the word OK."
# The tokens and seconds that the small request may take, and the seconds for which a failure is remembered.
SMALL_TOKENS, SMALL_SECONDS, BELIEVED_SECONDS = 16, 120.0, 60.0


class Reachability:
    """Remembers which providers respond to a small request."""

    def __init__(self) -> None:
        """Start with no known providers."""
        self._lock = anyio.Lock()
        self._proven: set[str] = set()
        self._failed: dict[str, tuple[float, str]] = {}

    async def prove(self, model: Model) -> None:
        """Check that a model's provider responds, unless a check of this model succeeded since the last `doubt`.

        Raises:
            ProviderError: The small request failed, or one failed less than `BELIEVED_SECONDS` ago.
        """
        name = str(model)
        async with self._lock:
            if name in self._proven:
                return
            since, fault = self._failed.get(name, (float("-inf"), ""))
            if time.monotonic() - since > BELIEVED_SECONDS:
                fault = await small_request(model)
            if fault:
                self._failed[name] = (time.monotonic(), fault)
                raise ProviderError(fault)
            self._failed.pop(name, None)
            self._proven.add(name)

    def doubt(self, model: Model) -> None:
        """Make the next `prove` check the model's provider again. Called when a call to the provider failed."""
        self._proven.discard(str(model))


async def small_request(model: Model) -> str:
    """Send a small request to a model's provider.

    Returns:
        The reason why the provider can't be used, or "" if it can. A server that is busy or rejects this request can
        be used, because it responds.
    """
    config = model.config.merge(GenerateConfig(max_tokens=SMALL_TOKENS))
    try:
        with anyio.fail_after(SMALL_SECONDS):
            found = await model.api.generate([ChatMessageUser(content=SMALL_REQUEST)], [], "none", config)
    except TimeoutError:
        return f"no response to a small request within {SMALL_SECONDS:g} s"
    except Exception as error:
        fault = error
    else:
        output = found[0] if isinstance(found, tuple) else found
        if not isinstance(output, Exception):
            return ""
        fault = output
    code = getattr(fault, "status_code", None)
    alive = code in (400, 413, 422) or (code == 429 and "insufficient_quota" not in str(fault))
    return "" if alive else one_line(str(fault) or repr(fault))
