"""The board of a run."""

import io
import time
from types import SimpleNamespace

import pytest
from inspect_ai.model import ModelUsage
from rich.console import Console

from lmrbench import progress
from lmrbench.solving import board as boards
from lmrbench.solving.board import Board

EXPECTED = {(f"p/{number}", 0) for number in range(4)}


def call(tokens=100, cost=0.25, error=None):
    usage = ModelUsage(input_tokens=tokens, total_tokens=tokens, total_cost=cost)
    return SimpleNamespace(output=SimpleNamespace(usage=None if error else usage), error=error)


def test_the_line_says_what_is_done_whose_fault_it_is_what_is_under_way_and_the_cost():
    board = Board(EXPECTED, {("p/0", 0): True, ("other/task", 0): True})
    assert str(board) == "1 of 4 done (1 correct); 0 under way"

    board.begin("a", "p/1", ["p/1"], 0)
    board.note("a", [call(), call()])
    board.begin("b", "p/2", ["p/2"], 0)
    board.note("b", [call(error="no route")])
    assert str(board) == (
        "1 of 4 done (1 correct); 2 under way, 1 of them after an error (no route); 200 tokens; $0.50"
    )
    board.end("a")
    assert "; 1 under way, 1 of them after an error (no route); 1 being graded; 200 tokens" in str(board)
    board.answered("p/1", 0, False)
    board.unanswered(["p/2"], 0, "provider_error")
    board.end("b")
    line = str(board)
    assert line.startswith("3 of 4 done (1 correct, 1 not correct, 1 provider error); 0 under way; 200 tokens; $0.50")
    assert line.endswith("left")
    board.answered("p/3", 0, True)
    assert "left" not in str(board)


def test_an_answer_after_a_failure_replaces_it():
    board = Board({("p/0", 0)})
    board.begin("a", "p/0", ["p/0"], 0)
    board.unanswered(["p/0"], 0, "machine_error")
    board.end("a")
    assert str(board) == "1 of 1 done (1 machine error); 0 under way"
    board.begin("b", "p/0", ["p/0"], 0)
    assert str(board) == "0 of 1 done; 1 under way"
    board.end("b")
    board.answered("p/0", 0, True)
    assert str(board).startswith("1 of 1 done (1 correct)")


@pytest.mark.parametrize("quiet", [False, True])
def test_without_a_terminal_the_line_comes_now_and_then_unless_quiet(monkeypatch, capsys, quiet):
    monkeypatch.setattr(progress, "SECONDS", 0.01)
    monkeypatch.setattr(progress, "_quiet", quiet)
    said = ""
    with Board(EXPECTED).shown():
        deadline = time.monotonic() + (0.2 if quiet else 10)
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
            said = capsys.readouterr().err
    assert said.splitlines()[:1] == ([] if quiet else ["lmrbench: 0 of 4 done; 0 under way"])


def test_on_a_terminal_the_board_names_the_samples_under_way(monkeypatch):
    out = io.StringIO()
    terminal = Console(file=out, force_terminal=True, width=100)
    monkeypatch.setattr(boards, "_console", lambda: terminal)
    board = Board(EXPECTED)
    with board.shown():
        board.begin("a", "p/1", ["p/1"], 0)
        board.note("a", [call(), call(error="rate limit")])
        board.begin("b", "evil\x1b[31m", ["p/2"], 0)
    said = out.getvalue()
    assert "0 of 4 done; 2 under way" in said
    assert "p/1" in said
    assert "rate limit" in said
    assert "evil\\x1b" in said
