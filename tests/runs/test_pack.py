"""Packs: they contain what grading again needs and nothing private, and packs from others are not trusted."""

import hashlib
import json
import shutil
import zipfile
from typing import Any

import pytest
from tests import running
from tests.runs.examples import grade, usage, write
from tests.toy import RIGHT, UNSCALED

from lmrbench.errors import RecordError, UsageError
from lmrbench.grading.draw import installation_seed
from lmrbench.grading.records import Result
from lmrbench.grading.signatures import signed
from lmrbench.report.sheets.grading import verification_sheets
from lmrbench.runs import pack
from lmrbench.runs.folder import read_run, write_facts
from lmrbench.runs.records import RunFacts
from lmrbench.runs.verify import begin, compare_claims, end, read_verification
from lmrbench.tasks.submission import Submission

SETTINGS = {
    "model": "openai/gpt-5",
    "inputs": "full",
    "samples": 1,
    "agent_command": "/home/alice/agent --key hunter2",
    "mount": ["/home/alice/tools"],
    "model_args": {"organization": "acme"},
    "base_url": "http://10.0.0.7:8000/v1",
}
FACTS: dict[str, Any] = {
    "lmrbench": "0.1.0",
    "suite": "toys 1.0",
    "suite_digest": "d" * 64,
    "tasks": ("toy/blend",),
    "seeds": (1,),
    "sandbox": "bubblewrap",
    "environment": {"harness": "h"},
    "solving": SETTINGS,
}


def run_of(folder, **facts):
    """Write a finished run of one model on one task."""
    write(folder / "grades.jsonl", grade("me", "toy/blend", log="/home/alice", seeds=facts.get("seeds", (1,))))
    write(
        folder / "submissions.jsonl", Submission(system="me", task="toy/blend", code=RIGHT, warnings=("/home/alice",))
    )
    write(folder / "usage.jsonl", usage(system="me", sample=0, status="answered", detail="org acme at 10.0.0.7"))
    (folder / "run.json").write_text(RunFacts.model_validate({**FACTS, **facts}).model_dump_json())
    return folder


@pytest.fixture
def packed(tmp_path):
    pack.write_pack(run_of(tmp_path / "run"), tmp_path / "run.zip")
    return tmp_path / "run.zip"


