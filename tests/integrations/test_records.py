"""The published records of the public edition: read from a clone, as runs, and in the figures of the paper."""

import csv
import json
import shutil
from collections import Counter
from importlib.resources import files

import pytest
from tests import core
from tests.integrations.edition import ANSWERS, TOP, judged, write_edition, write_records
from tests.running import lmrbench
from tests.runs.examples import grade
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import RecordError, UsageError
from lmrbench.integrations.lmr_bench.importing import import_edition
from lmrbench.integrations.lmr_bench.public_runs import with_runs
from lmrbench.integrations.lmr_bench.published import figures, outcomes
from lmrbench.integrations.lmr_bench.recomputing import recomputed, recomputed_from
from lmrbench.integrations.lmr_bench.records import (
    PublicAnswer,
    PublicLabel,
    System,
    judgement_in,
    read_records,
    system_of,
)
from lmrbench.judging.labels import read_labels
from lmrbench.report.measures.published import published_rates
from lmrbench.report.measures.raters import compare_runs
from lmrbench.runs.folder import read_judgements, read_run
from lmrbench.runs.records import PublishedVerdict

SYSTEMS = [
    *(System("openhands", model) for model in ("gpt-4.1", "gpt-4o", "o4-mini")),
    *(System("prompting", model) for model in ("gpt-4.1", "gpt-4o", "o4-mini")),
]
# Two functions of the second paper; the third is a submodule, which makes no task.
FUNCTIONS = (("1", "0"), ("2", "0"), ("2", "1"), ("3", "0"))
PUBLISHED = list(
    csv.DictReader((files("lmrbench.integrations.lmr_bench") / "data" / "outcomes.csv").read_text().splitlines())
)


