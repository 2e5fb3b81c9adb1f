"""Logs of an untrusted run folder are read within limits, and an unreadable log is named in one line."""

import json
import os
import zipfile

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser

from lmrbench.errors import RecordError
from lmrbench.integrations.lmr_bench.sessions import sessions_of_run
from lmrbench.runs import logs
from lmrbench.runs.folder import Run
from lmrbench.runs.logs import answered_in
from lmrbench.runs.transcripts import transcripts

NAME = "2026-01-01T00-00-00+00-00_t_x.eval"
ZSTANDARD = 93


def write(folder, name=NAME, said="done", error=None):
    """A log of one sample, as Inspect writes it."""
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="t", dataset=EvalDataset(), model="m/x", config=EvalConfig()
    )
    messages: list[ChatMessage] = [ChatMessageUser(content="question"), ChatMessageAssistant(content=said)]
    sample = EvalSample(id="toy/blend", epoch=1, input="question", target="", messages=messages)
    folder.mkdir(parents=True, exist_ok=True)
    write_eval_log(EvalLog(eval=spec, samples=[sample]), str(folder / name))
    return folder / name


def run_of(folder):
    return Run(folder=folder, facts=None, submissions=(), grades=(), usages=(), unsigned=0, snapshots=())


READERS = {
    "analyse actions": lambda folder: sessions_of_run(run_of(folder)),
    "submit --with-logs": lambda folder: list(transcripts(folder)),
    "view": lambda folder: answered_in(folder, "toy/blend", 0),
}


def repacked(file, change, way=zipfile.ZIP_DEFLATED):
    """Write a log anew. change: gets its files by name, and changes them. way: of packing."""
    with zipfile.ZipFile(file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(file, "w", way) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def replaced(data):
    """Puts this in place of each sample and each summary."""

    def change(files):
        for name in files:
            if name.startswith("samples/") or "summaries" in name:
                files[name] = data

    return change


def lying_about_its_size(file):
    """The sizes of all files, in the list at the end of the archive, say that they are empty."""
    repacked(file, lambda files: None)
    data = bytearray(file.read_bytes())
    at = data.find(b"PK\1\2")
    while at >= 0:
        data[at + 24 : at + 28] = bytes(4)
        at = data.find(b"PK\1\2", at + 4)
    file.write_bytes(data)


def a_pipe(file):
    """A pipe without a writer."""
    file.unlink()
    os.mkfifo(file)


HOSTILE = {
    "no archive": lambda file: file.write_bytes(b"not a log"),
    "empty": lambda file: file.write_bytes(b""),
    "cut short": lambda file: file.write_bytes(file.read_bytes()[:-30]),
    "a bomb": lambda file: repacked(file, replaced(b" " * ((64 << 20) + 1))),
    "a bomb as Inspect packs": lambda file: repacked(file, replaced(b" " * (65 << 20)), ZSTANDARD),
    "a bomb of values": lambda file: repacked(file, replaced(b'{"a": [' + b"[]," * 4_000_000 + b"[]]}")),
    "nested too deeply": lambda file: repacked(file, replaced(b"[" * 1_000_000)),
    "no JSON": lambda file: repacked(file, replaced(b"{")),
    "other JSON": lambda file: repacked(file, replaced(b"[1, 2]")),
    "a long number": lambda file: repacked(file, replaced(b'[{"id": ' + b"9" * 100_000 + b"}]")),
    "too many files": lambda file: repacked(file, lambda files: files.update((f"{n}", b"") for n in range(20_001))),
    "lying about its size": lying_about_its_size,
    "a link": lambda file: (file.rename(file.parents[2] / "elsewhere"), file.symlink_to(file.parents[2] / "elsewhere")),
    "a FIFO": a_pipe,
    "a device": lambda file: (file.unlink(), file.symlink_to("/dev/zero")),
    "larger than is read": lambda file: os.truncate(file, 1 << 40),
    "a link beside": lambda file: (file.parent / "other.eval").symlink_to("/etc/passwd"),
    "a folder that is a link": lambda file: (file.parent / "more").symlink_to("/"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_log_is_one_line_that_names_it(tmp_path, kind, reader):
    HOSTILE[kind](write(tmp_path / "run" / "logs"))

    with pytest.raises(RecordError) as refused:
        READERS[reader](tmp_path / "run")

    said = str(refused.value)
    assert said.startswith(str(tmp_path / "run"))
    assert "logs" in said
    assert "\n" not in said
    assert len(said) < 600


@pytest.mark.parametrize("reader", READERS)
def test_a_folder_of_logs_that_is_a_link_is_not_followed(tmp_path, reader):
    write(tmp_path / "private")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "logs").symlink_to(tmp_path / "private")

    with pytest.raises(RecordError, match=r"run/logs is a symbolic link"):
        READERS[reader](tmp_path / "run")


def test_logs_that_inspect_writes_are_read(tmp_path):
    write(tmp_path / "run" / "logs", said="first")
    later = write(tmp_path / "run" / "logs", name=NAME.replace("2026", "2027"), said="later")
    # One of a run that was killed: Inspect had not written what it writes at the end.
    killed = write(tmp_path / "run" / "logs", name=NAME.replace("2026", "2028"), said="killed")
    repacked(killed, lambda files: [files.pop(name) for name in ("header.json", "summaries.json") if name in files])
    text = write(tmp_path / "run" / "logs", name=NAME.replace("2026", "2029").replace(".eval", ".json"), said="text")

    (session,) = sessions_of_run(run_of(tmp_path / "run"))
    said = [json.loads(lines)["messages"][1]["text"] for lines in transcripts(tmp_path / "run")]

    assert (session.task, session.counts) == ("toy/blend", {"message": 1})
    assert said == ["first", "later", "killed", "text"]
    assert answered_in(tmp_path / "run", "toy/blend", 0) in (f"logs/{later.name}", f"logs/{killed.name}")
    assert answered_in(tmp_path / "run", "toy/blend", 1) is None
    assert text.exists()


def test_a_run_without_logs_has_none(tmp_path):
    assert [reader(tmp_path) for reader in READERS.values()] == [[], [], None]
    assert logs.log_files(tmp_path) == []
