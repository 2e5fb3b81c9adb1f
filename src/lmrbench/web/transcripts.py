"""Start and stop servers of Inspect's viewer, which shows transcripts of agents and models."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

from lmrbench.errors import UsageError
from lmrbench.resampling import paper_of
from lmrbench.runs.folder import LOGS
from lmrbench.runs.logs import answered_in, session_id
from lmrbench.tasks.model import TIERS
from lmrbench.tasks.submission import Answer

# Inspect takes several seconds to start on a busy machine.
_SECONDS_TO_START = 60
_SECONDS_TO_END = 5


class TranscriptServers:
    """The servers of Inspect's viewer on loopback, one per run folder.

    A server is started when the first transcript of its run folder is requested. `close` stops all servers.
    """

    def __init__(self) -> None:
        """Create the object. No server is started yet."""
        self._servers: dict[Path, tuple[subprocess.Popen[bytes], str]] = {}

    def address(self, run: Path, answer: Answer) -> str:
        """Return the URL of a transcript, and start a server for it if none is running.

        Args:
            run: The run folder.
            answer: The answer whose transcript is shown.

        Returns:
            The URL of the transcript in Inspect's viewer.

        Raises:
            UsageError: Inspect's viewer does not start, or no log contains the answer.
            RecordError: A log is damaged or too large.
        """
        log, name = _place_of(run, answer)
        sample = quote(quote(name, safe=""), safe="%")
        return f"{self._server(run)}/#/logs/{quote(log)}/samples/sample/{sample}/{answer.sample + 1}/transcript"

    def close(self) -> None:
        """Stop the servers."""
        for process, _ in self._servers.values():
            process.terminate()
        for process, _ in self._servers.values():
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                # A server does not exit while a browser keeps a connection open.
                process.kill()
                process.wait()

    def _server(self, run: Path) -> str:
        process, address = self._servers.get(run, (None, ""))
        if process is None or process.poll() is not None:
            self._servers[run] = process, address = _start(run / LOGS)
        return address


def _place_of(run: Path, answer: Answer) -> tuple[str, str]:
    """Return the name of the latest log that contains an answer, and the id of the answer's sample in that log.

    The sample's id is that of the task, or that of a session in which an agent solved several tasks.
    """
    for sample in (answer.task, *(session_id(paper_of(answer.task), tier) for tier in TIERS)):
        if (found := answered_in(run, sample, answer.sample)) is not None:
            return found.removeprefix(f"{LOGS}/"), sample
    raise UsageError(f"{run / LOGS}: no log contains a transcript of this answer")


def _start(logs: Path) -> tuple[subprocess.Popen[bytes], str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Logs may come from untrusted sources, so Inspect must not trust their content.
    options = ["--log-dir", str(logs), "--host", "127.0.0.1", "--port", str(port), "--no-trust-content"]
    command = [sys.executable, "-m", "inspect_ai", "view", "start", *options]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return process, address
    process.kill()
    process.wait()
    raise UsageError(f"Inspect's viewer did not start; run it yourself to see why: {' '.join(command)}")
