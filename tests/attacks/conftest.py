"""Shorter limits for attacks: one that loops or sleeps shows nothing more in a longer time."""

import pytest

from lmrbench.grading import verdicts
from lmrbench.sandbox import warm_worker


@pytest.fixture(autouse=True)
def short_limits(monkeypatch):
    """Two seconds a case and six a check, and four times as much by the clock."""
    monkeypatch.setattr(verdicts, "CASE_SECONDS", 2.0)
    monkeypatch.setattr(verdicts, "CHECK_SECONDS", 6.0)
    monkeypatch.setattr(warm_worker, "WALL_FACTOR", 4)
