"""The viewer in a browser, by keyboard and mouse, with runs from untrusted sources."""

import re
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from tests.running import lmrbench
from tests.runs.examples import grade, usage, write
from tests.solving.helpers import mock
from tests.web.helpers import HOSTILE, answers, serious

from lmrbench.runs.records import Judgement, Label
from lmrbench.tasks.submission import Submission


def test_the_first_failed_case_is_two_clicks_from_the_overview(page, serve, tmp_path):
    answers(tmp_path / "run")
    page.goto(serve(tmp_path / "run"))
    page.get_by_role("link", name="run").last.click()
    page.get_by_role("link", name="✗").click()

    failure = page.locator("#first-failure")
    assert failure.inner_text().split("\t")[:4] == ["case 1", "ordinary", "mismatch", 'is not "a match"']
    assert "def blend" in page.locator("table.beside").first.inner_text()
    page.get_by_text("All changes in").click()
    assert "def helper" in page.locator("details table.beside").inner_text()


def test_a_robust_answer_is_told_from_one_that_is_only_correct(serve, tmp_path):
    edge = grade(system="edge", verdicts=("match", "mismatch"), edge=(1,))
    whole = grade(system="whole", verdicts=("match", "match"), edge=(1,))
    write(tmp_path / "run" / "grades.jsonl", edge, whole, grade(system="wrong"))
    address = serve(tmp_path / "run")

    def text(place):
        with urllib.request.urlopen(address + place) as response:
            found = re.sub(r"<style.*?</style>|<[^>]*>", " ", response.read().decode(), flags=re.DOTALL)
        return " ".join(found.split())

    assert "answers correct robust tasks" in text("/")
    assert "3 2 1 1 edge, whole, wrong" in text("/")
    run = text("/run/0")
    assert "1 task 1/1 0 robust 1/1 0/1 toy/blend ✓ edge ✗ ✓ ✗" in run
    assert "status any robust correct wrong unanswered" in run
    assert "1 task" in text("/run/0?status=correct")
    assert "No task matches" in text("/run/0?status=unanswered")
    answer = text("/run/0/answer?system=edge&task=toy/blend&sample=0")
    assert "✓ edge ✗ correct, not robust 1 of 2 cases match" in answer
    assert "case 1 edge mismatch" in answer
    assert "✓ correct and robust 2 of 2" in text("/run/0/answer?system=whole&task=toy/blend&sample=0")
    assert "✗ not correct 1 of 2" in text("/run/0/answer?system=wrong&task=toy/blend&sample=0")


def test_the_keyboard_is_enough(page, serve, tmp_path):
    answers(tmp_path / "run")
    page.goto(serve(tmp_path / "run"))
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href')") == "/run/0":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/run/0")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")


@pytest.mark.parametrize("width", [390, 1280])
def test_code_can_be_read_on_a_narrow_screen_and_on_a_wide_one(page, serve, tmp_path, width):
    line = f"= {'values[0] + ' * 12}0\n"
    code = "def blend(self, values):\n" + "".join(f"    name_{number} {line}" for number in range(300))
    answers(tmp_path / "run", code=code)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{serve(tmp_path / 'run')}/run/0")
    page.get_by_role("link", name="✗").click()
    table = page.locator("table.beside").first
    sizes = table.evaluate(
        """table => [...table.querySelectorAll("tbody tr")].map(row =>
            [...row.cells].map(cell => [cell.clientWidth, cell.scrollWidth, cell.classList.contains("line")]))"""
    )
    for row in sizes:
        for shown, needed, is_number in row:
            assert needed <= shown
            assert is_number or shown >= 30
    numbers = table.locator("td.line").last
    assert numbers.evaluate("cell => getComputedStyle(cell).whiteSpace") == "nowrap"
    assert min(row[1][0] for row in sizes) >= 250
    region = page.locator(".wide", has=table).first
    fits = region.evaluate("region => region.scrollWidth <= region.clientWidth")
    assert fits == (width == 1280)
    (case, verdict) = page.locator("table.cases tbody tr").first.locator("th, td").all()[:2]
    assert case.bounding_box()["width"] >= 100
    assert verdict.bounding_box()["width"] >= 60


def test_the_reference_is_shown_only_where_that_is_asked_for(page, serve, tmp_path):
    answers(tmp_path / "run")
    place = "/run/0/answer?system=one&task=toy/blend&sample=0"
    page.goto(serve(tmp_path / "run") + place)
    assert page.locator("table.beside").first.inner_text().startswith("masked")
    masked = page.content()
    page.goto(serve(tmp_path / "run", options=["--show-reference"]) + place)
    assert page.locator("table.beside").first.inner_text().startswith("reference")
    assert "weights" in page.content()
    assert page.content() != masked