def files_of(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(file, listed=True, **changed):
    """Change files of a pack, by name with __ for the dot; None removes a file. `listed` updates the manifest."""
    files = files_of(file)
    for name, data in changed.items():
        name = name.replace("__", ".")
        if data is None:
            del files[name]
        else:
            files[name] = data
    if listed:
        manifest = json.loads(files["manifest.json"])
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"}
        files["manifest.json"] = json.dumps(manifest | {"files": digests}).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def test_a_pack_holds_answers_verdicts_and_costs_and_nothing_that_tells(packed, tmp_path):
    files = files_of(packed)
    assert list(files) == ["manifest.json", "grades.jsonl", "run.json", "submissions.jsonl", "usage.jsonl"]
    assert json.loads(files["grades.jsonl"]) == {
        "schema_version": 4,
        "system": "me",
        "task": "toy/blend",
        "sample": 0,
        "correct": False,
        "robust": False,
    }
    for told in (b"alice", b"hunter2", b"acme", b"10.0.0.7", b"is not", str(tmp_path).encode(), b"signature"):
        assert not [name for name, data in files.items() if told in data], told
    assert json.loads(files["run.json"])["solving"] == {"model": "openai/gpt-5", "inputs": "full", "samples": 1}
    found = pack.read_pack(packed)
    assert found.submissions[0].code == RIGHT
    assert found.facts.seeds == (1,)


def test_the_seed_that_this_machine_keeps_is_not_told(tmp_path):
    pack.write_pack(run_of(tmp_path / "run", seeds=(installation_seed(),)), tmp_path / "run.zip")
    assert pack.read_pack(tmp_path / "run.zip").facts.seeds == ()


def test_the_same_run_gives_the_same_bytes(packed, tmp_path):
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    pack.write_pack(tmp_path / "copy", tmp_path / "copy.zip")
    assert (tmp_path / "copy.zip").read_bytes() == packed.read_bytes()


def test_a_run_that_holds_nothing_or_goes_on_is_refused(tmp_path):
    run = run_of(tmp_path / "run")

    def refused():
        with pytest.raises(RecordError) as error:
            pack.write_pack(run, tmp_path / "run.zip")
        assert not (tmp_path / "run.zip").exists()
        return str(error.value)

    write(run / "submissions.jsonl", Submission(system="me", task="toy/blend", sample=1, code=RIGHT))
    assert refused().endswith("is in progress: 1 of 2 answers have no grade yet")
    write(run / "grades.jsonl", grade("me", "toy/blend", 1))
    (run / "run.json").write_text(
        RunFacts.model_validate({**FACTS, "solving": SETTINGS | {"samples": 2}}).model_dump_json()
    )
    assert refused().endswith("is in progress: 1 of 2 samples have not ended yet")
    write(run / "usage.jsonl", usage(system="me", sample=1))
    assert refused().endswith("is in progress; samples without an answer: 1")
    (run / "submissions.jsonl").unlink()
    assert refused().endswith("contains no answers to pack")
    (run / "run.json").unlink()
    assert "contains no run.json" in refused()


def claim(**changed):
    said = {"system": "me", "task": "toy/blend", "sample": 0, "correct": True, "robust": True} | changed
    return json.dumps(said).encode() + b"\n"


@pytest.mark.parametrize(
    ("changed", "listed", "message"),
    [
        ({"submissions__jsonl": b"{}\n"}, False, "the SHA-256 of submissions.jsonl differs"),
        ({"submissions__jsonl": b"{}\n"}, True, "submissions.jsonl:1: system: missing"),
        ({"submissions__jsonl": b"\n"}, True, "contains no submissions"),
        ({"grades__jsonl": None}, True, "contains no grades.jsonl"),
        ({"usage__jsonl": None}, False, "usage.jsonl is listed in manifest.json but missing"),
        ({"grades__jsonl": claim(sample=1)}, True, "one grade for each answer"),
        ({"grades__jsonl": claim() * 2}, True, "is in the file twice"),
        ({"grades__jsonl": claim(sample=-1)}, True, "grades.jsonl:1: sample"),
        ({"usage__jsonl": usage(system="me", sample=0).model_dump_json().encode()}, True, "as unanswered"),
        ({"../../evil": b"x"}, True, "'../../evil', which does not belong in a pack"),
        ({"/etc/evil": b"x"}, True, "'/etc/evil', which does not belong in a pack"),
        ({"logs/x/../1.jsonl": b"x"}, True, "does not belong in a pack"),
        ({"logs/1.jsonl": b"x"}, False, "logs/1.jsonl is not listed in manifest.json"),
        ({"manifest__json": b"[]"}, False, "manifest.json: not a JSON object"),
    ],
)
def test_a_bad_pack_is_named_in_one_line(packed, changed, listed, message):
    rewrite(packed, listed, **changed)
    with pytest.raises(RecordError) as error:
        pack.read_pack(packed)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_pack_or_too_large_is_not_unpacked(packed, tmp_path, monkeypatch):
    def message():
        with pytest.raises(RecordError) as error:
            pack.read_pack(packed)
        return str(error.value)

    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])
    assert "not a readable zip file" in message()
    # Change one byte of the compressed data.
    packed.write_bytes(whole[:60] + bytes([whole[60] ^ 255]) + whole[61:])
    assert "not a readable zip file" in message()
    packed.write_bytes(whole)
    rewrite(packed, submissions__jsonl=b" " * 20_000_000)
    monkeypatch.setattr(pack, "MOST_UNPACKED", 10 << 20)
    assert "unpacks to more than 10 MiB" in message()
    monkeypatch.setattr(pack, "MOST_FILES", 3)
    assert "contains 5 files, more than 3" in message()
    monkeypatch.setattr(pack, "MOST_PACKED", 1000)
    assert "is larger than" in message()
    packed.unlink()
    packed.symlink_to(tmp_path / "run" / "run.json")
    assert "is a symbolic link" in message()


def graded_again(found, folder, passed, seeds=(5,), **more):
    """Write what `verify` leaves in a folder, without running a sandbox."""
    begin(found, folder)
    facts = RunFacts.model_validate({**FACTS, "seeds": seeds, "fresh_seeds": True})
    write_facts(folder, facts)
    result = grade("me", "toy/blend", verdicts=("match" if passed else "mismatch",), seeds=seeds)
    line = result.model_copy(update=more).model_dump_json()
    (folder / "grades.jsonl").write_bytes(signed(line) + b"\n")
    return end(found, folder, compare_claims(found, [Result.of(item) for item in read_run(folder).grades]))


def test_a_verification_holds_for_what_was_graded_here_and_for_nothing_else(packed, tmp_path):
    folder = tmp_path / "verified"
    result = graded_again(pack.read_pack(packed), folder, passed=True)
    assert (result.claimed_correct, result.correct, result.differ) == (0, 1, 1)
    assert read_verification(read_run(folder)) == result

    file = folder / "verification.json"
    honest = file.read_text()
    file.write_text(honest.replace('"differ": 1', '"differ": 0'))
    assert read_verification(read_run(folder)) is None
    file.write_text(honest)
    write_facts(folder, RunFacts.model_validate({**FACTS, "seeds": (6,)}))
    assert read_verification(read_run(folder)) is None


def test_an_answer_that_is_correct_as_claimed_and_not_robust_differs(packed, tmp_path):
    rewrite(packed, grades__jsonl=claim())
    folder = tmp_path / "verified"
    result = graded_again(pack.read_pack(packed), folder, passed=True, robust=False)

    assert (result.claimed_correct, result.claimed_robust) == (1, 1)
    assert (result.correct, result.robust, result.differ) == (1, 0, 1)
    found = read_run(folder)
    assert read_verification(found) == result
    sheets = verification_sheets(compare_claims(pack.read_pack(packed), [Result.of(item) for item in found.grades]))
    assert [item.rows for item in sheets] == [
        (("me", "1", "1", "1", "1", "0"),),
        (("me", "toy/blend", "0", "correct and robust", "correct, not robust"),),
    ]


