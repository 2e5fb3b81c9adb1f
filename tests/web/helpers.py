"""Helpers for tests of web pages: servers, runs and hostile texts."""

from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from tests.running import Running
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
    server = Running(arguments)
    try:
        yield server, server.first_lines(lines)
    finally:
        server.end()


def serious(page):
    """Return the serious accessibility violations on a page."""
    found = Axe().run(page).response["violations"]
    return [(item["id"], item["nodes"][0]["html"]) for item in found if item["impact"] in ("serious", "critical")]
