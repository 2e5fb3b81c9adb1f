"""The index of a run folder: it follows growing files, and a damaged line affects no other line."""

import json

import pytest
from tests.runs.examples import grade, usage, write

from lmrbench.errors import RecordError
from lmrbench.runs.index import RunIndex
from lmrbench.tasks.submission import Answer


@pytest.fixture
def index(tmp_path):
    return RunIndex(tmp_path / "run")


def test_heads_and_counts_come_without_the_cases_which_come_when_asked_for(index):
    hostile = '","cases":[],"verdict":"match'
    write(index.folder / "grades.jsonl", grade(), grade(system=hostile, label=hostile, log=hostile))
    write(index.folder / "usage.jsonl", usage())
    index.refresh()

    assert {answer: (item.matched, item.cases, item.head.correct) for answer, item in index.entries.items()} == {
        Answer("one", "toy/blend", 0): (1, 2, False),
        Answer(hostile, "toy/blend", 0): (1, 2, False),
    }
    assert [answer.sample for answer in index.usages] == [1]
    assert index.grade(Answer(hostile, "toy/blend", 0)).log == hostile
    assert index.grade(Answer("nobody", "toy/blend", 0)) is None


def test_what_is_appended_is_seen_at_the_next_look_once_it_is_whole(index):
    file = index.folder / "grades.jsonl"
    write(file, grade())
    index.refresh()
    line = grade(sample=1, verdicts=("match",)).model_dump_json()
    with file.open("a") as lines:
        lines.write(line[:100])
    index.refresh()
    assert len(index.entries) == 1
    with file.open("a") as lines:
        lines.write(line[100:] + "\n")
    index.refresh()
    assert index.grade(Answer("one", "toy/blend", 1)).correct


def test_the_last_grade_of_an_answer_counts_and_a_file_that_was_replaced_is_read_anew(index):
    file = index.folder / "grades.jsonl"
    write(file, grade(), grade(verdicts=("match", "match")))
    index.refresh()
    assert [entry.head.correct for entry in index.entries.values()] == [True]
    file.rename(file.with_suffix(".old"))
    write(file, grade(system="another"))
    index.refresh()
    assert [answer.system for answer in index.entries] == ["another"]


def test_a_damaged_line_is_named_and_left_out(index):
    file = index.folder / "grades.jsonl"
    write(file, grade())
    with file.open("a") as lines:
        lines.write('{"system": "half\n[]\n')
    write(file, grade(sample=1))
    index.refresh()
    assert len(index.entries) == 2
    assert index.problem == f"{file}:3: damaged line, skipped"


def test_a_link_is_not_followed(index, tmp_path):
    secret = tmp_path / "secret.jsonl"
    write(secret, grade())
    index.folder.mkdir()
    (index.folder / "grades.jsonl").symlink_to(secret)
    index.refresh()
    assert not index.entries
    assert "links are not followed" in index.problem


def test_a_grade_whose_cases_are_damaged_says_so_when_it_is_opened(index):
    record = json.loads(grade().model_dump_json())
    index.folder.mkdir()
    line = json.dumps({**record, "cases": [{"seed": "none"}]}, separators=(",", ":"))
    (index.folder / "grades.jsonl").write_text(line + "\n")
    index.refresh()
    with pytest.raises(RecordError):
        index.grade(Answer("one", "toy/blend", 0))
