"""The actions of agents from three kinds of sources, and the test of whether they go with success."""

import itertools
import json
import re

import numpy as np
import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall, think
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import RecordError, UsageError
from lmrbench.integrations.lmr_bench.actions import contrasts, distributions
from lmrbench.integrations.lmr_bench.sessions import (
    LoggedSession,
    _kinds_of_messages,
    published_sessions,
    sessions_of_events,
    sessions_of_run,
    with_outcomes,
)
from lmrbench.runs.folder import Run


def session(task, solved, **counts):
    return LoggedSession(system="agent", task=task, solved=solved, counts=counts)


def test_the_published_sessions():
    found = {(item.system, item.outcome): item for item in distributions(published_sessions())}
    assert {system: item.actions for (system, outcome), item in found.items() if outcome == "all"} == {
        "OpenHands GPT-4.1": 699,
        "OpenHands GPT-4o": 378,
        "OpenHands o4-mini": 760,
    }
    assert found["OpenHands o4-mini", "all"].shares["message"] == pytest.approx(292 / 760)
    assert found["OpenHands GPT-4.1", "solved"].sessions == 9
    for item in found.values():
        assert sum(item.shares.values()) == pytest.approx(1)
        assert sum(item.counts.values()) == item.actions


def test_a_thought_is_counted_once_among_the_messages():
    found = {(item.system, item.outcome): item for item in distributions(published_sessions())}
    shares = {name: found[f"OpenHands {name}", "all"].shares for name in ("GPT-4.1", "GPT-4o")}
    kinds = ("message", "run", "read", "edit")
    assert [round(100 * shares["GPT-4.1"][kind], 1) for kind in kinds] == [2.0, 53.8, 26.0, 15.3]
    assert [round(100 * shares["GPT-4o"][kind], 1) for kind in kinds] == [10.3, 52.1, 14.0, 17.7]
    distances = {item.system: item.distance for item in contrasts(published_sessions())}
    assert distances["OpenHands GPT-4.1"] == pytest.approx(0.077, abs=5e-4)
    assert distances["OpenHands GPT-4o"] == pytest.approx(0.027, abs=5e-4)


