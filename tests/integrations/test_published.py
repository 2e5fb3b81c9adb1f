"""The figures of the LMR-BENCH paper, each pinned to what its published records give."""

import json

import pytest
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.integrations.lmr_bench.published import against, figures, outcomes, solved_papers
from lmrbench.integrations.lmr_bench.recomputing import recomputed

TABLE_2 = {
    "prompting GPT-4.1, unit tests": ([42.9], "exact"),
    "prompting GPT-4.1, judge, CC/LC/LI": ([7.1, 28.6, 64.3], "exact"),
    "prompting GPT-4.1, people, CC/LC/LI": ([35.7, 32.1, 32.1], "differs"),
    "prompting GPT-4o, unit tests": ([], "not recomputable"),
    "prompting GPT-4o, judge, CC/LC/LI": ([17.9, 10.7, 71.4], "exact"),
    "prompting GPT-4o, people, CC/LC/LI": ([25.0, 14.3, 60.7], "exact"),
    "prompting o4-mini, unit tests": ([], "not recomputable"),
    "prompting o4-mini, judge, CC/LC/LI": ([25.0, 21.4, 53.6], "exact"),
    "prompting o4-mini, people, CC/LC/LI": ([32.1, 28.6, 39.3], "differs"),
    "OpenHands Claude 3.7, unit tests": ([50.0], "not printed"),
    "OpenHands GPT-4.1, unit tests": ([35.7], "differs"),
    "OpenHands GPT-4.1, judge, CC/LC/LI": ([17.9, 14.3, 67.9], "exact"),
    "OpenHands GPT-4.1, people, CC/LC/LI": ([32.1, 25.0, 42.9], "exact"),
    "OpenHands GPT-4o, unit tests": ([25.0], "exact"),
    "OpenHands GPT-4o, judge, CC/LC/LI": ([3.6, 10.7, 85.7], "differs"),
    "OpenHands GPT-4o, people, CC/LC/LI": ([21.4, 17.9, 60.7], "exact"),
    "OpenHands o4-mini, unit tests": ([35.7], "exact"),
    "OpenHands o4-mini, judge, CC/LC/LI": ([35.7, 14.3, 50.0], "exact"),
    "OpenHands o4-mini, people, CC/LC/LI": ([39.3, 21.4, 39.3], "exact"),
}


def test_every_value_of_table_2():
    found = {item.name: item for item in figures(outcomes()) if item.place == "Table 2"}
    said = {name: ([round(value, 1) for value in item.recomputed], item.comparison) for name, item in found.items()}
    assert said == TABLE_2
    swapped = found["prompting GPT-4.1, people, CC/LC/LI"].note
    assert swapped == "the printed values match the records of prompting o4-mini, people, CC/LC/LI"


def test_what_the_records_do_not_hold_has_a_reason():
    others = [item for item in figures(outcomes()) if item.place != "Table 2"]
    assert {item.place for item in others} == {"Table 3", "Table 5", "Table 6", "Section 5.3, Figure 7", "Section 5.4"}
    assert all(item.note for item in others)
    assert {item.comparison for item in others if item.place != "Section 5.4"} == {"not recomputable"}


def test_two_annotators_contradict_the_judge_as_often_as_printed():
    (found,) = [item for item in figures(outcomes()) if item.printed == ("16",)]
    assert found.recomputed == pytest.approx(((9 / 60 + 6 / 36) / 2 * 100,))
    assert found.comparison == "exact"
    assert found.note == "C: 15.0 and D: 16.7; the paper does not name the annotators"


def test_judge_and_people():
    assert len(outcomes()) == 196
    found = against(outcomes(), "judge", "human")
    assert (found.same.count, found.conflicts.count, found.same.of) == (105, 16, 168)
    assert found.kappa == pytest.approx(0.38, abs=0.005)
    assert found.table == ((23, 5, 2), (15, 10, 3), (14, 24, 72))
    assert found.kappa_low == pytest.approx(0.245, abs=0.03)
    assert found.kappa_high == pytest.approx(0.51, abs=0.03)
    of_annotators = [against(outcomes(), "judge", "human", name).same for name in "ABCD"]
    assert [(item.count, item.of) for item in of_annotators] == [(25, 36), (25, 36), (38, 60), (17, 36)]


def test_agents_solve_a_paper_where_all_its_functions_pass():
    solved = solved_papers(outcomes())
    assert sum(passed for (agent, _), passed in solved.items() if agent == "OpenHands GPT-4.1") == 9
    assert ("OpenHands GPT-4.1", "knowledge_source") in solved
    assert not any(agent.startswith("prompting") for agent, _ in solved)


def test_the_command_prints_tables_markdown_and_json():
    runner = CliRunner()
    plain = runner.invoke(app, ["analyse", "published"])
    assert plain.exit_code == 0, plain.output
    assert "62.5%" in plain.output
    found = json.loads(runner.invoke(app, ["analyse", "published", "--json"]).stdout)
    assert len(found["figures"]) == len(recomputed().figures)
    assert found["agreement"]["judge and people"]["same"]["count"] == 105
    assert "| Table 2 |" in runner.invoke(app, ["analyse", "published", "--markdown"]).stdout


def test_the_counts_of_figures_5_and_6():
    found = {(item.place, item.name.rpartition(", actions")[0]): item for item in recomputed().figures}
    whole = found["Figure 5", "OpenHands GPT-4.1, with repeats"]
    # edit, read, run, message, finish, other
    assert (whole.recomputed, whole.unit, whole.comparison) == ((109, 186, 406, 16, 19, 2), "count", "not printed")
    solved, others = (found["Figure 6", f"OpenHands GPT-4.1, {name}"].recomputed for name in ("solved", "not solved"))
    assert sum(solved) + sum(others) == 699
    assert not any(place == "Figure 5" and name.endswith(", all") for place, name in found)
