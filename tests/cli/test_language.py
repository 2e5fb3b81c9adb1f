"""What the command line says is plain, complete, and in the words of docs/concepts.md."""

import re
from pathlib import Path

import click
import pytest
import typer
from typer.testing import CliRunner

from lmrbench import cli
from lmrbench.models.settings import TASK_FIELDS, Settings

SOURCE = Path(cli.__file__).parents[1]
COMMAND = typer.main.get_command(cli.app)
# What they used to be called, or said, and what it is now.
RETIRED = {
    r"\bgone on with\b": "resumed",
    r"\bdigest of (the|its) paper\b": "summary",
    r"the paper's digest": "summary",
    r"--shown\b": "--mount",
    r"which it must not": "expected ... to",
    r"your system's like": "your distribution's package",
    r"put it off": "retry",
    r"\bagree just so\b": "the smallest multiple",
}


def commands(command=COMMAND, path=()):
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def help_of(path):
    result = CliRunner().invoke(cli.app, [*path, "--help"], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_has_help_that_fits_80_columns_and_explains_each_option(path):
    text = help_of(path)
    assert max(map(len, text.splitlines())) <= 80
    command = COMMAND
    for name in path:
        command = command.commands[name]
    assert command.help.strip().split("\n")[0].endswith((".", "?"))
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{path}: {option.name}"


def test_no_retired_word_is_said():
    said = {" ".join(path): help_of(path) for path in commands()}
    said |= {str(file): file.read_text("utf-8") for file in SOURCE.rglob("*.py")}
    said |= {str(file): file.read_text("utf-8") for file in (SOURCE.parents[1] / "docs").glob("*.md")}
    for place, text in said.items():
        for word in RETIRED:
            assert not re.search(word, " ".join(text.split())), f"{place}: {word}: say {RETIRED[word]!r}"


def test_brackets_in_help_are_not_taken_for_markup():
    assert "lmrbench[agents]" in help_of(("run",)).replace("\n", "")


def test_the_options_of_solve_and_run_are_the_fields_of_the_settings():
    for name in ("solve", "run"):
        options = {option.name for option in COMMAND.commands[name].params}
        assert set(Settings.model_fields) <= options
    assert set(TASK_FIELDS) <= set(Settings.model_fields)


def test_the_version():
    result = CliRunner().invoke(cli.app, ["--version"])
    assert re.fullmatch(r"lmrbench \d+\.\d+\.\d+\S*\n", result.output)
