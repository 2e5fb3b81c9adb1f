"""lmrbench in a process of its own, forked from one that has imported already what most commands take seconds to."""

import atexit
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        *(f"lmrbench.cli.{name}" for name in ("audit", "authoring", "grade", "judge", "look")),
        *(f"lmrbench.cli.{name}" for name in ("people", "publish", "run", "setup", "tasks")),
        "lmrbench.solving.run",
        "lmrbench.solving.starting",
        "lmrbench.integrations.inspect",
        "lmrbench.judging.scoring",
        *(f"lmrbench.report.{name}" for name in ("build", "figures", "render.files", "render.html")),
        "statsmodels.api",
        # What Inspect imports at its first evaluation; names that another version lacks are skipped.
        "inspect_ai.model._providers.openai_compatible",
        "inspect_ai.hooks",
        "inspect_ai.agent._acp.server",
        "inspect_ai.agent._acp.transport_live",
        *(
            f"inspect_ai._control.{name}"
            for name in ("config_record", "current_server", "disconnect", "scoring", "strict")
        ),
        "fastapi",
        "opentelemetry.trace",
        *(f"uvicorn.{name}" for name in ("config", "lifespan.on", "protocols.http.auto")),
    ]
)


class Running:
    """A command that runs: what tests ask of `subprocess.Popen`, whose output comes through files."""

    def __init__(self, arguments, env=None, cwd=None):
        self._folder = tempfile.TemporaryDirectory()
        self._files = [Path(self._folder.name) / name for name in ("out", "errors")]
        environment = dict(os.environ if env is None else env)
        self._process = _FORKS.Process(target=_main, args=(list(map(str, arguments)), environment, cwd, self._files))
        self._process.start()

    def send_signal(self, number):
        pid = self._process.pid
        assert pid is not None
        os.kill(pid, number)

    def first_lines(self, count, timeout=120):
        """Wait until the command has printed so many lines, and return them."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            # Also what it prints before it ends is read.
            running = self._process.is_alive()
            lines = self._files[0].read_text().splitlines(keepends=True) if self._files[0].exists() else []
            if sum(line.endswith("\n") for line in lines) >= count:
                return [line.rstrip("\n") for line in lines[:count]]
            assert running, self.wait()
            time.sleep(0.01)
        raise TimeoutExpired("lmrbench", timeout)

    def end(self):
        """End the command, if it still runs."""
        self._process.terminate()
        self.wait(120)

    def wait(self, timeout=None):
        """What it ended with: its exit code, what it printed, and its errors."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            self._process.kill()
            raise TimeoutExpired("lmrbench", timeout)
        with self._folder:
            out, errors = (file.read_text() if file.exists() else "" for file in self._files)
        return CompletedProcess("lmrbench", self._process.exitcode, out, errors)


def lmrbench(*arguments, env=None, cwd=None, timeout=1200):
    """Run a command to its end."""
    return Running(arguments, env, cwd).wait(timeout)


def _main(arguments, environment, cwd, files):
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    if cwd is not None:
        os.chdir(cwd)
    sys.argv = ["lmrbench", *arguments]
    from lmrbench import cli

    try:
        cli.main()
    finally:
        # A process of multiprocessing ends without them.
        atexit._run_exitfuncs()
