"""Annotation in a browser: two people at once, by keyboard, with hostile code, on a server that may be killed."""

import json
import re
import signal
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect
from tests.running import lmrbench
from tests.web.helpers import FAILS, HOSTILE, answers, serious, serving

from lmrbench.judging.labels import read_labels
from lmrbench.web.annotation.app import MAX_BODY, MAX_REASON

SYSTEM = "secret-system"
KNOWN = {"task": "toy/blend", "code": FAILS, "category": "LI", "error_class": "policy", "reason": "It is a stub."}


class Server:
    """An annotation server that can be killed and restarted with the same command."""

    def __init__(self, stack, suite, folder, people, *options, port=0):
        self.folder = folder / "to"
        self._stack = stack
        self._command = ["annotate", folder / "run", "--suite", suite, "--to", self.folder, *options]
        for name in people:
            self._command += ["--annotator", name]
        self._lines = 2 + len(people) + 1
        self.start(port)

    def start(self, port):
        self.process, lines = self._stack.enter_context(serving(*self._command, "--port", port, lines=self._lines))
        self.address = lines[0].split()[0].rstrip(":")
        self.links = dict(line.rsplit(": ", 1) for line in lines[2:])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(120)

    def again(self):
        self.start(int(self.address.rpartition(":")[2]))

    def labels(self):
        file = self.folder / "labels.jsonl"
        # `read_labels` rejects a file without labels.
        return read_labels([file]) if file.read_bytes() else []


@pytest.fixture(scope="module")
def shared(tmp_path_factory, toy_suite):
    """Serve one annotation for several tests, each with its own annotators."""
    folder = tmp_path_factory.mktemp("shared")
    answers(folder / "run", count=2, system=SYSTEM)
    answers(folder / "run", system=HOSTILE[0], code="".join(f"# {text}\n" for text in HOSTILE) + FAILS)
    (folder / "known.jsonl").write_text(json.dumps(KNOWN | {"reason": " ".join(HOSTILE)}) + "\n")
    people = ("keys", "plain", "blind", "form", "clock", HOSTILE[1], "one side", "other side")
    options = ("--overlap", len(people), "--calibration", folder / "known.jsonl")
    with ExitStack() as stack:
        yield Server(stack, toy_suite, folder, people, *options)


def enter(page, server, name):
    page.goto(server.links[name])
    page.wait_for_url(f"{server.address}/")


def press(page, *keys):
    """Press keys and wait for the page that the last one leads to."""
    for key in keys[:-1]:
        page.keyboard.press(key)
    with page.expect_navigation():
        page.keyboard.press(keys[-1])


def follow(page, link):
    """Click an element that leads to another page, and wait until the page's script is loaded."""
    with page.expect_navigation():
        link.click()


def explained(page, category, reason):
    """Label an item by keyboard, with a reason."""
    page.keyboard.press(category)
    page.keyboard.press("r")
    page.keyboard.type(reason)
    press(page, "Control+Enter")


def calibrated(page):
    """Label the calibration item and continue."""
    press(page, "3", "Enter")
    press(page, "Enter")


