"""Helpers for tests of web pages: servers, runs and hostile texts."""

import subprocess
import sys
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from tests.runs.examples import grade, write

from lmrbench.tasks.submission import Submission

HOSTILE = (
    '"><script>window.hacked = 1</script>',
    "<img src=x onerror='window.hacked = 1'>",
    "javascript:window.hacked=1//{{ 7 * 7 }}",
    "</code></table></main><svg onload=window.hacked=1>\x1b[31m",
)
FAILS = "def blend(values):\n    return helper(values)\n\n\ndef helper(values):\n    return 0.0\n"


def answers(folder, count=1, system="one", code=FAILS):
    """Write a run whose answers to the toy task fail."""
    for sample in range(count):
        write(folder / "grades.jsonl", grade(system=system, sample=sample))
        write(folder / "submissions.jsonl", Submission(system=system, task="toy/blend", sample=sample, code=code))


@contextmanager
def serving(*arguments, lines=1):
    """Run a command that serves pages. Yield the process and the first lines of its output."""
    command = [sys.executable, "-m", "lmrbench", *map(str, arguments)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield server, [server.stdout.readline().rstrip("\n") for _ in range(lines)]
    finally:
        server.terminate()
        server.wait(120)
        server.stdout.close()


def serious(page):
    """Return the serious accessibility violations on a page."""
    found = Axe().run(page).response["violations"]
    return [(item["id"], item["nodes"][0]["html"]) for item in found if item["impact"] in ("serious", "critical")]