def test_another_pack_and_a_second_verification_need_a_folder_of_their_own(packed, tmp_path):
    found = pack.read_pack(packed)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(UsageError, match="is not empty"):
        begin(found, tmp_path / "mine")
    begin(found, tmp_path / "verified")
    begin(found, tmp_path / "verified")
    other = run_of(tmp_path / "other")
    (other / "submissions.jsonl").write_text(
        Submission(system="me", task="toy/blend", code="other").model_dump_json() + "\n"
    )
    pack.write_pack(other, tmp_path / "other.zip")
    with pytest.raises(UsageError, match="contains answers that differ"):
        begin(pack.read_pack(tmp_path / "other.zip"), tmp_path / "verified")


def lmrbench(*arguments, cwd):
    return running.lmrbench("--quiet", *arguments, cwd=cwd)


@pytest.mark.sandbox
def test_a_run_is_packed_graded_again_and_shown_as_verified(toy_suite, tmp_path):
    lines = [("me", 0, RIGHT), ("me", 1, UNSCALED)]
    text = "".join(
        json.dumps({"system": system, "task": "toy/blend", "sample": sample, "code": code}) + "\n"
        for system, sample, code in lines
    )
    (tmp_path / "answers.jsonl").write_text(text)
    graded = lmrbench("grade", "answers.jsonl", "--suite", toy_suite, "--out", "run", cwd=tmp_path)
    assert graded.returncode == 0, graded.stderr
    assert lmrbench("submit", "run", "--to", "run.zip", cwd=tmp_path).returncode == 0

    same = lmrbench("verify", "run.zip", "--to", "same", "--suite", toy_suite, cwd=tmp_path)
    assert same.returncode == 0, same.stderr + same.stdout
    assert "0 of 2 grades differ" in same.stdout
    drawn = json.loads((tmp_path / "same" / "run.json").read_text())["seeds"]
    assert drawn != json.loads((tmp_path / "run" / "run.json").read_text())["seeds"]

    rewrite(tmp_path / "run.zip", grades__jsonl=claim() + claim(sample=1))
    other = lmrbench("verify", "run.zip", "--to", "other", "--seed", 3, "--suite", toy_suite, cwd=tmp_path)
    assert other.returncode == 1, other.stderr
    rows = [line.split() for line in other.stdout.splitlines()]
    assert ["me", "2", "2", "2", "1", "1"] in rows
    assert ["me", "toy/blend", "1", "correct", "and", "robust", "not", "correct"] in rows

    rewrite(tmp_path / "run.zip", submissions__jsonl=b"no pack\n")
    bad = lmrbench("verify", "run.zip", "--to", "bad", "--suite", toy_suite, cwd=tmp_path)
    assert (bad.returncode, bad.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "bad").exists()

    site = lmrbench("site", "run", "same", "other", "--to", "site", "--suite", toy_suite, cwd=tmp_path)
    assert site.returncode == 0, site.stderr
    data = json.loads((tmp_path / "site" / "data.json").read_text())
    assert {item["name"]: item["verification"] and item["verification"]["differ"] for item in data["runs"]} == {
        "run": None,
        "same": 0,
        "other": 1,
    }


def test_logs_are_packed_without_keys_and_folders(tmp_path, monkeypatch):
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser
    from inspect_ai.tool import ToolCall

    monkeypatch.setenv("SOME_API_KEY", "a-very-secret-value")
    run = run_of(tmp_path / "run")
    said = f"See {run.resolve()}/x and /home/alice/y with sk-proj-0123456789abcdefghij and a-very-secret-value."
    call = ToolCall(id="1", function="bash", arguments={"cmd": said})
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="t",
        dataset=EvalDataset(),
        model=f"openai/{said[:3]}",
        config=EvalConfig(),
        task_file="/home/alice/task.py",
    )
    messages: list[ChatMessage] = [
        ChatMessageUser(content=said),
        ChatMessageAssistant(content="done", tool_calls=[call]),
    ]
    samples = [EvalSample(id="toy/blend", epoch=1, input="question", target="", messages=messages)]
    (run / "logs").mkdir()
    write_eval_log(EvalLog(eval=spec, samples=samples), str(run / "logs" / "2026-01-01T00-00-00+00-00_t_x.eval"))

    pack.write_pack(run, tmp_path / "run.zip", with_logs=True)
    text = files_of(tmp_path / "run.zip")["logs/1.jsonl"].decode()
    for told in ("alice", "sk-proj", "very-secret", str(tmp_path)):
        assert told not in text, told
    logged = json.loads(text)
    assert (logged["task"], logged["sample"]) == ("toy/blend", 0)
    assert [item["role"] for item in logged["messages"]] == ["user", "assistant"]
    assert logged["messages"][1]["calls"][0]["tool"] == "bash"
    assert pack.read_pack(tmp_path / "run.zip").submissions