def test_two_label_ten_items_each_by_keyboard_while_the_server_is_killed(tmp_path, toy_suite, new_page):
    for system in (SYSTEM, "other"):
        answers(tmp_path / "run", count=5, system=system)
    with ExitStack() as stack:
        server = Server(stack, toy_suite, tmp_path, ("ann", "bob"), "--overlap", 2, "--seed", 3)
        pages = {name: new_page(expected=("ERR_CONNECTION_REFUSED", "ERR_FAILED")) for name in ("ann", "bob")}
        for name, page in pages.items():
            enter(page, server, name)
        for number in range(10):
            for name, page in pages.items():
                expect(page.locator("nav")).to_contain_text(f"Item {number + 1} of 10")
                if number == 4 and name == "bob":
                    # Bob is entering a label; ann's last label was just confirmed.
                    page.keyboard.press("1")
                    page.keyboard.press("r")
                    page.keyboard.type("typed before")
                    server.kill()
                    page.keyboard.press("Control+Enter")
                    expect(page.locator("#problem")).to_contain_text("does not answer")
                    server.again()
                    press(page, "Control+Enter")
                elif number == 7 and name == "ann":
                    # The label is saved, and the server dies before it responds.
                    page.route("**/save", lambda route: (route.fetch(max_redirects=0), server.kill(), route.abort()))
                    page.keyboard.press("3")
                    page.keyboard.press("Enter")
                    expect(page.locator("#problem")).to_contain_text("does not answer")
                    page.unroute("**/save")
                    server.again()
                    press(page, "Enter")
                else:
                    explained(page, "1", f"reason {number}") if name == "bob" else press(page, "3", "Enter")
        for page in pages.values():
            expect(page.locator("h1")).to_contain_text("All your items are labelled")
        labels = server.labels()
    assert len(labels) == 20
    assert {name: len({each.answer for each in labels if each.annotator == name}) for name in pages} == {
        "ann": 10,
        "bob": 10,
    }
    assert {(each.annotator, each.category) for each in labels} == {("ann", "CC"), ("bob", "LI")}
    reasons = sorted(each.reason for each in labels if each.annotator == "bob")
    assert reasons == sorted(["typed before", *(f"reason {number}" for number in range(10) if number != 4)])
    assert all(each.seconds is not None for each in labels)


def test_keys_choose_label_skip_and_undo_and_leave_text_alone(shared, new_page):
    page = new_page()
    enter(page, shared, "keys")
    calibrated(page)
    first = page.locator("input[name=item]").input_value()
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    expect(page.locator("[name=category]:checked")).to_have_count(0)
    # A reason is required; in the text field, keys type letters.
    page.keyboard.press("2")
    page.keyboard.press("c")
    page.keyboard.press("Enter")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("1su? is wrong")
    expect(page.locator("[name=category]:checked")).to_have_value("LC")
    page.keyboard.press("Escape")
    press(page, "s")
    second = page.locator("input[name=item]").input_value()
    assert second != first
    press(page, "u")
    expect(page.locator("input[name=item]")).to_have_value(first)
    expect(page.locator("#reason")).to_have_value("1su? is wrong")
    expect(page.locator("[name=error_class]:checked")).to_have_value("code robustness")
    press(page, "Enter")
    expect(page.locator("input[name=item]")).not_to_have_value(first)
    press(page, "u")
    press(page, "3", "Enter")
    (label,) = [each for each in shared.labels() if each.annotator == "keys"]
    assert (label.category, label.error_class) == ("CC", None)


def test_forms_do_it_all_without_a_script(shared, new_page):
    page = new_page(expected=("status of 422",), java_script_enabled=False)
    enter(page, shared, "plain")
    page.get_by_label("LI the logic is incorrect").check()
    follow(page, page.get_by_role("button", name="Save"))
    # The reason is missing.
    expect(page.get_by_role("alert").first).to_contain_text("reason: missing; LI needs a reason")
    expect(page.get_by_label("LI the logic is incorrect")).to_be_checked()
    page.get_by_label("policy").check()
    page.get_by_label("Reason").fill("It is a stub.")
    follow(page, page.get_by_role("button", name="Save"))
    expect(page.locator("h1").first).to_contain_text("Your label matches the known category")
    follow(page, page.get_by_role("link", name="Continue"))
    first = page.locator("input[name=item]").input_value()
    follow(page, page.get_by_role("button", name="Skip"))
    follow(page, page.get_by_role("button", name="Undo"))
    expect(page.locator("input[name=item]")).to_have_value(first)
    page.get_by_label("CC completely correct").check()
    follow(page, page.get_by_role("button", name="Save"))
    (label,) = [each for each in shared.labels() if each.annotator == "plain"]
    assert (label.category, label.seconds) == ("CC", None)


