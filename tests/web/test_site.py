"""The site as people meet it: in a browser, from files and over HTTP, over runs that strangers wrote."""

import json
import os
import re
from contextlib import ExitStack
from typing import Any

import pytest
from tests import toy
from tests.http_server import serving_files
from tests.runs.examples import grade, usage, write
from tests.web.helpers import HOSTILE, serious
from typer.testing import CliRunner

from lmrbench import cli
from lmrbench.runs.records import RunFacts
from lmrbench.web.site import writing

TASKS = [f"paper{number}/a" for number in range(6)]
FACTS: dict[str, Any] = {
    "lmrbench": "0.1.0",
    "suite": "toys 1.0",
    "suite_digest": "d" * 64,
    "tasks": tuple(TASKS),
    "seeds": (1,),
    "sandbox": "bubblewrap",
    "environment": {"harness": "h", "python": "3.11.7"},
}


def make(folder, systems, tasks=TASKS, samples=1, dollars=None, **facts):
    """A run in which each system passes as many of the tasks as it is named with."""
    grades = [
        grade(system, task, sample, ("match",) if number < passes else ("mismatch",), log="the log", label="the label")
        for system, passes in systems.items()
        for number, task in enumerate(tasks)
        for sample in range(samples)
    ]
    write(folder / "grades.jsonl", *grades)
    if dollars is not None:
        paid = {"dollars": dollars, "status": "answered", "detail": "/home/somebody/secret"}
        write(
            folder / "usage.jsonl",
            *(usage(system=item.system, task=item.task, sample=item.sample, **paid) for item in grades),
        )
    (folder / "run.json").write_text(RunFacts.model_validate({**FACTS, **facts}).model_dump_json())
    return folder