def rows(**changes):
    """The records of six systems on four functions."""
    usual = {"unit_test": "pass", "judge": "LC", "human": "CC", "annotator": "ann", "paper": "Paper"}
    return [
        usual | {"setting": setting, "model": model, "paper_index": paper, "function_index": function} | changes
        for setting, model in SYSTEMS
        for paper, function in FUNCTIONS
    ]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone of three papers with the records of six systems, and with the output tree of one."""
    papers = {task.paper.slug: task.paper for task in core.ALL}
    folder = tmp_path_factory.mktemp("edition") / "clone"
    write_edition(folder / "benchmark", papers, ["dpo", "empathy_gaps", "nsa"])
    write_records(folder / "results", rows())
    for number, name in (("01-dpo", "1-DPO"), ("02-empathy_gaps", "2-Gaps")):
        tree = folder / "outputs" / "NoAgent" / "gpt-4.1" / name
        shutil.copytree(folder / "benchmark" / number, tree)
        goal = tree / "code" / "src" / "part_1.py"
        slug = number.partition("-")[2]
        goal.write_text(TOP + ANSWERS[slug][0])
    return folder


@pytest.fixture(scope="module")
def runs(clone, tmp_path_factory):
    """The imported suite, its runs, and the output of the command."""
    place = tmp_path_factory.mktemp("imported")
    found = import_edition(clone, place / "suite")
    return place / "suite", place / "runs", with_runs(found, read_records(clone), place / "suite", place / "runs")


@pytest.mark.slow
def test_each_system_becomes_a_run(runs):
    _, folder, found = runs
    assert [(item.folder.name, item.system) for item in found.runs] == [
        ("gpt-4.1-openhands", "OpenHands GPT-4.1"),
        ("gpt-4o-openhands", "OpenHands GPT-4o"),
        ("o4-mini-openhands", "OpenHands o4-mini"),
        ("gpt-4.1-prompting", "prompting GPT-4.1"),
        ("gpt-4o-prompting", "prompting GPT-4o"),
        ("o4-mini-prompting", "prompting o4-mini"),
    ]
    counts = [(item.answers, item.unit_tests, item.judgements, item.labels) for item in found.runs]
    assert counts == [(3 if item.folder.name == "gpt-4.1-prompting" else 0, 4, 4, 4) for item in found.runs]
    tasks = {"dpo/preference_loss", "empathy_gaps/get_delta", "empathy_gaps/get_filtered_matrix"}
    run = read_run(folder / "gpt-4.1-prompting")
    assert {item.task for item in run.submissions} == tasks
    assert {item.task for item in run.published} == {*tasks, "paper_3/function_0"}
    assert run.grades == ()
    votes = read_judgements(run.folder, run.submissions)
    assert {(item.judge, item.category) for item in votes} == {("gpt-4.1-2025-04-14", "LC")}
    assert {item.rationale[0] for item in votes if item.task != "empathy_gaps/get_delta"} >= {"The base is right."}
    labels = read_labels([folder / "labels.jsonl"])
    assert len(labels) == 24
    assert {(item.annotator, item.category, item.reason) for item in labels} == {("ann", "CC", "a comment of ann")}
    said = {item.where: item.reason for item in found.left_out}
    assert said["paper_3/function_0"] == "published records exist, but the suite has no such task"


@pytest.mark.slow
def test_reports_show_what_was_published_and_count_no_grade(runs):
    suite, folder, _ = runs
    labels = folder / "labels.jsonl"
    shown = CliRunner().invoke(app, ["report", str(folder), "--suite", str(suite), "--labels", str(labels), "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert found["rates"] == {}
    assert {
        item["system"]: (item["answers"], item["passes"], item["graded"]) for item in found["published"]["rates"]
    } == {item.system: (4, 4, 0) for item in runs[2].runs}
    assert {item["rater"]: item["categories"] for item in found["tallies"]} == {
        "judge gpt-4.1-2025-04-14": {"CC": 0, "LC": 4, "LI": 0},
        "annotator ann": {"CC": 4, "LC": 0, "LI": 0},
    }
    found = compare_runs(read_labels([labels]), [item.folder for item in runs[2].runs])
    pairs = {(item.first, item.second) for item in found.pairs}
    assert pairs == {
        ("judge gpt-4.1-2025-04-14", "annotator ann"),
        ("published unit tests", "judge gpt-4.1-2025-04-14"),
        ("published unit tests", "annotator ann"),
    }
    errors = CliRunner().invoke(app, ["analyse", "errors", str(folder), "--json"])
    assert [item["unclassed"] for item in json.loads(errors.stdout)] == [4] * 6


@pytest.mark.torch
@pytest.mark.sandbox
@pytest.mark.slow
def test_published_answers_are_graded_again_beside_their_verdicts(runs, tmp_path):
    suite, folder, _ = runs
    shutil.copytree(folder / "gpt-4.1-prompting", tmp_path / "run")
    graded = lmrbench("grade", tmp_path / "run", "--suite", suite, cwd=tmp_path)
    assert graded.returncode == 0, graded.stderr
    report = lmrbench("report", tmp_path / "run", "--suite", suite, "--json", cwd=tmp_path)
    found = json.loads(report.stdout)["published"]
    assert {item["task"]: (item["passed"], item["correct"]) for item in found["both"]} == {
        "dpo/preference_loss": (True, True),
        "empathy_gaps/get_delta": (True, True),
    }
    assert (found["rates"][0]["answers"], found["rates"][0]["graded"]) == (4, 2)


def test_verdicts_and_grades_of_the_same_answers():
    def item(**values):
        return PublishedVerdict(system="one", sample=0, **values)

    published = [item(task="a/a", passed=True), item(task="b/b", passed=False), item(task="c/c", passed=True)]
    grades = [grade(task="a/a", verdicts=("mismatch",)), grade(task="b/b", verdicts=("match",))]
    (found,) = published_rates(published, grades)
    assert (found.answers, found.passes, found.graded, found.graded_passes, found.correct) == (3, 2, 2, 1, 1)
    assert (found.passes_alone, found.correct_alone) == (1, 1)


def test_records_in_every_spelling_and_none_that_hides_the_others(tmp_path):
    results = tmp_path / "anywhere" / "results"
    people: list[dict[str, object]] = [
        {"agent_type": "openhands_agent", "model_name": "o4mini", "paper_index": "3", "function_index": "1"},
        {"agent_type": "no_agent", "model_name": "gpt4.1", "paper_index": 3, "function_index": 0},
    ]
    from_0 = [
        item | {"annotator": "dee", "human_judge_result": value} for item, value in zip(people, "02", strict=True)
    ]
    from_1 = [
        item | {"annotator": "eve", "human_judge_result": value} for item, value in zip(people, (1, 3), strict=True)
    ]
    amiss = [
        people[0] | {"annotator": "dee", "human_judge_result": 3},
        people[0] | {"annotator": "eve", "human_judge_result": 2},
        people[0] | {"annotator": "fay", "human_judge_result": "4"},
        people[0] | {"model_name": "gpt5", "human_judge_result": 1},
        people[0] | {"paper_index": "three", "human_judge_result": 1},
        "a label",
    ]
    texts = {
        "human_evaluation/dee.json": json.dumps(from_0),
        "human_evaluation/eve.json": json.dumps(from_1),
        "human_evaluation/fay.json": json.dumps(amiss),
        "human_evaluation/none.json": "{",
        "human_evaluation/object.json": "{}",
        "llm_as_a_judge_evaluation/NoAgent/gpt-4.1/3-Pool_code_0_analysis.txt": judged(1),
        "llm_as_a_judge_evaluation/base_agent/GPT4o/03-Pool_more_code_2_analysis.txt": judged(2, form=1),
        "llm_as_a_judge_evaluation/OpenHands/o4-mini/3-Pool_code_0_analysis.txt": judged(3, form=2),
        "llm_as_a_judge_evaluation/OpenHands/o4-mini/3-Pool_code_1_analysis.txt": '{"category": "4", "rationale": []}',
        "llm_as_a_judge_evaluation/OpenHands/o4-mini/summary.txt": "Total cases: 1\n",
        "unit_test_evaluation/noagent/gpt4.1/results.txt": (
            "3-Pool/unit_test_2.log: PASS\n./3-Pool/unit_test.log: FAIL (found 0 failure lines)\n"
            "4-Other/unit_test_1.log: TIMEOUT\n3-Pool/unit_test_2.log: FAIL\n\nPassed files:    1\n"
        ),
        "unit_test_evaluation/OpenHands/claude3.7/results.txt": "3-Pool/unit_test_1.log: PASS fail_count: 0\n",
        "unit_test_evaluation/SWE-agent/gpt4.1/results.txt": "3-Pool/unit_test_1.log: PASS\n",
    }
    for path, text in texts.items():
        (results / path).parent.mkdir(parents=True, exist_ok=True)
        (results / path).write_text(text)

    found = read_records(tmp_path)

    prompting, openhands = System("prompting", "gpt-4.1"), System("openhands", "o4-mini")
    assert found.labels == {
        PublicAnswer(openhands, 3, 1): [PublicLabel("dee", "LI", ""), PublicLabel("eve", "LI", "")],
        PublicAnswer(prompting, 3, 0): [PublicLabel("dee", "CC", ""), PublicLabel("eve", "CC", "")],
    }
    assert {item: vote.category for item, vote in found.judgements.items()} == {
        PublicAnswer(prompting, 3, 0): "LI",
        PublicAnswer(System("prompting", "gpt-4o"), 3, 2): "LC",
        PublicAnswer(openhands, 3, 0): "CC",
    }
    assert found.unit_tests == {
        PublicAnswer(prompting, 3, 1): True,
        PublicAnswer(prompting, 3, 0): False,
        PublicAnswer(System("openhands", "claude-3.7"), 3, 0): True,
    }
    said = Counter(f"{item.where.rpartition('results/')[2]}: {item.reason}" for item in found.problems)
    fay = "human_evaluation/fay.json: label"
    assert said == Counter(
        [
            f"{fay} 1: human_judge_result: '3'; expected 0 to 2, because dee also uses 0",
            f"{fay} 2: contradicts an earlier label of eve; left out",
            f"{fay} 3: human_judge_result: '4'; expected 1 to 3",
            f"{fay} 4: agent_type, model_name: unknown system 'openhands_agent', 'gpt5'",
            f"{fay} 5: paper_index, function_index: expected whole numbers",
            f"{fay} 6: not a JSON object",
            "human_evaluation/none.json: not valid JSON: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1)",
            "human_evaluation/object.json: expected a JSON list of labels",
            "llm_as_a_judge_evaluation/OpenHands/o4-mini/3-Pool_code_1_analysis.txt: neither a JSON object with a "
            '"category" from 1 to 3 nor a text that ends with a line "1", "2" or "3"',
            "unit_test_evaluation/noagent/gpt4.1/results.txt: expected PASS or FAIL: 4-Other/unit_test_1.log: TIMEOUT",
            "unit_test_evaluation/noagent/gpt4.1/results.txt: contradicts an earlier verdict on the same answer; left "
            "out: 3-Pool/unit_test_2.log: FAIL",
        ]
    )


def test_a_unit_test_belongs_to_the_function_that_names_it(tmp_path):
    folder = tmp_path / "benchmark" / "07-Pool"
    folder.mkdir(parents=True)
    tests = [{"unit_test_file": f"unit_test/{name}.py"} for name in ("unit_test_2", "unit_test_1")]
    (folder / "info.json").write_text(json.dumps({"implementations": tests}))
    file = tmp_path / "results" / "unit_test_evaluation" / "BaseAgent" / "gpt4o" / "results.txt"
    file.parent.mkdir(parents=True)
    file.write_text("7-Pool/unit_test_1.log: PASS\n7-Pool/unit_test_2.log: FAIL\n7-Pool/unit_test_3.log: PASS\n")
    found = {item.function: passed for item, passed in read_records(tmp_path).unit_tests.items()}
    assert found == {1: True, 0: False, 2: True}


@pytest.mark.parametrize("text", ["", "1 2", "Category 3", '{"category": 0}', '{"category": "3"', "{" * 9999])
def test_no_category_is_guessed(text):
    with pytest.raises(RecordError, match="neither a JSON object"):
        judgement_in(text)


def test_systems_by_the_parts_of_a_path():
    assert system_of(("outputs", "OpenHands-gpt4o", "x")) == System("openhands", "gpt-4o")
    assert system_of(("OpenHands_logs", "claude-3.7-sonnet-20250219")) == System("openhands", "claude-3.7")
    assert system_of(("results", "gpt4.1")) is None
    assert system_of(("OpenHands", "evaluation")) is None
    assert system_of(("OpenHands", "gpt4o-mini")) is None


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no published records found; expected a clone"):
        read_records(tmp_path)
    shown = CliRunner().invoke(
        app, ["task", "import", "lmr-bench", str(tmp_path), "--to", str(tmp_path / "a"), "--runs", str(tmp_path)]
    )
    assert isinstance(shown.exception, UsageError)
    assert not (tmp_path / "a").exists()


@pytest.fixture(scope="module")
def published_clone(tmp_path_factory):
    """A clone whose records are the published ones, without benchmarks."""
    folder = tmp_path_factory.mktemp("published")
    write_records(folder / "results", PUBLISHED, from_0="D")
    return folder


def test_the_records_of_a_clone_give_table_2_to_the_digit(published_clone):
    records = read_records(published_clone)
    assert (len(records.answers), records.problems) == (196, ())

    def table(known):
        return {item.name: (item.recomputed, item.comparison) for item in figures(known) if item.place == "Table 2"}

    found = table(records.outcomes())
    assert found == table(outcomes())
    columns: dict[str, list[tuple[object, ...]]] = {"unit tests": [], "judge, CC/LC/LI": []}
    for name, (values, comparison) in found.items():
        system, column = name.split(", ", 1)
        if comparison == "exact" and column in columns:
            columns[column].append((system, *(f"{value:.1f}" for value in values)))
    assert sorted(columns["unit tests"]) == [
        ("OpenHands GPT-4o", "25.0"),
        ("OpenHands o4-mini", "35.7"),
        ("prompting GPT-4.1", "42.9"),
    ]
    assert sorted(columns["judge, CC/LC/LI"]) == [
        ("OpenHands GPT-4.1", "17.9", "14.3", "67.9"),
        ("OpenHands o4-mini", "35.7", "14.3", "50.0"),
        ("prompting GPT-4.1", "7.1", "28.6", "64.3"),
        ("prompting GPT-4o", "17.9", "10.7", "71.4"),
        ("prompting o4-mini", "25.0", "21.4", "53.6"),
    ]


def test_a_clone_gives_the_figures_of_the_paper_and_its_logs_the_actions(published_clone, tmp_path):
    shutil.copytree(published_clone, tmp_path / "clone")
    logs = tmp_path / "clone" / "results" / "OpenHands_logs" / "gpt4.1" / "file_store" / "sessions"
    # The unit tests of paper 1 pass, that of paper 4 fails; the last folder names no paper.
    for place, action in (("1-DPO", "edit"), ("4-CD", "run"), ("9bc1344c-da77-4d73", "finish")):
        (logs / place / "events").mkdir(parents=True)
        for number, kind in enumerate(("message", action)):
            event = {"id": number, "timestamp": f"{place}{number}", "source": "agent", "action": kind}
            (logs / place / "events" / f"{number}.json").write_text(json.dumps(event))
    solved = {row["paper_index"]: row["unit_test"] for row in PUBLISHED if row["model"] == "gpt-4.1"}
    assert (solved["1"], solved["4"]) == ("pass", "fail")

    found = json.loads(CliRunner().invoke(app, ["analyse", "published", str(tmp_path / "clone"), "--json"]).stdout)

    ours = recomputed()
    assert found["agreement"]["judge and people"]["same"]["count"] == ours.pairs["judge and people"].same.count
    drawn = {
        (item["place"], item["name"].split(", ")[1]): item["recomputed"]
        for item in found["figures"]
        if item["place"] in ("Figure 5", "Figure 6")
    }
    # edit, read, run, message, finish, other
    assert drawn == {
        ("Figure 5", "with repeats"): [1, 0, 1, 3, 1, 0],
        ("Figure 6", "solved"): [1, 0, 0, 1, 0, 0],
        ("Figure 6", "not solved"): [0, 0, 1, 1, 0, 0],
    }

    def others(figures):
        return {(item["place"], item["name"]): item["comparison"] for item in figures if item["place"] != "Figure 5"}

    facts = [{**item.model_dump(), "comparison": item.comparison} for item in ours.figures]
    assert {key: value for key, value in others(found["figures"]).items() if key[0] != "Figure 6"} == {
        key: value for key, value in others(facts).items() if key[0] != "Figure 6"
    }


def test_a_clone_with_part_of_the_records_says_what_it_lacks(tmp_path):
    write_records(tmp_path / "results", [row for row in PUBLISHED if row["model"] == "o4-mini"])
    (tmp_path / "results" / "human_evaluation" / "none.json").write_text("[")
    found = recomputed_from(tmp_path)
    said = {item.name: item.comparison for item in found.figures}
    assert said["OpenHands o4-mini, unit tests"] == "exact"
    assert said["OpenHands GPT-4o, judge, CC/LC/LI"] == "not recomputable"
    shown = CliRunner().invoke(app, ["analyse", "published", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "none.json: not valid JSON" in shown.stderr


def test_a_clone_with_its_benchmarks_gives_the_regression_of_table_5(published_clone, tmp_path):
    shutil.copytree(published_clone, tmp_path / "clone")
    functions = Counter((int(row["paper_index"]), row["paper"]) for row in PUBLISHED if row["model"] == "claude-3.7")
    for (number, name), count in functions.items():
        folder = tmp_path / "clone" / "benchmark" / f"{number:02}-{name}"
        goal = f"{'deep/' * (number % 4)}goal.py"
        others = [f"{'more/' * (number % 3)}file_{other}.py" for other in range(number % 5)]
        for path in (goal, *others):
            (folder / "code" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "code" / path).write_text("x = 1\n" * (number * 7 % 11 + 1))
        info = {"repo_folder_name": "code", "implementations": [{"goal_file": goal}] * count}
        (folder / "info.json").write_text(json.dumps(info))
    (found,) = [item for item in recomputed_from(tmp_path / "clone").figures if item.place == "Table 5"]
    assert (len(found.recomputed), found.comparison, found.unit) == (7, "differs", "coefficient")
    assert found.note == "84 answers; the paper defines neither imbalance nor the scale of its measures"
    (without,) = [item for item in recomputed_from(published_clone).figures if item.place == "Table 5"]
    assert (without.comparison, without.note) == (
        "not recomputable",
        "requires the benchmark folders, and unit-test results of OpenHands with three models",
    )