def test_nothing_that_an_annotator_gets_says_whose_answer_it_is(shared, new_page):
    page = new_page()
    got = []
    page.on("response", lambda response: got.append((response.url, response.all_headers())))
    texts = []
    enter(page, shared, "blind")
    assert "/enter/" not in page.url
    calibrated(page)
    while page.locator("input[name=item]").count():
        texts.append(page.content())
        press(page, "3", "Enter")
    texts += [page.content(), str(got), str(page.context.cookies())]
    assert len(texts) == 3 + 3
    for text in texts:
        for word in (SYSTEM, "sample", "case 1", "a match", "✗", "failed"):
            assert word not in text, word
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


def test_a_link_in_a_mail_leads_in_though_the_cookie_is_strict(shared, new_page):
    page = new_page()
    page.goto("about:blank")
    page.set_content(f"<a href='{shared.links['blind']}'>label</a>")
    page.get_by_text("label").click()
    page.wait_for_url(f"{shared.address}/")
    expect(page.locator("nav")).to_contain_text("blind")


def test_the_timer_counts_activity_alone(shared, new_page):
    page = new_page()
    page.clock.install()
    enter(page, shared, "clock")
    timer = page.locator("#timer")
    page.clock.run_for(30_000)
    expect(timer).to_have_text(re.compile("^0:[345]"))
    page.clock.run_for(600_000)
    expect(timer).to_have_text("1:00, paused")
    page.mouse.move(100, 100)
    page.clock.run_for(5_000)
    expect(timer).to_have_text(re.compile(r"^1:\d\d$"))
    before = time.time()
    calibrated(page)
    page.clock.run_for(50_000)
    press(page, "3", "Enter")
    (label,) = [each for each in shared.labels() if each.annotator == "clock"]
    # The page reports more seconds, but the server limits them to the time since the item was shown.
    assert 0 < label.seconds <= time.time() - before


def test_what_strangers_wrote_is_shown_and_does_nothing(tmp_path, toy_suite, new_page):
    said = " ".join(HOSTILE)
    for text in HOSTILE:
        answers(tmp_path / "run", system=text, code=FAILS.replace("    return", f"    # {text}\n    return"))
    (tmp_path / "known.jsonl").write_text(json.dumps(KNOWN | {"reason": said, "code": said}) + "\n")
    people = (HOSTILE[1], HOSTILE[0])
    with ExitStack() as stack:
        options = ("--overlap", 2, "--calibration", tmp_path / "known.jsonl")
        server = Server(stack, toy_suite, tmp_path, people, *options)

        def inert(page):
            assert "window.hacked" in page.locator("main").inner_text()
            assert page.evaluate("window.hacked") is None
            assert page.locator("main script, main img, main svg").count() == 0

        for name, category in zip(people, "13", strict=True):
            page = new_page()
            enter(page, server, name)
            while page.locator("input[name=item]").count():
                inert(page)
                page.locator("#reason").fill(said)
                page.locator("#reason").blur()
                press(page, category, "Enter")
                if page.locator("#next").count():
                    inert(page)
                    press(page, "Enter")
        page = new_page(expected=("status of 422",))
        enter(page, server, "the lead")
        inert(page)
        for _ in HOSTILE:
            follow(page, page.get_by_role("link", name="item-").first)
            inert(page)
            page.locator("#decider").fill(HOSTILE[2])
            page.locator("#reason").fill(said)
            page.locator("#reason").blur()
            press(page, "2", "Enter")
            inert(page)
        assert page.get_by_text(f"LC by {HOSTILE[2]}").count() == len(HOSTILE)
        labels = server.labels()
    assert {each.reason for each in labels} == {said}
    assert {each.system for each in labels} == set(HOSTILE)