def test_repeated_sessions_are_in_the_totals_of_the_paper_alone():
    sessions = published_sessions()
    assert (len(sessions), sum(item.repeated for item in sessions)) == (74, 8)
    found = {item.system: item for item in distributions(sessions) if item.outcome == "with repeats"}
    kinds = ("edit", "finish", "message", "read", "run", "other")
    assert {system: [item.counts[kind] for kind in kinds] for system, item in found.items()} == {
        "OpenHands GPT-4.1": [109, 19, 16, 186, 406, 2],
        "OpenHands GPT-4o": [68, 18, 42, 55, 205, 6],
        "OpenHands o4-mini": [248, 4, 397, 171, 188, 0],
    }
    shown = CliRunner().invoke(app, ["analyse", "actions"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "376 (53.8%)" in shown.output
    assert "66 of 74 recorded sessions are counted" in " ".join(shown.output.split())
    assert not any(item.outcome == "with repeats" for item in distributions([session("a", True, edit=1)]))


def event(number, action, hour=0):
    stamp = f"2025-05-01T{hour:02}:00:{number:02}"
    return {"id": number, "timestamp": stamp, "source": "agent" if number else "user", "action": action}


def write_events(folder, events):
    folder.mkdir(parents=True)
    for item in events:
        (folder / f"{item['id']}.json").write_text(json.dumps(item))


def test_copies_of_a_session_in_overlapping_trees_are_counted_once(tmp_path):
    dpo = [event(number, action, 1) for number, action in enumerate(["message", "run", "edit", "finish"])]
    nsa = [event(number, action, 2) for number, action in enumerate(["message", "run", "run"])]
    write_events(tmp_path / "gpt" / "main" / "dpo", dpo)
    write_events(tmp_path / "gpt" / "main" / "nsa", nsa)
    # Whole and in part, under the folder's own name and under another one.
    write_events(tmp_path / "gpt" / "all" / "first" / "dpo", dpo[:2])
    write_events(tmp_path / "gpt" / "backup" / "nsa", nsa)
    write_events(tmp_path / "again" / "nsa", [event(0, "message", 3), event(1, "edit", 3)])

    found = sessions_of_events(tmp_path / "gpt", tmp_path / "again", tmp_path / "gpt" / "main")

    counts = [(item.system, item.counts, item.copies) for item in found]
    assert sorted(counts, key=str) == [
        ("again", {"edit": 1}, 1),
        ("gpt", {"run": 1, "edit": 1, "finish": 1}, 3),
        ("gpt", {"run": 2}, 3),
    ]
    shown = CliRunner().invoke(app, ["analyse", "actions", "--events", str(tmp_path / "gpt")])
    assert "each session is counted once; extra copies found: 2" in shown.stderr


def test_outcomes_of_events_are_read_from_a_file(tmp_path):
    for name in ("dpo", "hit", "nsa", "cad"):
        write_events(tmp_path / "gpt" / name / "events", [event(0, "message", len(name)), event(1, "run")])
        (tmp_path / "gpt" / name / "events" / "2.json").write_text(json.dumps(event(2, "edit") | {"of": name}))
    file = tmp_path / "outcomes.csv"
    for number, name in enumerate(("dpo", "hit", "nsa", "cad")):
        (tmp_path / "gpt" / name / "events" / "0.json").write_text(json.dumps(event(0, "message", number)))
    file.write_text("task,solved,system\ndpo,yes,\nhit/events,No,gpt\nnsa,1,gpt\nnsa,fail,\n")

    found = {item.task: item.solved for item in with_outcomes(sessions_of_events(tmp_path / "gpt"), file)}

    assert found == {"dpo/events": True, "hit/events": False, "nsa/events": False, "cad/events": None}
    command = ["analyse", "actions", "--events", str(tmp_path / "gpt"), "--outcomes", str(file), "--json"]
    shown = json.loads(CliRunner().invoke(app, command).stdout)
    (contrast,) = shown["contrasts"]
    assert (contrast["solved"], contrast["unsolved"]) == (1, 2)
    by_outcome = {item["outcome"]: item["counts"] for item in shown["distributions"]}
    assert by_outcome["solved"] == {"edit": 1, "read": 0, "run": 1, "message": 0, "finish": 0, "other": 0}
    assert by_outcome["not solved"]["run"] == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("paper,solved\ndpo,yes\n", ":1: expected a CSV file with the columns task, solved"),
        ("", ":1: expected a CSV file"),
        ("task,solved\ndpo,perhaps\n", ":2: solved: 'perhaps' is not valid; use yes or no"),
        ("task,solved\ndpo,yes\nhit,no\n", ":3: no session matches 'hit'"),
        ("task,solved,system\ndpo,yes,other\n", ":2: no session matches 'other dpo'"),
    ],
)
def test_a_file_of_outcomes_that_can_not_be_used(tmp_path, text, reason):
    (tmp_path / "outcomes.csv").write_text(text)
    with pytest.raises(RecordError, match=re.escape(reason)):
        with_outcomes([session("a/dpo/b", None, edit=1)], tmp_path / "outcomes.csv")


def test_outcomes_need_events(tmp_path):
    with pytest.raises(RecordError, match=r"none\.csv can't be read"):
        with_outcomes([], tmp_path / "none.csv")
    with pytest.raises(UsageError, match="--outcomes needs --events"):
        CliRunner().invoke(app, ["analyse", "actions", "--outcomes", "x.csv"], catch_exceptions=False)


