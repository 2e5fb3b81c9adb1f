"""Run folders: which grades are reused, which are made again, and that nothing is lost or read through links."""

import json
import os
import shutil

import pytest
from tests.graded import graded_run
from tests.toy import RIGHT

from lmrbench.errors import RecordError
from lmrbench.files import append_whole, cache_folder, locked
from lmrbench.grading.draw import installation_seed
from lmrbench.grading.observe import reference_outputs
from lmrbench.grading.signatures import signed, unsigned, verified
from lmrbench.runs.folder import drawn_seeds, read_facts, read_run, read_submissions
from lmrbench.tasks.submission import Submission

WRONG = "def blend(self, values):\n    return 0.5\n"


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def answers(*codes):
    return [Submission(system="me", task="toy/blend", sample=number, code=code) for number, code in enumerate(codes)]


def grades_in(folder, submissions, tasks, pool, seeds=(0,), **options):
    aside: list[int] = []
    grades = list(graded_run(folder, submissions, tasks, seeds, pool, set_aside=aside.append, **options))
    return {item.sample: item.correct for item in grades}, aside


def test_a_grade_that_was_edited_is_graded_anew_and_said(pool, tasks, tmp_path):
    assert grades_in(tmp_path, answers(RIGHT, WRONG), tasks, pool) == ({0: True, 1: False}, [])
    file = tmp_path / "grades.jsonl"
    forged = file.read_text().replace('"correct":false', '"correct":true').replace('"mismatch"', '"match"')
    file.write_text(forged)

    assert grades_in(tmp_path, answers(RIGHT, WRONG), tasks, pool) == ({0: True, 1: False}, [1])
    assert {item.sample: item.correct for item in read_run(tmp_path).grades} == {0: True, 1: False}
    assert len((tmp_path / "grades.unverified.jsonl").read_text().splitlines()) == 1
    assert grades_in(tmp_path, answers(RIGHT, WRONG), tasks, pool)[1] == []


def test_a_case_that_timed_out_by_the_wall_clock_is_graded_anew_and_others_of_that_version_are_not(
    pool, tasks, tmp_path
):
    grades_in(tmp_path, answers(RIGHT, WRONG, RIGHT), tasks, pool)
    file = tmp_path / "grades.jsonl"

    def stored(change, samples):
        lines = []
        for line in file.read_text().splitlines():
            values = json.loads(unsigned(line.encode()))
            if values["sample"] in samples:
                change(values)
            lines.append(signed(json.dumps(values)) + b"\n")
        file.write_bytes(b"".join(lines))

    def of_schema_2(values):
        del values["clock"]
        values["schema_version"] = 2
        values["log"] = "by an earlier version"

    def timed_out(values):
        values["correct"] = False
        values["cases"][-1] |= {"verdict": "timeout", "reason": "the check's 16 s were used up"}

    stored(of_schema_2, samples=(0, 1))
    stored(timed_out, samples=(0, 2))

    # The last one used up its processor time, which does not depend on the load.
    assert grades_in(tmp_path, answers(RIGHT, WRONG, RIGHT), tasks, pool) == ({0: True, 1: False, 2: False}, [])
    assert {item.sample: item.correct for item in read_run(tmp_path).grades} == {0: True, 1: False, 2: False}
    assert {item.sample: item.log for item in read_run(tmp_path).grades} == {0: "", 1: "by an earlier version", 2: ""}
    assert len(file.read_text().splitlines()) == 4
    grades_in(tmp_path, answers(RIGHT, WRONG, RIGHT), tasks, pool)
    assert len(file.read_text().splitlines()) == 4


def test_grades_of_another_installation_or_of_none_are_graded_anew(pool, tasks, tmp_path, monkeypatch):
    grades_in(tmp_path / "run", answers(RIGHT), tasks, pool)
    lines = (tmp_path / "run" / "grades.jsonl").read_bytes()
    for other in (lines, unsigned(lines.strip()) + b"\n", b'{"system": "of an older version"}\n', b"not JSON\n"):
        (tmp_path / "run" / "grades.jsonl").write_bytes(other)
        with monkeypatch.context() as patch:
            if other == lines:
                patch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
            assert grades_in(tmp_path / "run", answers(RIGHT), tasks, pool) == ({0: True}, [1])


@pytest.mark.parametrize("name", [".lock", "grades.jsonl", "submissions.jsonl", "run.json", "grades.unverified.jsonl"])
def test_a_link_in_a_run_folder_is_one_error_and_not_followed(pool, tasks, tmp_path, name):
    run, victim = tmp_path / "run", tmp_path / "victim"
    grades_in(run, answers(RIGHT), tasks, pool)
    victim.write_text("precious\n")
    if name == "grades.unverified.jsonl":
        append_whole(run / "grades.jsonl", b"{}\n")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(victim)

    with pytest.raises(RecordError, match=rf"run/{name} is a symbolic link"):
        grades_in(run, answers(RIGHT, WRONG), tasks, pool)
    assert victim.read_text() == "precious\n"


def test_a_pipe_in_a_run_folder_does_not_hold_anybody_up(pool, tasks, tmp_path):
    os.mkfifo(tmp_path / "grades.jsonl")
    with pytest.raises(RecordError, match=r"grades\.jsonl is not a regular file"):
        grades_in(tmp_path, answers(RIGHT), tasks, pool)