def build(*runs, to, suite):
    result = CliRunner().invoke(cli.app, ["site", *map(str, runs), "--to", str(to), "--suite", str(suite)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return to


@pytest.fixture(scope="module")
def some(tmp_path_factory, toy_suite):
    """A site of three systems, of which one has several answers and costs, and of the toy task."""
    folder = tmp_path_factory.mktemp("some")
    runs = [
        make(folder / "priced", {"alpha": 4, "beta": 1}, samples=2, dollars=0.25),
        make(folder / "plain", {"gamma": 3}, [*TASKS, "toy/blend"]),
    ]
    return build(*runs, to=folder / "site", suite=toy_suite)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, toy_suite):
    """A site of a run of which a stranger chose every word."""
    folder = tmp_path_factory.mktemp("hostile") / "<img src=x onerror='window.hacked = 1'>"
    for number, text in enumerate(HOSTILE):
        said: dict[str, Any] = {
            "verdicts": ("mismatch",),
            "label": text,
            "log": text,
            "warnings": (text,),
            "category": text,
        }
        write(folder / "grades.jsonl", grade(text, "toy/blend", **said), grade("one", text, **said), grade("two", text))
        said = {"status": "answered", "dollars": 0.5, "detail": text, "limit": text, "cut": (text,)}
        write(folder / "usage.jsonl", usage(system=text, task="toy/blend", sample=0, **said))
        text = text * (200 if number == 0 else 1)
        write(folder / "grades.jsonl", grade(f"{text}{number}", f"{text}{number}", verdicts=("match",)))
    text = HOSTILE[0]
    facts: dict[str, Any] = {"lmrbench": text, "suite": text, "suite_digest": text, "sandbox": "bubblewrap"}
    facts |= {
        "environment": {"harness": text, text: text},
        "solving": {"model": text, "system": text, "mount": ["/home"]},
    }
    (folder / "run.json").write_text(RunFacts.model_validate({**FACTS, **facts}).model_dump_json())
    return build(folder, to=folder.parent / "site", suite=toy_suite)


@pytest.fixture
def serve():
    """Serve a folder over HTTP; gives the address."""
    with ExitStack() as servers:
        yield lambda folder: servers.enter_context(serving_files(folder))


@pytest.fixture(params=["file", "http"])
def address(request, serve):
    """The address of a site, from files or over HTTP."""
    return lambda site: site.as_uri() if request.param == "file" else serve(site)


@pytest.fixture
def page(browser):
    """A page that fails the test if a script fails, or if anything is asked of another host."""
    context = browser.new_context()
    page = context.new_page()
    seen = []
    page.on("pageerror", lambda error: seen.append(f"{error}"))
    page.on("console", lambda message: seen.append(message.text) if message.type in ("error", "warning") else None)
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    # An icon that is still being loaded when the page is left fails, too.
    page.on("requestfailed", lambda item: seen.append(item.url) if item.failure != "net::ERR_ABORTED" else None)
    ours = re.compile(r"file:///|http://127\.0\.0\.1:")
    page.on("request", lambda request: None if ours.match(request.url) else seen.append(request.url))
    yield page
    context.close()
    assert not seen


def html_of(site):
    return sorted(site.glob("*.html"))


def names(page, table):
    return page.locator(f"#{table} tbody tr:visible th").all_inner_texts()


def test_tables_are_sorted_and_filtered_by_mouse_and_by_keyboard(page, address, some):
    page.goto(f"{address(some)}/index.html")
    assert names(page, "leaderboard-1") == ["alpha", "gamma", "beta"]
    passed = page.get_by_role("columnheader", name="correct")
    assert passed.get_attribute("aria-sort") == "descending"
    passed.get_by_role("button").click()
    assert names(page, "leaderboard-1") == ["beta", "gamma", "alpha"]
    assert passed.get_attribute("aria-sort") == "ascending"

    page.get_by_role("columnheader", name="dollars").get_by_role("button").focus()
    page.keyboard.press("Enter")
    # What was not recorded stays last, in both directions.
    assert names(page, "leaderboard-1") == ["beta", "alpha", "gamma"]
    page.keyboard.press("Space")
    assert names(page, "leaderboard-1") == ["alpha", "beta", "gamma"]
    assert passed.get_attribute("aria-sort") is None

    page.get_by_role("searchbox").focus()
    page.keyboard.type("AMM")
    assert names(page, "leaderboard-1") == ["gamma"]
    assert "1 of 3 shown" in page.locator("main").inner_text()
    page.get_by_role("link", name="Tasks by systems").first.click()
    page.get_by_role("searchbox", name="tasks").fill("toy")
    assert names(page, "matrix") == ["toy/blend"]


def test_the_keyboard_leads_from_the_leaderboard_to_a_task(page, some):
    page.goto((some / "index.html").as_uri())
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    for text in ("alpha", "paper3/a"):
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.innerText") == text:
                break
        page.keyboard.press("Enter")
        page.wait_for_function("text => document.querySelector('h1').innerText === text", arg=text)
    assert page.locator("h1").inner_text() == "paper3/a"


def test_without_script_everything_is_there(browser, some):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((some / "index.html").as_uri())
    assert names(page, "leaderboard-1") == ["alpha", "gamma", "beta"]
    assert page.locator("button, input:visible").count() == 0
    context.close()


def test_what_strangers_wrote_is_shown_and_does_nothing(page, address, hostile):
    place = address(hostile)
    for file in html_of(hostile):
        page.goto(f"{place}/{file.name}")
        assert page.evaluate("window.hacked") is None, file
        assert (
            page.locator(
                "script:not([src='site.js']), img:not([src$='.svg']), style, [style], [onerror], [onload]"
            ).count()
            == 0
        ), file
        assert page.locator("a:not([href])").count() == 0
    page.goto(f"{place}/index.html")
    assert "window.hacked" in page.locator("main").inner_text()


def test_no_name_that_a_stranger_chose_becomes_a_path_and_none_is_endless(hostile):
    own = {"index.html", "grading.html", "data.json", "style.css", "site.css", "site.js", "icon.svg"}
    others = {item.name for item in hostile.iterdir()} - own - {writing.MARKER}
    assert len(others) > 10
    assert all(
        re.fullmatch(
            r"((board|system|task)-[0-9a-f]{12}\.html|board-[0-9a-f]{12}-(rates|costs|categories|months)\.svg)", name
        )
        for name in others
    )
    for file in html_of(hostile):
        text = file.read_text()
        # Shown by the template as an attribute or a text, cut.
        assert len(max(re.findall(r">([^<]*)<", text), key=len)) < 3000
        assert set(re.findall(r'(?:href|src)="([^"#]*)', text)) <= {item.name for item in hostile.iterdir()} | {
            "https://example.org/toy",
            "",
        }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_keeps_anybody_from_reading(browser, some, scheme):
    # The checker is a script of its own, which these pages would refuse.
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    found = {}
    for kind in ("index", "board", "system", "task", "grading"):
        for file in sorted(some.glob(f"{kind}*.html"))[:: 1 if kind == "task" else 3]:
            page.goto(file.as_uri())
            found[file.name] = serious(page)
    context.close()
    assert not any(found.values()), found


def test_no_page_is_wider_than_a_small_screen(page, some, hostile):
    page.set_viewport_size({"width": 360, "height": 700})
    for file in (*html_of(some), *html_of(hostile)):
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, file


def test_numbers_are_those_of_the_report_and_nothing_of_checks_or_machines_is_told(some):
    data = json.loads((some / "data.json").read_text())
    (board,) = data["boards"]
    rates = {item["system"]: item["rate"] for item in board["standings"]}
    assert (rates["alpha"]["passes"], rates["alpha"]["answers"], rates["gamma"]["tasks"]) == (8, 12, 7)
    # One system has two answers per task, the others one.
    assert [item["k"] for item in board["standings"][0]["attempts"]] == [1, 2]
    assert board["k"] == 1
    assert {(item["first"], item["second"]) for item in board["comparisons"]} == {
        ("alpha", "gamma"),
        ("alpha", "beta"),
        ("gamma", "beta"),
    }
    text = (some / "index.html").read_text()
    assert "pass^" not in text.partition("</table>")[0]
    # No run records settings, and one records its costs.
    headings = re.findall(r"<th scope=\"col\"[^>]*>(?:<button[^>]*>)?([^<]*)", text)
    assert "dollars" in headings
    assert "protocol" not in headings
    # Four of six tasks pass, so that a passing answer took half as much again as an answer.
    assert "$0.3750" in text
    for file in some.iterdir():
        written = file.read_bytes()
        for told in (b"a match", b"the log", b"the label", b"/home/", str(some.parent).encode(), b"weights(count)"):
            assert told not in written, (file, told)


def test_a_leaderboard_shows_robust_answers_beside_correct_ones(tmp_path, toy_suite):
    run = make(tmp_path / "run", {"one": 4}, TASKS[:4])
    first = grade("one", TASKS[0], verdicts=("match", "mismatch"), edge=(1,))
    write(run / "grades.jsonl", first)
    site = build(run, to=tmp_path / "site", suite=toy_suite)

    ((standing,),) = [board["standings"] for board in json.loads((site / "data.json").read_text())["boards"]]
    assert (standing["rate"]["correct"], standing["rate"]["robust"]) == (1.0, 0.75)
    (row,) = re.findall(r"<tr data-graded.*?</tr>", (site / "index.html").read_text(), re.DOTALL)
    assert re.findall(r"\d+\.\d%", re.sub(r"<[^>]*>", " ", row))[:2] == ["100.0%", "75.0%"]
    (page,) = site.glob("system*.html")
    assert "4 of 4, 100.0% over tasks; robust: 75.0%" in page.read_text()


def test_a_leaderboard_names_setting_inputs_and_date_and_no_settings_of_the_other_setting(tmp_path, toy_suite):
    solving = {"model": "org/one", "setting": "prompt", "inputs": "paper", "turns": 50, "agent": "react", "repairs": 1}
    run = make(tmp_path / "run", {"one": 2}, solving=solving)
    os.utime(run / "grades.jsonl", (86400 * 365, 86400 * 365))
    site = build(run, to=tmp_path / "site", suite=toy_suite)
    text = (site / "index.html").read_text()
    assert "<td>prompt</td><td>lmrbench</td><td>paper</td>" in text
    assert ">1971-01-01</td>" in text
    (run,) = json.loads((site / "data.json").read_text())["runs"]
    assert run["settings"] == {"model": "org/one", "setting": "prompt", "inputs": "paper", "repairs": 1}


def test_a_leaderboard_has_horizons_one_k_and_an_interval_in_every_row(tmp_path, toy_suite):
    run = make(tmp_path / "run", {"one": 4, "two": 2}, TASKS[:4], samples=2)
    forensic = make(tmp_path / "forensic", {"three": 2}, [f"toy/forensic_{count}_0" for count in (1, 2, 4, 8)])
    site = build(run, forensic, to=tmp_path / "site", suite=toy_suite)

    rows = {
        name: " ".join(re.sub(r"<[^>]*>", " ", row).split())
        for row in re.findall(r"<tr data-graded.*?</tr>", (site / "index.html").read_text(), re.DOTALL)
        for name in ("one", "two", "three")
        if f">{name}<" in row
    }
    # All of the first system's tasks pass, so its interval is over tasks; both systems have two answers to each task.
    assert rows["one"].startswith("one 4 of 4 100.0% 51% to 100% (tasks) 100.0% 100.0% ")
    assert "(tasks)" not in rows["two"]
    boards = {board["tier"]: board for board in json.loads((site / "data.json").read_text())["boards"]}
    assert (boards["function"]["k"], boards["forensic"]["k"]) == (2, 1)
    (standing,) = boards["forensic"]["standings"]
    assert f" {standing['horizon']['k50']:.1f} {standing['horizon']['low']:.1f} to " in rows["three"]


def test_systems_with_other_numbers_of_answers_are_compared_at_a_k_that_all_have(tmp_path, toy_suite):
    runs = [make(tmp_path / f"run{n}", {f"system {n}": 2}, TASKS[:4], samples=n) for n in (3, 5)]
    site = build(*runs, to=tmp_path / "site", suite=toy_suite)
    (board,) = json.loads((site / "data.json").read_text())["boards"]
    ks = {item["system"]: [of_k["k"] for of_k in item["attempts"]] for item in board["standings"]}

    assert ks == {"system 3": [1, 2, 3], "system 5": [1, 2, 5]}
    assert board["k"] == 2
    assert "pass^2" in (site / "index.html").read_text()


def contents(folder):
    return {item.name: item.read_bytes() for item in folder.iterdir()}


def test_a_leaderboard_draws_rates_over_the_months_of_dated_tasks(tmp_path):
    suite = toy.copy_to(tmp_path / "suite")
    for slug, day in {"old": "2019-12-24", "new": "2020-02"}.items():
        table = toy.add_paper(suite, slug) / "task.toml"
        table.write_text(table.read_text().replace("\n\n[[task]]", f'\npublished = "{day}"\n\n[[task]]', 1))
    run = make(tmp_path / "run", {"alpha": 1, "beta": 2}, ["old/blend", "new/blend", "toy/blend"])

    site = build(run, to=tmp_path / "site", suite=suite)

    (board,) = json.loads((site / "data.json").read_text())["boards"]
    months = {
        item["system"]: {month: rate["correct"] for month, rate in item["months"].items()}
        for item in board["standings"]
    }
    assert months == {"alpha": {"2019-12": 1, "2020-02": 0}, "beta": {"2019-12": 1, "2020-02": 1}}
    (figure,) = site.glob("board-*-months.svg")
    # Each month is labelled with its number of papers.
    assert "2019-12 (1)" in figure.read_text()
    assert figure.name in (site / board["page"]).read_text()


def test_the_same_runs_give_the_same_bytes_and_only_a_site_is_replaced(tmp_path, toy_suite):
    run = make(tmp_path / "run", {"one": 2}, dollars=0.1)
    site = build(run, to=tmp_path / "site", suite=toy_suite)
    before = contents(site)
    assert contents(build(run, to=tmp_path / "other", suite=toy_suite)) == before
    make(tmp_path / "more", {"two": 1})
    assert contents(build(run, tmp_path / "more", to=site, suite=toy_suite)).keys() > before.keys()

    for name, message in (("site/CNAME", "CNAME is not a file of the site"), ("mine/a.txt", "not a site of lmrbench")):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text("mine")
        arguments = ["site", str(run), "--to", str(place.parent), "--suite", str(toy_suite)]
        error = CliRunner().invoke(cli.app, arguments).exception
        assert message in str(error)
        assert place.read_text() == "mine"


def test_a_call_that_is_interrupted_leaves_the_old_site(tmp_path, toy_suite, monkeypatch):
    run = make(tmp_path / "run", {"one": 2})
    site = build(run, to=tmp_path / "site", suite=toy_suite)
    before = contents(site)
    rename, calls = writing.os.rename, []

    def interrupted(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(writing.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        writing.write_site(site, {"index.html": b"new"})
    assert contents(site) == before
    assert {item.name for item in tmp_path.iterdir()} == {"run", "site"}


def test_other_versions_and_graders_stand_on_boards_apart(tmp_path, toy_suite):
    runs = [
        make(tmp_path / "a", {"one": 2}),
        make(tmp_path / "b", {"one": 3}, suite_digest="e" * 64),
        make(tmp_path / "c", {"one": 4}, environment={"harness": "another"}),
    ]
    data = json.loads((build(*runs, to=tmp_path / "site", suite=toy_suite) / "data.json").read_text())
    assert [[item["system"] for item in board["standings"]] for board in data["boards"]] == [
        ["one (a)"],
        ["one (b)"],
        ["one (c)"],
    ]
    assert len({board["title"] for board in data["boards"]}) == 3


def test_a_run_without_grades_and_one_of_one_task_are_shown(tmp_path, toy_suite):
    empty = make(tmp_path / "empty", {})
    site = build(empty, to=tmp_path / "site", suite=toy_suite)
    assert "Nothing has been graded yet." in (site / "index.html").read_text()
    one = make(tmp_path / "one", {"me": 1}, ["toy/blend"])
    (page,) = build(empty, one, to=site, suite=toy_suite).glob("task-*.html")
    assert "Implement <code>Blender.blend</code>" in page.read_text()


def test_ten_thousand_grades_can_be_read_sorted_and_filtered(page, tmp_path, toy_suite):
    tasks = [f"paper{number // 4}/task_{number}" for number in range(100)]
    run = make(tmp_path / "run", {f"system {number}": 5 * number for number in range(20)}, tasks, samples=5)
    site = build(run, to=tmp_path / "site", suite=toy_suite)
    assert sum(item.stat().st_size for item in site.iterdir()) < 20e6
    (board,) = site.glob("board-*.html")
    page.goto(board.as_uri())
    assert page.locator("#matrix td").count() == 2000
    page.get_by_role("columnheader", name="system 10", exact=True).get_by_role("button").click()
    page.get_by_role("searchbox", name="tasks").fill("task_4")
    assert names(page, "matrix")[:3] == ["paper1/task_4", "paper10/task_40", "paper10/task_41"]


def test_more_than_a_site_shows_is_refused(tmp_path, toy_suite, monkeypatch):
    monkeypatch.setattr("lmrbench.web.site.data.MOST_CELLS", 5)
    run = make(tmp_path / "run", {"one": 2})
    arguments = ["site", str(run), "--to", str(tmp_path / "site"), "--suite", str(toy_suite)]
    assert "more than the 5 cells" in str(CliRunner().invoke(cli.app, arguments).exception)
    assert not (tmp_path / "site").exists()