def test_who_leads_sees_how_far_they_agree_and_a_third_person_decides(tmp_path, toy_suite, new_page):
    answers(tmp_path / "run", count=3, system=SYSTEM)
    with ExitStack() as stack:
        server = Server(stack, toy_suite, tmp_path, ("ann", "bob"), "--overlap", 2)
        for name, reasons in (("ann", ["", "", ""]), ("bob", ["", "no mean", "no mean"])):
            page = new_page()
            enter(page, server, name)
            queue = 0
            while page.locator("input[name=item]").count():
                if reasons[queue]:
                    explained(page, "1", reasons[queue])
                else:
                    press(page, "3", "Enter")
                queue += 1
        page = new_page(expected=("status of 422",))
        enter(page, server, "the lead")
        rows = page.get_by_role("region", name="Agreement so far").locator("tbody tr")
        assert rows.all_inner_texts() == ["ann and bob\t3\t1 (33%)\t2\t0.00"]
        assert (
            page.get_by_role("region", name="Progress").locator("tbody tr").first.inner_text().startswith("ann\t3 of 3")
        )
        follow(page, page.get_by_role("link", name="item-").first)
        main = page.locator("main")
        expect(main).to_contain_text("no mean")
        for word in ("ann", "bob", SYSTEM):
            assert word not in main.inner_text().replace("Annotator", "").split()
        page.locator("#decider").fill("bob")
        page.locator("#decider").blur()
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        expect(page.locator("#problem")).to_contain_text("bob has labelled this item; another person must decide")
        page.locator("#decider").fill("cem")
        page.locator("#decider").blur()
        press(page, "Enter")
        expect(main).to_contain_text("CC by cem")
        (line,) = (server.folder / "decisions.jsonl").read_text().splitlines()
    assert json.loads(line)["annotator"] == "cem"


def test_nothing_serious_keeps_anybody_from_reading(shared, browser):
    # The content security policy would block the checker's script.
    context = browser.new_context(bypass_csp=True)
    page, found = context.new_page(), {}

    def check(name):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found[name, scheme] = serious(page)

    enter(page, shared, "one side")
    page.keyboard.press("2")
    closed = page.locator("details:not([open]) > summary")
    while closed.count():
        closed.first.click()
    check("label")
    page.keyboard.press("?")
    check("keys")
    page.keyboard.press("Escape")
    press(page, "3", "Enter")
    check("calibration")
    press(page, "Enter")
    while page.locator("input[name=item]").count():
        press(page, "3", "Enter")
    check("finished")
    enter(page, shared, "other side")
    calibrated(page)
    while page.locator("input[name=item]").count():
        explained(page, "1", "It is a stub.")
    enter(page, shared, "the lead")
    check("progress")
    follow(page, page.get_by_role("link", name="item-").first)
    expect(page.locator("#decider")).to_be_visible()
    check("dispute")
    page.goto(f"{shared.address}/calibration")
    check("error")
    context.close()
    assert len(found) == 14
    assert not any(found.values()), found


class Plain(urllib.request.HTTPRedirectHandler):
    """Follow no redirects."""

    def redirect_request(self, *arguments):
        return None