def test_events_of_openhands_are_counted_by_folder(tmp_path):
    events = [
        {"id": 0, "source": "user", "action": "message"},
        {"id": 1, "source": "agent", "action": "run"},
        {"id": 2, "source": "environment", "observation": "run"},
        {"id": 3, "source": "agent", "action": "run_ipython"},
        {"id": 4, "source": "agent", "action": "think"},
        {"id": 5, "source": "agent", "action": "browse_interactive"},
        {"id": 6, "source": "agent", "observation": "null"},
        {"id": 7, "source": "agent", "action": "finish"},
    ]
    for name, count in (("dpo", 8), ("nsa", 2)):
        folder = tmp_path / "gpt" / name / "events"
        folder.mkdir(parents=True)
        for number, event in enumerate(events[:count]):
            (folder / f"{number}.json").write_text(json.dumps(event))
    found = {item.task: item.counts for item in sessions_of_events(tmp_path / "gpt")}
    assert found == {
        "dpo/events": {"run": 2, "message": 1, "other": 1, "finish": 1},
        "nsa/events": {"run": 1},
    }
    result = CliRunner().invoke(app, ["analyse", "actions", "--events", str(tmp_path / "gpt"), "--json"])
    assert json.loads(result.stdout)["contrasts"] == [
        {"system": "gpt", "solved": 0, "unsolved": 0, "distance": None, "p": None}
    ]
    (tmp_path / "gpt" / "nsa" / "events" / "9.json").write_text("{")
    with pytest.raises(RecordError, match=r"9\.json: not valid JSON"):
        sessions_of_events(tmp_path / "gpt")
    with pytest.raises(RecordError, match="no events found"):
        sessions_of_events(tmp_path / "nowhere")


def test_calls_of_tools_by_their_kind():
    def calls(*names):
        made = [ToolCall(id=str(number), function=name, arguments=given) for number, (name, given) in enumerate(names)]
        return ChatMessageAssistant(content="", tool_calls=made)

    messages = [
        ChatMessageUser(content="go"),
        calls(("bash", {}), ("python", {}), ("text_editor", {"command": "view"})),
        calls(("text_editor", {"command": "str_replace"}), ("Edit", {}), ("web_search", {})),
        ChatMessageAssistant(content="I think so."),
        calls(("submit", {})),
    ]
    kinds = ["run", "run", "read", "edit", "edit", "other", "message", "finish"]
    assert list(_kinds_of_messages(messages)) == kinds


def test_a_session_of_the_built_in_agent_ends_with_finish(tmp_path):
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "think", {"thought": "hm"}),
        ModelOutput.from_content("mockllm/model", "I think so."),
        ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": "done"}),
    ]
    for output in outputs:
        # Without one, Inspect's mock downloads a tokenizer.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = Task(dataset=[Sample(id="toy/blend", input="go")], solver=react(tools=[think()]))
    model = get_model("mockllm/model", custom_outputs=outputs)
    eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none")
    (found,) = sessions_of_run(Run(tmp_path, None, (), (), (), 0, ()))
    assert found.counts == {"message": 2, "finish": 1}


def test_the_permutation_test_against_all_permutations():
    shares = [(3, 1), (2, 2), (4, 0), (1, 3), (0, 4), (1, 4), (2, 3)]
    solved = [True, True, True, False, False, False, False]
    sessions = [
        session(str(place), won, edit=edits, run=runs)
        for place, ((edits, runs), won) in enumerate(zip(shares, solved, strict=True))
    ]
    (found,) = contrasts(sessions)
    edits = np.array([one / (one + other) for one, other in shares])

    def distance(chosen):
        return abs(edits[list(chosen)].mean() - np.delete(edits, list(chosen)).mean())

    everything = [distance(chosen) for chosen in itertools.combinations(range(7), 3)]
    assert found.distance == pytest.approx(everything[0])
    exact = np.mean([value >= everything[0] - 1e-12 for value in everything])
    assert found.p == pytest.approx(exact, abs=0.012)


def test_one_outcome_alone_defines_no_test():
    (found,) = contrasts([session("a", True, edit=1), session("b", True, run=1), session("c", None, run=1)])
    assert (found.solved, found.unsolved, found.distance, found.p) == (2, 0, None, None)
    (found,) = contrasts([session("a", True), session("b", False, run=2)])
    assert found.p is None
