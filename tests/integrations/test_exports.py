"""Tasks in other people's formats: JSON lines and a dataset for Hugging Face's `datasets`."""

import json
import re
from importlib.metadata import EntryPoint

import pytest
from tests import core
from tests.running import lmrbench as run
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import UsageError
from lmrbench.integrations import registry
from lmrbench.integrations.harbor import write_harbor
from lmrbench.integrations.huggingface import write_dataset, write_jsonl
from lmrbench.integrations.registry import EXPORTERS, GROUP, exporter
from lmrbench.tasks.loading import load_suite

# A line of the toy suite's answer.
ANSWER = "return self.scale *"


@pytest.fixture(scope="module")
def tasks(toy_suite):
    return load_suite(toy_suite)


def lines_of(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_row_holds_what_a_solver_is_told_and_no_answer(tasks, tmp_path):
    assert any(ANSWER in data.decode() for task in tasks for data in task.files.repository.values())
    write_jsonl(tasks, tmp_path / "rows.jsonl")
    text = (tmp_path / "rows.jsonl").read_text()
    assert ANSWER not in text
    row = next(row for row in lines_of(tmp_path / "rows.jsonl") if row["id"] == "toy/blend")
    goal = next(file for file in row["files"] if file["role"] == "goal")
    assert goal["path"] == "blending.py"
    assert "raise NotImplementedError" in goal["text"]
    assert row["targets"]
    assert "Implement" in row["instruction"]


@pytest.mark.parametrize(
    ("inputs", "roles"), [("full", {"goal", "context"}), ("paper+file", {"goal"}), ("paper", set())]
)
def test_inputs_say_which_files_a_row_shows(tmp_path, inputs, roles):
    with_context = [task for task in core.ALL if task.context][:2]
    assert with_context
    write_jsonl(with_context, tmp_path / "rows.jsonl", inputs)
    for row in lines_of(tmp_path / "rows.jsonl"):
        assert {file["role"] for file in row["files"]} == roles


def test_datasets_loads_what_is_written_and_finds_answers_only_where_asked_for(tmp_path):
    import datasets

    cache = str(tmp_path / "cache")
    write_dataset(core.ALL, tmp_path / "open")
    found = datasets.load_dataset(str(tmp_path / "open"), split="test", cache_dir=cache)
    assert found["id"] == [task.id for task in core.ALL]
    assert datasets.get_dataset_config_names(str(tmp_path / "open")) == ["tasks"]
    write_dataset(core.ALL, tmp_path / "gated", goldens=True)
    assert datasets.get_dataset_config_names(str(tmp_path / "gated")) == ["tasks", "goldens"]
    answers = datasets.load_dataset(str(tmp_path / "gated"), "goldens", split="test", cache_dir=cache)
    for answer, task in zip(answers, core.ALL, strict=True):
        for file in answer["files"]:
            # A paper with several tasks keeps the others masked.
            assert task.siblings or file["text"].encode() == task.files.repository[file["path"]]
    assert "extra_gated_prompt" in (tmp_path / "gated" / "README.md").read_text()
    assert "extra_gated_prompt" not in (tmp_path / "open" / "README.md").read_text()


def test_a_dataset_takes_no_code_of_published_packages(tmp_path):
    published = core.published()
    with pytest.raises(UsageError, match=published[0].id):
        write_dataset(published, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_nothing_is_written_over(tasks, tmp_path):
    (tmp_path / "rows.jsonl").write_text("mine\n")
    with pytest.raises(UsageError, match=re.escape("rows.jsonl exists already")):
        write_jsonl(tasks, tmp_path / "rows.jsonl")
    for write in (lambda: write_dataset(tasks, tmp_path), lambda: write_harbor(tasks[0], tmp_path)):
        with pytest.raises(UsageError, match="is not empty"):
            write()
    assert (tmp_path / "rows.jsonl").read_text() == "mine\n"


def test_the_command_writes_each_format(toy_suite, tmp_path):
    every = ("export", "toy", "--suite", toy_suite)
    assert run(*every, "--to", "h", "--format", "harbor", cwd=tmp_path).returncode == 0
    assert (tmp_path / "h" / "toy__blend" / "task.toml").is_file()
    assert run(*every, "--to", "d", "--format", "huggingface", "--goldens", cwd=tmp_path).returncode == 0
    assert lines_of(tmp_path / "d" / "data" / "goldens.jsonl")
    assert run(*every, "--to", "rows.jsonl", "--format", "jsonl", cwd=tmp_path).returncode == 0
    refused = run(*every, "--to", "other.jsonl", "--format", "jsonl", "--goldens", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--goldens needs --format huggingface" in refused.stderr


@pytest.mark.parametrize("name", EXPORTERS)
def test_every_format_is_written_once_and_without_the_answer(name, tasks, tmp_path):
    out = tmp_path / "out"
    assert all(path.exists() for path in exporter(name)(tasks, out, "full"))
    written = [file.read_bytes() for file in (out, *out.rglob("*")) if file.is_file()]
    assert written
    # A folder for Harbor holds the answers, where its agents do not see them.
    assert name == "harbor" or not any(ANSWER.encode() in data for data in written)
    with pytest.raises(UsageError, match="out"):
        list(exporter(name)(tasks, out, "full"))


def test_another_package_brings_a_format_by_an_entry_point(monkeypatch, toy_suite, tmp_path):
    (tmp_path / "list_of_ids.py").write_text(
        "def write(tasks, to, inputs):\n    to.write_text('\\n'.join(task.id for task in tasks))\n    yield to\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("ids", "list_of_ids:write", GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == GROUP else [])
    result = CliRunner().invoke(
        app, ["export", "toy", "--suite", str(toy_suite), "--to", str(tmp_path / "ids"), "--format", "ids"]
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "ids").read_text() == "toy/blend"
    with pytest.raises(UsageError, match=r"--format other: unknown format; use workspace, .*, ids"):
        exporter("other")
