"""Prompts: files that a search adds, and the cutting of texts that are too long."""

import ast
import sys

import pytest
from tests.core import TASKS

from lmrbench.errors import UsageError
from lmrbench.integrations.huggingface import row_of
from lmrbench.models.settings import checked
from lmrbench.solving.prompts import around, prompt_message, retrieved
from lmrbench.solving.task import lmr_bench
from lmrbench.tasks.model import STATED_TIME_LIMITS
from lmrbench.tasks.workspace import masked_files, workspace_files


def test_a_search_finds_files_that_share_the_words_of_the_task():
    task = TASKS["knowledge_source/remove_object_subject_overlap"]

    found = retrieved(task, 3)

    assert len(found) == 3
    assert not {*task.goal_files, *task.context} & {*found}
    assert set(found) < set(masked_files(task))
    assert retrieved(task, 2) == found[:2]
    assert retrieved(task, 0) == ()


def test_what_was_found_stands_behind_the_context_and_is_named():
    task = TASKS["dpo/preference_loss"]

    message = prompt_message(task, "full", "summary", 10**6, retrieve=2)

    assert message.retrieved == retrieved(task, 2)
    for name in message.retrieved:
        assert f"## Context file `{name}`" in message.text
        assert f"## Context file `{name}`" not in prompt_message(task, "full", "summary", 10**6).text
    assert prompt_message(task, "paper+file", "summary", 10**6, retrieve=2).retrieved == ()


def test_the_log_names_what_was_found():
    (sample,) = lmr_bench(tasks="dpo/preference_loss", retrieve=2).dataset

    assert sample.metadata is not None
    assert sample.metadata["retrieved"] == list(retrieved(TASKS["dpo/preference_loss"], 2))


def test_a_search_in_what_is_not_shown_is_refused():
    with pytest.raises(UsageError, match=r"--retrieve 3: no further files can be shown with the inputs paper"):
        checked({"model": "m", "inputs": "paper", "retrieve": 3})
    with pytest.raises(UsageError, match=r"--retrieve 3 applies only to the prompt setting"):
        checked({"model": "m", "setting": "agent", "retrieve": 3})


def test_a_goal_file_that_does_not_fit_is_cut_around_its_targets():
    task = TASKS["massive_activations/run_exp1"]
    (goal,) = task.goal_files
    whole = prompt_message(task, "full", "summary", 10**6)
    least = prompt_message(task, "full", "summary", 1)
    limit = len(least.text) + 600

    message = prompt_message(task, "full", "summary", limit)

    assert goal not in whole.cut
    assert len(message.text) <= limit + 100
    kept, total = message.cut[goal]
    assert least.cut[goal][0] < kept < total
    assert "lines are left out.]" in message.text
    for text in (least.text, message.text):
        assert "def run_exp1(" in text
        assert task.instruction.strip() in text


def test_lines_are_kept_on_both_sides_as_far_as_there_is_room():
    text = "".join(f"line{number} = {number}\n" for number in range(1, 30))

    cut = around(text, [(10, 11)], 6 * len("line10 = 10\n"))

    assert cut.splitlines() == [
        "# [7 lines are left out.]",
        *(f"line{number} = {number}" for number in range(8, 14)),
        "# [16 lines are left out.]",
    ]
    ast.parse(cut)
    assert around(text, [(10, 11)], 10_000) == text
    assert "line10 = 10" in around(text, [(10, 11)], 0)


def test_every_prompt_and_instruction_names_python_time_limits_and_rules():
    task = TASKS["dpo/preference_loss"]
    (agent,) = lmr_bench(tasks="dpo/preference_loss", setting="agent").dataset
    python = f"Your code is run by Python {sys.version_info.major}.{sys.version_info.minor}."

    for inputs in ("full", "paper+file", "paper"):
        for sentence in (python, STATED_TIME_LIMITS, "Second derivatives are not needed."):
            assert prompt_message(task, inputs, "summary", 10**6).text.count(sentence) == 1
            assert workspace_files(task, inputs)["instruction.md"].decode().count(sentence) == 1
            assert sentence in row_of(task, inputs).instruction
    assert python in str(agent.input)