def test_labels_of_files_that_are_named_stand_on_the_page_of_their_answer(page, serve, tmp_path):
    answers(tmp_path / "run", count=2)
    key: dict[str, Any] = {"system": "one", "task": "toy/blend", "annotator": "ann", "category": "LI"}
    write(tmp_path / "labels.jsonl", *(Label(**key, sample=sample, reason=f"said of {sample}") for sample in range(2)))
    address = serve(tmp_path / "run", options=["--labels", tmp_path / "labels.jsonl"])
    page.goto(f"{address}/run/0/answer?system=one&task=toy/blend&sample=1")
    assert "ann: LI. said of 1" in page.locator("main").inner_text()
    assert "said of 0" not in page.locator("main").inner_text()


def test_the_transcript_of_an_answer_opens_in_inspects_viewer(new_page, serve, tmp_path):
    page = new_page(expected=["status of 500"])
    answers(tmp_path / "run", count=2)
    write(tmp_path / "run" / "usage.jsonl", *(usage(sample=sample, status="answered") for sample in range(3)))
    dataset = [Sample(id="toy/blend", input="Implement blend.")]
    logs = str(tmp_path / "run" / "logs")
    # Runs in a thread, because the browser's event loop is in this one.
    with ThreadPoolExecutor(1) as thread:
        options = {"model": mock(["said 0", "said 1"]), "log_dir": logs, "display": "none", "max_samples": 1}
        thread.submit(eval, Task(dataset=dataset, epochs=2), **options).result()
    address = serve(tmp_path / "run")

    page.goto(f"{address}/run/0/answer?system=one&task=toy/blend&sample=1")
    page.get_by_role("link", name="in Inspect's viewer").click()
    page.get_by_text("said 1").first.wait_for()
    assert page.get_by_text("said 0").count() == 0
    page.goto(f"{address}/run/0/answer?system=one&task=toy/blend&sample=2")
    missing = page.evaluate("fetch('/run/0/transcript?system=one&task=toy/blend&sample=2').then(it => it.text())")
    assert "no log contains a transcript of this answer" in missing


def test_filters_and_pages_find_every_answer(page, serve, tmp_path):
    for number in range(20):
        verdicts = ("match",) if number % 2 else ("mismatch",)
        write(
            tmp_path / "run" / "grades.jsonl",
            *(grade(system=f"system {number}", task=f"paper{task}/a", verdicts=verdicts) for task in range(60)),
        )
    write(tmp_path / "run" / "usage.jsonl", usage(system="system 1", task="unheard/of"))
    page.goto(serve(tmp_path / "run") + "/run/0")
    assert page.locator("table.matrix thead th").count() == 1 + 8
    page.get_by_role("link", name="next").first.click()
    assert "Systems 9 to 16 of 20" in page.locator("main").inner_text()
    page.get_by_label("status").select_option("unanswered")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**status=unanswered**")
    assert page.locator("table.matrix tbody th").all_inner_texts() == ["1 task", "unheard/of"]
    page.get_by_label("status").select_option("")
    page.get_by_role("textbox", name="task").fill("PAPER59")
    page.keyboard.press("Enter")
    page.wait_for_url("**find=PAPER59")
    assert page.locator("table.matrix tbody th").all_inner_texts() == ["1 task", "paper59/a"]


def test_two_answers_stand_side_by_side(page, serve, tmp_path):
    answers(tmp_path / "run", count=2)
    page.goto(serve(tmp_path / "run") + "/run/0/answer?system=one&task=toy/blend&sample=0")
    page.get_by_text("Comparison with another answer").click()
    page.get_by_role("link", name="one, sample 1").click()
    assert page.locator("h1").inner_text() == "Two answers to toy/blend"
    assert page.locator("tr.same").count() > 0
    assert page.locator("tr.changed").count() == 0


def test_a_run_that_goes_on_is_followed(page, serve, tmp_path):
    answers(tmp_path / "run")
    page.goto(serve(tmp_path / "run") + "/run/0")
    write(tmp_path / "run" / "grades.jsonl", grade(system="latecomer"))
    page.get_by_role("columnheader", name="latecomer").wait_for(timeout=20_000)


