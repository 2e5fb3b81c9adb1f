"""Helpers that are masked with a target, and helpers that stay."""

import pytest
from tests.running import lmrbench

from lmrbench.authoring.new.closure import closure
from lmrbench.tasks.model import Target

LOSSES = b"""
from helpers import shared, only_here, registered

HANDLERS = ["registered"]


class Trainer:
    def loss(self, x):
        return self._scaled(only_here(x)) + shared(x) + registered(x)

    def _scaled(self, x):
        return x * self._factor()

    def _factor(self):
        return 2

    def report(self, x):
        return shared(x)

    def __len__(self):
        return 0
"""
HELPERS = b"""
def shared(x):
    return x


def only_here(x):
    return _deeper(x) if x else only_here(x + 1)


def _deeper(x):
    return x


def registered(x):
    return x


def twice(x):
    return 1


class Other:
    def twice(self):
        return 2
"""
TARGET = Target.parse("losses.py::Trainer.loss")


def names(**files):
    files = {"losses.py": LOSSES, "helpers.py": HELPERS, **{f"{name}.py": text for name, text in files.items()}}
    return {str(target).partition("::")[2] for target in closure(files, [TARGET])}


def test_helpers_of_the_target_alone_go_with_it_through_files_and_calls():
    assert names() == {"Trainer.loss", "Trainer._scaled", "Trainer._factor", "only_here", "_deeper"}


@pytest.mark.parametrize(
    "use", [b"from helpers import _deeper\nprint(_deeper(1))", b"import helpers\nhelpers._deeper(2)"]
)
def test_a_use_anywhere_else_keeps_a_helper(use):
    assert "_deeper" not in names(main=use)
    assert "only_here" in names(main=use)


def test_the_command_shows_what_goes_and_writes_it_elsewhere(tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "losses.py").write_bytes(LOSSES)
    (repository / "helpers.py").write_bytes(HELPERS)
    command = ["task", "mask", repository, "losses.py::Trainer.loss", "helpers.py::shared"]

    shown = lmrbench(*command).stdout
    assert "-        return self._scaled(only_here(x)) + shared(x) + registered(x)" in shown
    assert shown.endswith('targets = ["losses.py::Trainer.loss", "helpers.py::shared"]\n')
    assert (repository / "losses.py").read_bytes() == LOSSES

    assert lmrbench(*command, "--closure", "--to", tmp_path / "masked").returncode == 0
    masked = (tmp_path / "masked" / "helpers.py").read_text()
    assert masked.count("raise NotImplementedError") == 3
    assert "return x if" not in masked

    again = lmrbench(*command, "--to", tmp_path / "masked")
    assert again.returncode == 2
    assert again.stderr.startswith("lmrbench: ")
    assert "already exists" in again.stderr


def test_a_target_that_is_not_there_is_one_line(tmp_path):
    (tmp_path / "losses.py").write_bytes(LOSSES)
    for target, words in (
        ("losses.py::Trainer.los", "no such function; similar"),
        ("x.py::f", "there is no file"),
        ("f", "form"),
    ):
        result = lmrbench("task", "mask", tmp_path, target)
        assert result.returncode == 2
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
