"""The protocol of the LMR-BENCH paper: its prompts, its sessions, and how reports name it."""

import json
from base64 import b64decode

import pytest
from tests import toy
from tests.judging.helpers import prompt_of
from tests.solving.helpers import MODEL, golden, goldens, lines, lmrbench, replies_of
from tests.solving.server import Reply, serving
from tests.solving.test_papers import PDF

from lmrbench.errors import UsageError
from lmrbench.integrations.lmr_bench.sessions import sessions_of_run
from lmrbench.models.settings import checked
from lmrbench.report.combine import together
from lmrbench.runs.folder import read_run
from lmrbench.solving.papers import add
from lmrbench.solving.task import lmr_bench
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Answer
from lmrbench.web.transcripts import TranscriptServers

WEIGHTS = """
[[task]]
name = "weigh"
category = "evaluation_metrics"
targets = ["weighting.py::weights"]
instruction = "Implement `weights`: they grow by one."
check = "checks/blend.py"
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """The toy suite with two tasks, and the PDF of its paper in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = toy.copy_to(tmp_path / "suite")
    table = folder / "toy" / "task.toml"
    table.write_text(table.read_text() + WEIGHTS)
    (tmp_path / "paper.pdf").write_bytes(PDF)
    add(load_suite(folder)[0].paper, tmp_path / "paper.pdf")
    return folder


def prices(tmp_path):
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({MODEL: {"input": 1, "output": 1}}))
    return file


@pytest.mark.sandbox
def test_a_prompt_has_the_parts_of_the_paper_in_its_order(suite, tmp_path):
    run = tmp_path / "run"
    with serving(lambda request: Reply(golden("toy"))) as (base, log):
        arguments = ("--model", MODEL, "--suite", suite, "--task", "toy/blend", "--out", run, "--no-report")
        done = lmrbench(base, "run", *arguments, "--protocol", "paper")

    assert "1 of 1 answers pass" in done.stdout, done.stderr
    text = prompt_of(log.requests[-1])
    parts = [
        "Answer with the definition alone",
        "## Goal file `blending.py`",
        '[\n {\n  "page": 1,\n  "text": "An Original Text',
        "## Instruction",
        "## Context file `weighting.py`",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert json.loads((run / "run.json").read_text())["solving"]["protocol"] == "paper"
    assert together([read_run(run)], suite).grades[0].system == f"{MODEL}, paper's protocol"


@pytest.mark.sandbox
def test_an_agent_has_the_pdf_and_all_tasks_of_the_paper_in_one_session(suite, tmp_path):
    run, code = tmp_path / "run", goldens("both")
    code = {f"/workspace/repo/{name}": text.replace("Both", "Blender") for name, text in code.items()}
    writes = [("python", {"code": f"open({name!r}, 'w').write({text!r})"}) for name, text in code.items()]
    calls = [
        ("bash", {"command": "head -c 8 paper.pdf; ls; cat instruction.md"}),
        *writes,
        ("submit", {"answer": "done"}),
    ]

    def script(request):
        return Reply(tool=calls[min(replies_of(request), len(calls) - 1)])

    with serving(script) as (base, log):
        arguments = ("--model", MODEL, "--suite", suite, "--setting", "agent", "--out", run, "--no-report")
        unpriced = lmrbench(base, "run", *arguments, "--protocol", "paper")
        done = lmrbench(base, "run", *arguments, "--protocol", "paper", "--prices", prices(tmp_path))
        asked = len(log.requests)
        again = lmrbench(base, "run", *arguments, "--protocol", "paper", "--prices", prices(tmp_path))

    assert (unpriced.returncode, len(unpriced.stderr.splitlines())) == (2, 1)
    assert "the cost limit of --protocol paper needs --prices" in unpriced.stderr
    assert "2 of 2 answers pass" in done.stdout, done.stderr
    assert "2 of 2 answers pass" in again.stdout, again.stderr
    assert len(log.requests) == asked
    seen = next(request.text for request in log.requests if replies_of(request) == 1)
    for part in ("%PDF-1.4", "paper.pdf", "# toy/blend", "# toy/weigh", "they grow by one", "`paper.pdf` is: "):
        assert part in seen
    assert "paper.md" not in seen
    usages = lines(run / "usage.jsonl")
    assert [item["task"] for item in usages] == ["toy/blend", "toy/weigh"]
    # Each call of the one session is paid once.
    assert sum(item["calls"] for item in usages) == len(calls)
    # Its one transcript is found for each task, and the session is solved if all of them are.
    servers = TranscriptServers()
    try:
        addresses = {servers.address(run, Answer(MODEL, task, 0)) for task in ("toy/blend", "toy/weigh")}
    finally:
        servers.close()
    assert [address.rpartition("/samples/")[2] for address in addresses] == ["sample/toy%2Ffunction/1/transcript"]
    assert [session.solved for session in sessions_of_run(read_run(run))] == [True]
    settings = json.loads((run / "run.json").read_text())["solving"]
    assert (settings["turns"], settings["cost_limit"], settings["session"]) == (50, 4.0, "paper")


def test_a_session_of_some_tasks_shows_the_goal_files_of_all_of_them_and_names_the_others():
    tasks = ["remove_object_subject_overlap", "is_parametric_object_not_in_the_prompt"]
    names = [f"knowledge_source/{task}" for task in tasks]
    chosen = [*names, "dpo/preference_loss"]
    dataset = lmr_bench(tasks=chosen, setting="agent", session="paper", inputs="paper+file").dataset

    assert [sample.id for sample in dataset] == ["dpo/preference_loss", "knowledge_source/function"]
    files = {name.removeprefix("/workspace/"): data for name, data in dataset[1].files.items()}
    code = {"repo/src/data.py", "repo/src/parametric_knowledge.py"}
    assert files.keys() == {"instruction.md", "paper.md", *code}
    text = b64decode(files["instruction.md"].partition(",")[2]).decode()
    assert "Only the files of these functions are in `repo/`" in text
    assert text.count("# knowledge_source/") == 2
    others = text.partition("not part of your work: ")[2].partition(".\n")[0]
    assert "perform_classification_by_relation_group" in others
    assert "remove_object_subject_overlap" not in others


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "paper", "paper": "latex"}, "--paper latex: the paper's protocol requires json"),
        ({"protocol": "paper", "setting": "agent", "turns": 30}, "--turns 30: the paper's protocol requires 50"),
        ({"paper": "pdf-file"}, "--paper pdf-file applies only to the agent setting"),
        ({"paper": "json", "setting": "agent"}, "--paper json applies only to the prompt setting"),
        (
            {"session": "paper", "setting": "agent", "inputs": "paper"},
            "--inputs paper: a session of a whole paper needs",
        ),
        (
            {"session": "paper", "setting": "agent", "trace_progress": True},
            "can't be used with sessions of whole papers",
        ),
        ({"session": "paper"}, "--session paper applies only to the agent setting"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, words):
    with pytest.raises(UsageError, match=words):
        checked({"model": MODEL, **options})