def test_what_strangers_wrote_is_shown_and_does_nothing(page, serve, tmp_path):
    run = tmp_path / "run"
    for sample, text in enumerate(HOSTILE):
        cases = ("mismatch",)
        write(run / "grades.jsonl", grade(text, sample=sample, verdicts=cases, label=text, log=text, warnings=(text,)))
        write(run / "grades.jsonl", grade("one", task=text, verdicts=cases, category=text))
        write(run / "submissions.jsonl", Submission(system=text, task="toy/blend", sample=sample, code=text))
        vote = {"judge": text, "vote": 0, "order": "reference first", "prompt_version": 1, "evidence": False}
        vote |= {"comments_stripped": False, "digest": "d", "status": "judged", "category": "LI", "detail": text}
        vote |= {"error_class": None, "logic": (text,), "implementation": (text,), "attempts": 1, "dollars": None}
        key = {"system": text, "task": "toy/blend", "sample": sample}
        write(
            run / "judgements.jsonl", Judgement.model_validate({**key, **vote, "input_tokens": 0, "output_tokens": 0})
        )
        said = {"annotator": text, "category": "LI", "error_class": None, "reason": text}
        write(run / "labels.jsonl", Label.model_validate({**key, **said}))
        write(run / "usage.jsonl", usage(**key, dollars=0.5, status="answered", detail=text, limit=text, cut=(text,)))
    address = serve(run)
    page.goto(f"{address}/run/0")
    addresses = {link.get_attribute("href") for link in page.locator("main a").all()}
    assert len(addresses) > 3 * len(HOSTILE)
    for place in ("/", *sorted(item for item in addresses if item.startswith("/run/"))):
        page.goto(address + place)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img, main svg").count() == 0
        if "answer" in place:
            assert "window.hacked" in page.locator("main").inner_text()
        if "task=toy" in place:
            assert page.get_by_role("heading", name="Labels").count() == 1
            assert "$0.5000" in page.locator("dl.facts").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_keeps_anybody_from_reading(browser, serve, tmp_path, scheme):
    answers(tmp_path / "run", count=2)
    answers(tmp_path / "run", system="two")
    address = serve(tmp_path / "run")
    # The content security policy would block the checker's script.
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    pair = "left_system=one&left_sample=0&right_system=two&right_sample=0"
    found = {}
    for place in ("/", "/run/0", "/run/9", "/suite", "/task?task=toy/blend", f"/run/0/compare?task=toy/blend&{pair}"):
        page.goto(address + place)
        found[place] = serious(page)
    page.goto(f"{address}/run/0/answer?system=one&task=toy/blend&sample=0")
    page.get_by_text("All changes in").click()
    found["answer"] = serious(page)
    context.close()
    assert not any(found.values()), found


@pytest.mark.parametrize(
    "place",
    [
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/run/7",
        "/run/0/answer?system=../../x&task=../../etc&sample=0",
        "/run/0/answer?system=one&task=toy/blend&sample=-1",
        f"/run/0/answer?system=one&task=toy/blend&sample={'9' * 5000}",
        "/task?task=../../toy",
        "/nowhere",
    ],
)
def test_an_address_of_nothing_is_not_found(serve, tmp_path, place):
    answers(tmp_path / "run")
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(serve(tmp_path / "run") + place)
    assert error.value.code == 404
    assert b"Not found" in error.value.read()


def test_another_name_for_this_machine_is_refused(serve, tmp_path):
    answers(tmp_path / "run")
    request = urllib.request.Request(serve(tmp_path / "run"), headers={"Host": "elsewhere.example"})
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    assert error.value.code == 400


def test_a_run_that_is_not_there_and_a_port_in_use_are_named(toy_suite, tmp_path):
    def view(*arguments):
        return lmrbench("view", *arguments, "--suite", toy_suite)

    missing = view(tmp_path / "nowhere")
    assert (missing.returncode, missing.stderr) == (
        2,
        f"lmrbench: {tmp_path / 'nowhere'}: there is no such run folder\n",
    )
    (tmp_path / "run").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = view(tmp_path / "run", "--port", taken.getsockname()[1])
    assert used.returncode == 2
    assert "Address already in use; choose another port with --port" in used.stderr


def test_an_empty_run_says_so(page, serve, tmp_path):
    (tmp_path / "run").mkdir()
    address = serve(tmp_path / "run")
    page.goto(f"{address}/run/0")
    assert "Nothing has been graded yet." in page.locator("main").inner_text()


def test_a_task_shows_its_certificate_drawn(page, serve, tmp_path):
    (tmp_path / "run").mkdir()
    page.goto(serve(tmp_path / "run", options=["--suite", "core"]) + "/task?task=dpo/preference_loss")
    shown = page.locator("#certificate")
    assert "Expression mutants:" in shown.inner_text()
    assert "Behavioural mutants:" in shown.inner_text()
    assert shown.locator("meter").count() > 5
    assert page.locator("#summary math").count() > 20
