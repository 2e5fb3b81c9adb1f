"""Shorter limits for attacks: one that loops or sleeps shows nothing more in a longer time."""

import pytest

from lmrbench.grading import grade


@pytest.fixture(autouse=True)
def short_limits(monkeypatch):
    """A second a case and four a check, and ten times as much by the clock."""
    monkeypatch.setattr(grade, "CASE_SECONDS", 1.0)
    monkeypatch.setattr(grade, "CHECK_SECONDS", 4.0)
