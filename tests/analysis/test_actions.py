"""What agents did, from three kinds of sources, and whether that goes with success."""

import itertools
import json

import numpy as np
import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall, think
from typer.testing import CliRunner

from lmrbench.analysis.actions import (
    Session,
    _kinds_of_messages,
    contrasts,
    distributions,
    published_sessions,
    sessions_of_events,
    sessions_of_run,
)
from lmrbench.cli import app
from lmrbench.errors import RecordError
from lmrbench.grading.runs import Run


def session(task, solved, **counts):
    return Session(system="agent", task=task, solved=solved, counts=counts)


def test_the_published_sessions():
    found = {(item.system, item.outcome): item for item in distributions(published_sessions())}
    assert {system: item.actions for (system, outcome), item in found.items() if outcome == "all"} == {
        "OpenHands GPT-4.1": 713,
        "OpenHands GPT-4o": 408,
        "OpenHands o4-mini": 760,
    }
    assert found["OpenHands o4-mini", "all"].shares["message"] == pytest.approx(292 / 760)
    assert found["OpenHands GPT-4.1", "solved"].sessions == 9
    for item in found.values():
        assert sum(item.shares.values()) == pytest.approx(1)


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
    with pytest.raises(RecordError, match=r"9\.json: is not JSON"):
        sessions_of_events(tmp_path / "gpt")
    with pytest.raises(RecordError, match="holds no events"):
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
