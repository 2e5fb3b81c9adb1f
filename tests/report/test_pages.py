"""A report as a page, as CSV and as LaTeX; and reports of runs of which little can be said."""

import csv
import io
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.figures import draw_categories, draw_costs, draw_progress, draw_rates
from lmrbench.report.findings import Findings
from lmrbench.report.measures import _registered
from lmrbench.report.measures.rates import rate
from lmrbench.report.render.tables import sheet, show
from lmrbench.report.render.text import comma_separated, latex
from lmrbench.runs.folder import read_run
from lmrbench.tasks.model import Tier

EVIL = '<script src="http://evil.example/x.js">&amp;$x_1$ \\input{x} 100% #1\x1b[31m'


class Page(HTMLParser):
    """The tables of a page by the id of their section, the ids of all elements, and what it would load."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.ids, self.links, self.tags = {}, [], [], set()
        self.section, self.in_cell = "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        of = dict(attrs)
        self.ids += [of["id"]] if "id" in of else []
        self.links += [of[name] for name in ("href", "src", "xlink:href", "srcset", "data", "action") if name in of]
        if tag == "section":
            self.section = of["id"]
            self.tables[self.section] = []
        elif tag == "tr":
            self.tables[self.section].append([])
        elif tag in ("td", "th"):
            self.tables[self.section][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.in_cell = False

    def handle_data(self, data):
        if self.in_cell:
            self.tables[self.section][-1][-1] += data


@pytest.fixture(scope="module")
def five_systems(grade, usage, snapshot, write_run, tmp_path_factory):
    """A run of three systems that need no model, and of two traced models with prices, samples and trouble."""
    tasks = ["a/one", "a/two", "b/one", "c/one", "c/two", "d/one"]
    grades = [
        grade(system, task, passed(place))
        for system, passed in (("golden", lambda _: True), ("mask", lambda _: False), ("nearest", lambda x: x == 2))
        for place, task in enumerate(tasks)
    ]
    usages = []
    for system, step in (("org/model", 2), (EVIL, 3)):
        for place, task in enumerate(tasks):
            for sample in (0, 1):
                grades.append(
                    grade(system, task, (place + sample) % step == 0, sample, reason=f"{EVIL}\nsecond | line")
                )
                usages.append(usage(system, task, "answered", sample, dollars=0.1 * step))
        usages.append(usage(system, "d/one", "provider_error", 2))
    snapshots = [snapshot(turn, turn + 1, system="org/model") for turn in (1, 3)]
    snapshots += [snapshot(turn, turn, system=EVIL, price=None) for turn in (2, 4, 1)]
    return write_run(tmp_path_factory.mktemp("five_systems") / "run", grades, usages, snapshots=snapshots)


@pytest.fixture(scope="module")
def report(toy_suite):
    """Runs `lmrbench report`, and gives its exit code and what it printed."""

    def run(*arguments):
        result = CliRunner().invoke(app, ["report", "--full", *map(str, arguments), "--suite", str(toy_suite)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture(scope="module")
def files(five_systems, report, tmp_path_factory):
    """Page, CSV files and LaTeX of the five systems, and the tables that they show."""
    tmp_path = tmp_path_factory.mktemp("files")
    html, latex_file, folder = tmp_path / "new" / "report.html", tmp_path / "report.tex", tmp_path / "csv"
    result = report(five_systems, "--html", html, "--csv", folder, "--latex", latex_file)
    assert result.exit_code == 0, result.output
    assert f"{html}: written" in result.output
    return {
        "sheets": build(together([read_run(Path(five_systems))], None)).sheets,
        "page": html.read_text("utf-8"),
        "csv": {file.stem: list(csv.reader(io.StringIO(file.read_text("utf-8")))) for file in folder.iterdir()},
        "latex": latex_file.read_text("utf-8"),
    }


def test_the_page_holds_every_table_and_figure_and_needs_nothing_else(files):
    page = Page(files["page"])
    assert list(page.tables) == ["results-1", *(item.name for item in files["sheets"])]
    assert {"by-task", "intervals", "unanswered", "effort", "first-right", "comparisons"} <= page.tables.keys()
    assert files["page"].count("<svg") == 4
    assert files["page"].count('<p class="note">') == 4 + len(page.tables)
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert not page.tags & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"@import|url\((?!#)", files["page"])
    cells = {text for rows in page.tables.values() for row in rows for text in row}
    assert not {text for text in cells if re.search(r"\b(nan|inf|None)\b", text)}


def test_csv_files_hold_numbers_alone_in_columns_of_their_own(files):
    tables = {name: [dict(zip(rows[0], row, strict=True)) for row in rows[1:]] for name, rows in files["csv"].items()}
    assert all(len(set(rows[0])) == len(rows[0]) for rows in files["csv"].values())
    for item in files["sheets"]:
        of_text = set(item.columns) - item.numbers
        for row in tables[item.name]:
            for column, text in row.items():
                if column not in of_text and text:
                    assert math.isfinite(float(text)), (item.name, column, text)
    (whole,) = [row for row in tables["by-category"] if row["category"] == "all" and row["system"] == "org/model"]
    (rate,) = [row for row in tables["intervals"] if row["system"] == "org/model"]
    assert float(whole["correct"]) == float(rate["correct"]) <= 1
    assert float(whole["interval low"]) < float(whole["correct"]) < float(whole["interval high"])
    assert whole["passes"].isdigit()
    assert {"won", "lost", "interval low", "interval high", "p"} <= tables["comparisons"][0].keys()
    assert "," not in tables["effort"][0]["tokens in"]


def test_names_are_text_on_the_page_and_the_csv_files_have_the_same_rows(files):
    page = Page(files["page"])
    shown = EVIL.replace("\x1b", "\\x1b")
    assert any(row[1] == shown for row in page.tables["by-category"])
    assert {name: len(rows) for name, rows in page.tables.items() if name != "results-1"} == {
        name: len(rows) for name, rows in files["csv"].items()
    }
    assert "<svg" in files["page"]
    figures = "".join(re.findall(r"<svg.*?</svg>", files["page"], re.DOTALL))
    assert "&lt;script" in figures
    assert "org/model" in figures


def test_figures_bear_any_name(grade, recwarn):
    names = ["_hidden", "$x_", "模型", "w" * 90, "a\nb"]
    rates = {name: rate([grade(name, "a/one", True), grade(name, "b/one", False)]) for name in names}
    drawn = [
        draw_rates(rates),
        draw_categories({"only_one": rates, "another": {"$x_": rates["$x_"]}}, names),
        draw_costs({name: 0.01 * 20**place for place, name in enumerate(names)}, rates),
        draw_progress({name: [0.0, 0.5, 1.0] for name in names}, names),
        draw_costs({"模型": 0.0}, rates),
    ]
    for text in drawn:
        ElementTree.fromstring(text)
        assert "模型" in text
    for text in drawn[:4]:
        assert "_hidden" in text
        assert "$x_" in text
    assert not list(recwarn)


def test_latex_parses_back(files):
    tables = re.findall(r"\\label\{tab:([\w-]+)\}.*?\\toprule\n(.*?)\\bottomrule", files["latex"], re.DOTALL)
    found = {
        name: [
            [_untex(text) for text in re.split(r" (?<!\\)& ", line.removesuffix(r" \\"))]
            for line in body.splitlines()
            if line != r"\midrule"
        ]
        for name, body in tables
    }
    assert found == {
        name: [[text.replace("\n", " ") for text in row] for row in rows]
        for name, rows in Page(files["page"]).tables.items()
        if name != "results-1"
    }
    assert files["latex"].count(r"\begin{table}") == files["latex"].count(r"\end{table}") == len(tables)


def _untex(text):
    names = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">"}
    names |= {"textbar": "|", "ldots": "…"}
    one = re.compile(r"\\(\w+)\{\}|\\([&%$#_{}])|\{([][])\}")
    return one.sub(lambda m: names[m[1]] if m[1] else m[2] or m[3], text)


def test_a_table_in_each_form():
    table = sheet("50% of $", ["a_b", "n"], [['x\ny,"z"', 1], ["all", None]], numbers=["n"], totals=1, name="t")
    assert comma_separated(table) == 'a_b,n\n"x\ny,""z""",1\nall,\n'
    lines = latex(table).splitlines()
    assert r"\caption{50\% of \$}" in lines
    assert [*lines[lines.index(r"\toprule") :]][:6] == [
        r"\toprule", r"a\_b & n \\", r"\midrule", r'x y,"z" & 1 \\', r"\midrule", r"all &  \\",
    ]  # fmt: skip


