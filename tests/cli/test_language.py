"""What the command line says is plain, complete, and in the words of docs/concepts.md."""

import re
import subprocess
import sys

import pytest
import typer
from typer.core import TyperOption
from typer.testing import CliRunner

from lmrbench import cli
from lmrbench.models.settings import TASK_FIELDS, Settings

COMMAND = typer.main.get_command(cli.app)
CONTEXT = typer.Context(COMMAND)


def loaded(command, name):
    return command.resolve_command(CONTEXT, [name])[1]


def commands(command=COMMAND, path=()):
    yield path, command
    for name in getattr(command, "commands", {}):
        yield from commands(loaded(command, name), (*path, name))


def listed(command=COMMAND, path=()):
    for name, entry in getattr(command, "entries", {}).items():
        yield pytest.param(entry.help, loaded(command, name), id=" ".join((*path, name)))
        yield from listed(loaded(command, name), (*path, name))


def help_of(path):
    result = CliRunner().invoke(cli.app, [*path, "--help"], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(("path", "command"), [pytest.param(*item, id=" ".join(item[0])) for item in commands()])
def test_every_command_has_help_that_fits_80_columns_and_explains_each_option(path, command):
    text = help_of(path)
    assert max(map(len, text.splitlines())) <= 80
    assert command.help.strip().split("\n")[0].endswith(".")
    for option in command.params:
        if isinstance(option, TyperOption):
            assert option.help, f"{path}: {option.name}"


@pytest.mark.parametrize(("line", "command"), list(listed()))
def test_the_list_of_commands_says_what_their_help_says_first(line, command):
    assert command.help.split("\n\n")[0].replace("\n", " ") == line


def test_the_list_of_at_most_20_commands_imports_none_of_them():
    program = (
        "import atexit, sys, lmrbench.cli as cli\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "sys.argv[1:] = ['--help']\n"
        "cli.main()\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert len(cli.COMMANDS) <= 20
    modules = set(re.findall(r"lmrbench\.cli\.(\w+)", result.stderr))
    assert modules == {"lazy", "terminal"}
    assert not {"lmrbench.tasks", "lmrbench.records"} & set(re.findall(r"[\w.]+", result.stderr))


@pytest.mark.parametrize(("old", "new"), cli.MOVED.items())
def test_an_old_name_of_a_command_names_the_new_one(old, new):
    result = subprocess.run([sys.executable, "-m", "lmrbench", old, "--help"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"lmrbench: '{old}' is now '{new}'\n"
    assert help_of([word for word in new.split() if not word.startswith("-")])


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["grde"], "No such command 'grde'. Did you mean 'grade'?"),
        (["task", "acept"], "No such command 'acept'. Did you mean 'accept'?"),
        (["run", "--modle", "m"], "No such option: --modle (Possible options: --model, "),
    ],
)
def test_a_mistyped_name_is_answered_with_the_one_that_was_meant(arguments, answer):
    result = CliRunner().invoke(cli.app, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert answer in result.stderr


def test_brackets_in_help_are_not_taken_for_markup():
    assert "lmrbench[agents]" in help_of(("run",)).replace("\n", "")


def test_the_options_of_run_are_the_fields_of_the_settings():
    options = {option.name for option in loaded(COMMAND, "run").params}
    assert set(Settings.model_fields) <= options
    assert set(TASK_FIELDS) <= set(Settings.model_fields)


@pytest.mark.parametrize(("words", "expected"), [("task a", {"audit", "accept"}), ("run --mod", {"--model"})])
def test_the_shell_completes_commands_and_their_options(words, expected):
    count = str(len(words.split()))
    asked = {"_LMRBENCH_COMPLETE": "complete_bash", "COMP_WORDS": f"lmrbench {words}", "COMP_CWORD": count}
    result = CliRunner().invoke(cli.app, [], prog_name="lmrbench", env=asked)
    assert set(result.output.split()) == expected


def test_the_version():
    result = CliRunner().invoke(cli.app, ["--version"])
    assert re.fullmatch(r"lmrbench \d+\.\d+\.\d+\S*\n", result.output)
