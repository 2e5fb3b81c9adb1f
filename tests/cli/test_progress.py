"""How far a long command is, where there is no terminal to draw bars on."""

import time

from lmrbench import progress


def said_within(seconds, capsys):
    deadline, said = time.monotonic() + seconds, ""
    with progress.progress_bars() as bars:
        bars.add_task("fetched", total=2, completed=2)
        task = bars.add_task("tasks", total=3)
        bars.add_task("of unknown length", total=None)
        bars.advance(task)
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
            said = capsys.readouterr().err
    return said


def test_without_a_terminal_bars_are_lines_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS", 0.05)

    assert set(said_within(10, capsys).splitlines()) == {"lmrbench: tasks 1 of 3"}


def test_quiet_means_no_lines_either(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS", 0.01)
    monkeypatch.setattr(progress, "_quiet", True)

    assert said_within(0.3, capsys) == ""
    with progress.lines_of_progress(lambda: "2 of 10 answered"):
        time.sleep(0.3)
    assert capsys.readouterr().err == ""