def test_json_holds_the_numbers_of_each_table(five_systems, report):
    found = json.loads(report(five_systems, "--json").stdout)
    assert len(found["comparisons"]) == 10
    assert {item["test"] for item in found["comparisons"]} == {"McNemar", "sign-flip"}
    assert [item["k"] for item in found["attempts"]["org/model"]] == [1, 2]
    assert found["effort"]["org/model"]["dollars"] == pytest.approx(0.4)
    assert found["first_right"]["org/model"]["until"]["turns"] == 3
    assert found["curves"]["org/model"] == [0, 0.5, 0.5, 1]
    assert found["rates"]["all"]["org/model"]["papers"] == 4
    # Six tasks, three of ten of which differ, detect nothing.
    assert found["detectable_difference"] is None


def test_json_holds_what_each_measure_computed_and_no_key_twice(five_systems):
    findings = together([read_run(Path(five_systems))], None)
    numbers = build(findings).numbers
    for function in [function for items in _registered.values() for scope, function in items if scope == "tier"]:
        assert function(findings).numbers.items() <= numbers.items()


def test_the_new_tables_fit_a_terminal_of_80_columns(grade, usage, snapshot):
    names = ("openai/gpt-5", "anthropic/opus")
    tasks = [f"p{number}/x" for number in range(8)]
    grades = [
        grade(name, task, (len(name) * place) % 3 == 0, k)
        for name in names
        for k in (0, 1)
        for place, task in enumerate(tasks)
    ]
    usages = [usage(name, task, "answered", k, dollars=0.1) for name in names for k in (0, 1) for task in tasks]
    usages.append(usage(names[0], "p0/x", "provider_error", 2))
    snapshots = tuple(snapshot(turn, 4, system=name) for name in names for turn in (20, 40))
    out = io.StringIO()
    categories = dict.fromkeys(tasks, "all sorts")
    tiers: dict[str, Tier] = dict.fromkeys(tasks, "function")
    findings = Findings((), tuple(grades), tuple(usages), snapshots, (), (), categories, tiers, {}, {}, {}, {}, ())
    for item in build(findings).sheets:
        if item.name in ("intervals", "attempts", "effort", "first-right", "comparisons", "detectable"):
            show(item, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    heads = [line.split() for line in lines if line.split()[:1] in (["system"], ["first"], ["systems"])]
    assert len(heads) == 6
    assert all({"over", "k", "dollars", "turns", "difference"} & set(head) for head in heads)
    # No cell is folded: each name stands whole at the start of its line.
    assert sum(line.startswith(names) for line in lines) == 2 + 4 + 2 + 4 + 1 + 1
    assert any(line.endswith("p (Holm)") for line in lines)


def test_one_system_of_one_paper_has_no_comparison_and_no_interval_over_papers(grade, report, write_run, tmp_path):
    run = write_run(tmp_path / "run", [grade("me", "a/one", True), grade("me", "a/two", False)])
    html = tmp_path / "x.html"

    result = report(run, "--html", html)

    assert result.exit_code == 0
    assert "Paired comparisons" not in result.output
    (row,) = [line.split() for line in result.output.splitlines() if line.startswith("me ") and "not defined" in line]
    assert row == ["me", "2", "1", "50.0%", "9%", "to", "91%", "not", "defined", "50.0%"]
    assert "comparisons" not in Page(html.read_text("utf-8")).tables


def test_tables_have_robust_answers_beside_correct_ones(grade, report, write_run, tmp_path):
    edge = grade("me", "a/one", True).model_copy(update={"robust": False})
    run = write_run(tmp_path / "run", [edge, grade("me", "a/two", True)])

    tables = {}
    for part in report(run, "--markdown").output.split("**")[1:]:
        lines = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
        tables.update({row[0]: dict(zip(lines[0], row, strict=True)) for row in lines[2:]})

    assert (tables["all"]["correct"], tables["all"]["robust"]) == ("100.0%", "50.0%")
    assert (tables["me"]["correct"], tables["me"]["robust"]) == ("100.0%", "50.0%")


@pytest.mark.parametrize("passed", [True, False])
def test_all_passed_and_all_failed(grade, usage, report, write_run, tmp_path, passed, recwarn):
    tasks = [f"p{number}/x" for number in range(6)]
    grades = [grade(name, task, passed) for name in ("me", "you") for task in tasks]
    run = write_run(tmp_path / "run", grades, [usage("me", task, "answered", dollars=0.0) for task in tasks])

    result = report(run, "--html", tmp_path / "x.html", "--markdown")

    assert "| me | you | 6 | +0.0 | not defined | 0/0 | McNemar | 1.000 | 1.000 |" in result.output
    assert "| any two systems | 6 | 30.0% (assumed) | none |" in result.output
    assert ("| me | 6/6 | 0.0000 |" if passed else "| me | 0/6 | not defined | not defined |") in result.output
    assert not re.search(r"\bnan\b", result.output, re.IGNORECASE)
    assert not [item for item in recwarn if issubclass(item.category, RuntimeWarning)]


def test_no_task_in_common_and_a_model_without_any_answer(grade, usage, report, write_run, tmp_path):
    grades = [grade("me", "a/one", True), grade("you", "b/one", True)]
    run = write_run(tmp_path / "run", grades, [usage("silent", "a/one", "provider_error")])

    result = report(run, "--markdown", "--html", tmp_path / "x.html")

    assert "| me | you | 0 | not defined | not defined | 0/0 | McNemar | not defined | not defined |" in result.output
    assert "| me and you | 0 | 30.0% (assumed) | not defined |" in result.output
    assert (
        "| silent | 0 | 0 | not defined | not defined | not defined | not defined | 1 | 0.0% | 100.0% |"
        in result.output
    )


def test_a_run_without_grades_is_said_and_has_a_page_that_says_so(grade, report, tmp_path, toy_suite):
    facts = {"lmrbench": "0", "suite_digest": "", "tasks": [], "seeds": [1], "sandbox": "process", "environment": {}}
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "run.json").write_text(json.dumps(facts))
    html = tmp_path / "x.html"

    result = report(tmp_path / "empty", "--html", html)

    assert result.exit_code == 0
    assert "no grades yet" in result.output
    assert "Traceback" not in result.output
    assert "nothing to report" in html.read_text("utf-8")