def ask(address, cookie="", form=None, host=None):
    """Send a request and return the status and the text of the response."""
    data = None if form is None else form if isinstance(form, bytes) else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(address, data, {"Cookie": cookie} | ({"Host": host} if host else {}))
    try:
        with urllib.request.build_opener(Plain).open(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def session(server, name):
    """Return a person's cookie, the CSRF token of their forms, and the page."""
    with urllib.request.urlopen(server.links[name]) as answer:
        cookie = answer.headers["Set-Cookie"].split(";")[0]
    text = ask(server.address + "/", cookie)[1]
    return cookie, text.partition('name="csrf" value="')[2].partition('"')[0], text


def test_a_form_of_somebody_else_or_of_another_site_is_refused(shared):
    cookie, proof, text = session(shared, "form")
    _, others, _ = session(shared, "plain")
    item = text.partition('name="item" value="')[2].partition('"')[0]
    form = {"item": item, "version": "0", "category": "CC", "seconds": "1"}
    for wrong in ({}, {"csrf": ""}, {"csrf": others}, {"csrf": "ä"}):
        for place in ("/save", "/skip", "/undo", "/decide"):
            assert ask(shared.address + place, cookie, form | wrong)[0] == 403
    assert ask(shared.address + "/save", "", form | {"csrf": proof})[0] == 403
    assert ask(shared.address + "/decide", cookie, form | {"csrf": proof})[0] == 403
    assert ask(shared.address + "/save", cookie, form | {"csrf": proof, "item": "item-00000000"})[0] == 404
    assert ask(shared.address + "/save", cookie, b"\xff\xfe")[0] == 400
    assert ask(shared.address + "/save", cookie, {f"f{number}": "" for number in range(99)})[0] == 400
    assert ask(shared.address + "/save", cookie, b"x" * (MAX_BODY + 1))[0] == 413
    long = form | {"csrf": proof, "category": "LI", "reason": "x" * (MAX_REASON + 1)}
    status, said = ask(shared.address + "/save", cookie, long)
    assert (status, "are allowed" in said) == (422, True)
    assert not [each for each in shared.labels() if each.annotator == "form"]
    assert ask(shared.address + "/save", cookie, form | {"csrf": proof})[0] == 303
    stale = form | {"csrf": proof, "category": "LI", "reason": "later"}
    assert ask(shared.address + "/save", cookie, stale)[0] == 409


@pytest.mark.parametrize("place", ["/", "/calibration?item=x", "/dispute?item=x", "/enter/nobody", "/enter/%C3%A4"])
def test_without_a_link_of_their_own_nobody_sees_anything(shared, place):
    status, text = ask(shared.address + place)
    assert status == 403
    assert "toy" not in text


def test_annotators_see_neither_progress_nor_disputes_and_addresses_reach_no_file(shared):
    cookie, _, _ = session(shared, "form")
    assert ask(shared.address + "/dispute?item=item-1", cookie)[0] == 403
    for place in ("/calibration?item=../../etc/passwd", "/static/..%2f..%2fetc%2fpasswd", "/nowhere"):
        assert ask(shared.address + place, cookie)[0] == 404
    assert ask(shared.address + "/", cookie, host="elsewhere.example")[0] == 400


def annotate(toy_suite, *arguments):
    return lmrbench("annotate", *arguments, "--suite", toy_suite)


def test_another_annotation_and_a_second_server_of_one_are_refused_in_one_line(shared, toy_suite, tmp_path):
    answers(tmp_path / "run")
    again = annotate(toy_suite, tmp_path / "run", "--annotator", "ann", "--to", shared.folder)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "is writing to this run folder" in again.stderr
    with ExitStack() as stack:
        Server(stack, toy_suite, tmp_path, ("ann",))
    answers(tmp_path / "run", system="new")
    other = annotate(toy_suite, tmp_path / "run", "--annotator", "bob", "--to", tmp_path / "to")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "was created with other annotators (ann) and other runs (1 answer," in other.stderr


def test_a_task_that_changed_in_between_is_not_labelled_on(suite, tmp_path):
    answers(tmp_path / "run")
    with ExitStack() as stack:
        Server(stack, suite, tmp_path, ("ann",))
    summary = suite / "toy" / "paper.md"
    summary.write_text(summary.read_text() + "\nOne sentence more.\n")
    again = annotate(suite, tmp_path / "run", "--annotator", "ann", "--to", tmp_path / "to")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "was created with other content of these tasks (SHA-256 " in again.stderr


def test_a_port_in_use_is_named(toy_suite, tmp_path):
    answers(tmp_path / "run")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        used = annotate(toy_suite, tmp_path / "run", "--annotator", "ann", "--to", tmp_path / "to", "--port", port)
    assert used.returncode == 2
    assert "Address already in use; choose another port with --port" in used.stderr