def test_grading_some_submissions_of_a_folder_keeps_the_others(pool, tasks, tmp_path):
    grades_in(tmp_path, answers(RIGHT, WRONG), tasks, pool)
    grades_in(tmp_path, answers(RIGHT, WRONG)[1:], tasks, pool)

    assert [item.sample for item in read_submissions(tmp_path)] == [0, 1]
    assert {item.sample: item.correct for item in read_run(tmp_path).grades} == {0: True, 1: False}
    assert read_facts(tmp_path).tasks == ("toy/blend",)


def test_grades_are_those_of_the_seeds_that_the_record_names(pool, tasks, tmp_path):
    for seeds in ((5,), (6, 7), (5,)):
        grades_in(tmp_path, answers(RIGHT), tasks, pool, seeds)
        assert [item.seeds for item in read_run(tmp_path).grades] == [seeds]
    # The third time, both grades already exist.
    assert len((tmp_path / "grades.jsonl").read_text().splitlines()) == 2


def test_only_fresh_seeds_that_were_drawn_here_are_drawn_on(pool, tasks, tmp_path):
    grades_in(tmp_path, answers(RIGHT), tasks, pool, (5,))
    assert drawn_seeds(tmp_path) == ()
    grades_in(tmp_path, answers(RIGHT), tasks, pool, (6,), fresh_seeds=True)
    assert drawn_seeds(tmp_path) == (6,)
    facts = tmp_path / "run.json"
    facts.write_text(facts.read_text().replace("6\n", "7\n", 1))
    assert drawn_seeds(tmp_path) == ()


def test_a_blind_run_tells_nothing_but_verdicts(pool, tasks, tmp_path):
    printing = WRONG.replace("    return", "    print('a secret of the repository')\n    return")
    _, aside = grades_in(tmp_path, answers(printing), tasks, pool, blind=True)
    text = (tmp_path / "grades.jsonl").read_text()
    (item,) = read_run(tmp_path).grades

    assert aside == []
    assert [case.verdict for case in item.cases] == ["mismatch"] * 4
    assert {(case.name, case.reason, case.seconds) for case in item.cases} == {("", "", 0.0)}
    assert "expected" not in text
    assert "secret" not in text
    # The grade is reused, and never mixed with complete ones.
    assert grades_in(tmp_path, answers(printing), tasks, pool, blind=True) == ({0: False}, [])
    with pytest.raises(RecordError, match="contains grades without reasons"):
        grades_in(tmp_path, answers(printing), tasks, pool)


def test_a_run_of_some_cases_is_not_mixed_with_one_of_all(pool, tasks, tmp_path):
    assert grades_in(tmp_path, answers(WRONG), tasks, pool, fail_fast=True) == ({0: False}, [])
    assert grades_in(tmp_path, answers(WRONG, RIGHT), tasks, pool, fail_fast=True) == ({0: False, 1: True}, [])
    (item, _) = read_run(tmp_path).grades
    assert [case.verdict for case in item.cases] == ["mismatch", "missing", "missing", "missing"]
    with pytest.raises(RecordError, match=r"first failure \(--fail-fast\); choose another folder"):
        grades_in(tmp_path, answers(WRONG), tasks, pool)


def test_a_signature_covers_every_byte_and_leaves_json():
    for text in ('{"a":1,"b":"\\",\\"signature\\":\\"x"}', '{\n  "a": 1\n}'):
        line = signed(text)
        assert json.loads(line).keys() == json.loads(text).keys() | {"signature"}
        assert json.loads(verified(line) or b"") == json.loads(unsigned(line)) == json.loads(text)
        for place in range(len(line)):
            other = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
            data = verified(other)
            assert data is None or json.loads(data) == json.loads(text)
    assert verified(b'{"a":1}') is None


def test_the_cache_is_closed_to_others(empty_cache, pool, tasks, tmp_path):
    installation_seed()
    signed('{"a":1}')
    reference_outputs(tasks.values(), (1,), pool)
    folder = cache_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}

    folder.chmod(0o755)
    assert cache_folder().stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(RecordError, match="other users can write to it"):
        cache_folder()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_not_used(empty_cache):
    os.chown(cache_folder(), 12345, 12345)
    with pytest.raises(RecordError, match="belongs to another user"):
        installation_seed()


def test_a_golden_in_the_cache_that_is_damaged_or_not_ours_is_observed_again(empty_cache, pool, tasks):
    before = reference_outputs(tasks.values(), (1,), pool)["toy/blend", 1]
    (file,) = (cache_folder() / "golden").iterdir()
    outputs = json.loads(file.read_bytes())
    fewer = {**outputs, "observations": outputs["observations"][:-1]}
    garbage = {**outputs, "observations": ["AAAA"] * len(outputs["observations"])}
    for damaged in (json.dumps(fewer), json.dumps(garbage), file.read_text()[:-40], ""):
        file.write_text(damaged)
        again = reference_outputs(tasks.values(), (1,), pool)["toy/blend", 1]
        assert again.observations == before.observations
        assert verified(file.read_bytes()) is not None


def test_a_folder_that_can_not_be_written_to_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RecordError, match=str(place)), locked(place):
            pass
    shutil.rmtree(tmp_path)
