"""Queues are fair and reproducible; labels are stored exactly once despite repeated, late and interrupted requests."""

import json
import stat
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs.examples import write
from tests.web.helpers import FAILS
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import RecordError, UsageError
from lmrbench.judging.labels import read_labels
from lmrbench.judging.sheets import Filled
from lmrbench.tasks.submission import Answer, Submission
from lmrbench.web.annotation.queues import KnownVerdict, check_annotators, draw_queues, items_of, read_known
from lmrbench.web.annotation.results import disputes, progress, write_results
from lmrbench.web.annotation.store import DATABASE, LEAD, FormContent, open_store, version_of

PEOPLE = ("ann", "bob", "cem")
CC, LI = Filled("CC", None, "", 5.0), Filled("LI", "policy", "It is another loss.", 5.0)
ASKED = {"annotators": list(PEOPLE), "seed": 0}


def some_items(count, calibration=0):
    answers = {
        Answer(f"system {number % 2}", f"paper{number % 5}/t", number): Submission(
            system="s", task=f"paper{number % 5}/t", code=FAILS
        )
        for number in range(count)
    }
    known = {
        Answer("", "paper0/t", number): (
            KnownVerdict(task="paper0/t", category="CC", code=FAILS),
            Submission(system="calibration", task="paper0/t", code=FAILS),
        )
        for number in range(calibration)
    }
    return items_of(answers, known, 0)


@pytest.fixture
def annotation(tmp_path):
    """Return a function that opens the same annotation, as a new process would."""
    opened = []

    def start(count=6, calibration=0, people=PEOPLE, overlap=2, **asked):
        items = some_items(count, calibration)
        queues = draw_queues(items, people, overlap, 0)
        calibrations = {name for name, item in items.items() if item.known}
        store = open_store(tmp_path / "to", {**ASKED, "overlap": overlap, **asked}, queues, calibrations)
        opened.append(store)
        return items, store

    yield start
    for store in opened:
        store.close()


def label(store, annotator, filled=CC, now=100.0):
    """Label the next item and return its assignment."""
    found = store.next_item(annotator, now)
    assert store.save(annotator, found.item, found.version, filled, now + 60)
    return found


@given(count=st.integers(0, 40), people=st.integers(1, 6), data=st.data())
@settings(max_examples=50, deadline=None)
def test_each_answer_goes_to_as_many_as_the_overlap_asks_for_and_nobody_gets_more_than_their_share(count, people, data):
    overlap = data.draw(st.integers(1, people))
    names = [f"person {number}" for number in range(people)]
    items = some_items(count, calibration=2)
    queues = draw_queues(items, names, overlap, 7)
    calibration = {name for name, item in items.items() if item.known}
    asked = {name: [item for item in queue if item not in calibration] for name, queue in queues.items()}
    assert Counter(item for queue in asked.values() for item in set(queue)) == dict.fromkeys(
        items.keys() - calibration, overlap
    )
    assert max(map(len, asked.values())) - min(map(len, asked.values())) <= 1
    assert all(set(queue[:2]) == calibration for queue in queues.values())
    assert queues == draw_queues(items, names[::-1], overlap, 7)


def test_orders_differ_between_annotators_and_seeds_and_everybody_meets_everybody():
    items = some_items(60)
    queues = draw_queues(items, PEOPLE, 3, 0)
    assert len({tuple(queue) for queue in queues.values()}) == 3
    assert queues != draw_queues(items, PEOPLE, 3, 1)
    pairs = draw_queues(items, PEOPLE, 2, 0)
    assert all(len({*pairs[one]} & {*pairs[other]}) > 10 for one, other in (("ann", "bob"), ("ann", "cem")))


def test_names_of_items_tell_nothing_and_an_answer_of_known_verdict_is_labelled_for_calibration_alone():
    answers = {Answer("secret", "paper0/t", number): Submission(system="s", task="t", code="") for number in range(9)}
    first = next(iter(answers))
    items = items_of(answers, {first: (KnownVerdict(task="paper0/t", category="CC"), answers[first])}, 0)
    assert len(items) == 9
    assert [item.answer for item in items.values() if item.known] == [first]
    assert not any("secret" in name for name in items)


@pytest.mark.parametrize(
    ("people", "overlap", "words"),
    [
        (["ann", "ann"], 1, "given twice"),
        (["ann"], 2, r"exceeds the number of annotators \(1\)"),
        (["adjudicated"], 1, "reserved for adjudicated labels"),
        ([" "], 1, "expected a name"),
        (["a\nb"], 1, "expected a name"),
        (["x" * 101], 1, "expected a name"),
    ],
)
def test_names_and_overlaps_that_cannot_be_are_refused(people, overlap, words):
    with pytest.raises(UsageError, match=words):
        check_annotators(people, overlap)


def test_what_was_said_is_there_for_the_next_process(annotation):
    items, store = annotation()
    first = label(store, "ann", LI)
    kept = store.assignments("ann")
    _, again = annotation()
    assert again.assignments("ann") == kept
    assert again.next_item("ann", 0.0).item != first.item
    assert again.tokens() == store.tokens()
    assert len(items) == 6


def test_a_request_that_comes_twice_labels_once(annotation):
    _, store = annotation()
    found = store.next_item("ann", 100.0)
    assert store.save("ann", found.item, found.version, LI, 110.0)
    kept = store.assignments("ann")
    # A double click, or a retry after a crash: the same label is accepted.
    assert store.save("ann", found.item, found.version, LI, 120.0)
    # An outdated page with a different label.
    assert not store.save("ann", found.item, found.version, CC, 120.0)
    assert store.assignments("ann") == kept


def test_skips_come_back_at_the_end_with_what_was_typed_and_twice_is_once(annotation):
    _, store = annotation()
    first = store.next_item("ann", 100.0)
    for _ in range(2):
        store.skip("ann", first.item, first.version, FormContent("LI", "", "half a", 3.0), 110.0)
    others = [label(store, "ann").item for _ in range(3)]
    last = store.next_item("ann", 200.0)
    assert (last.item, last.content) == (first.item, FormContent("LI", "", "half a", 3.0))
    assert first.item not in others


def test_undo_takes_back_one_label_or_skip_after_the_other_and_each_once(annotation):
    _, store = annotation()
    first = label(store, "ann", LI)
    second = store.next_item("ann", 100.0)
    store.skip("ann", second.item, second.version, FormContent(), 110.0)
    for _ in range(2):
        store.undo("ann", 2)
    assert store.next_item("ann", 120.0).item == second.item
    assert store.last_step("ann") == 1
    # The step of another annotator.
    store.undo("bob", 1)
    store.undo("ann", 1)
    again = store.next_item("ann", 130.0)
    assert (again.item, again.content.reason, again.done) == (first.item, LI.reason, False)
    # The page that the label came from is outdated.
    assert not store.save("ann", first.item, first.version, CC, 140.0)
    assert store.last_step("ann") is None


def test_a_label_of_a_calibration_item_stays(annotation):
    _, store = annotation(calibration=2)
    first = store.next_item("ann", 100.0)
    assert first.calibration
    store.skip("ann", first.item, first.version, FormContent(), 110.0)
    second = store.next_item("ann", 100.0)
    assert (second.calibration, second.item != first.item) == (True, True)
    label(store, "ann")
    label(store, "ann")
    assert store.last_step("ann") is None
    assert not store.next_item("ann", 120.0).calibration


def test_seconds_are_never_more_than_since_the_item_was_shown(annotation):
    _, store = annotation()
    found = store.next_item("ann", 100.0)
    # The item is shown again: the first time counts.
    found = store.next_item("ann", 105.0)
    store.save("ann", found.item, found.version, Filled("CC", None, "", 1e9), 112.0)
    assert store.assignments("ann", found.item)[0].content.seconds == 12.0


@given(st.lists(st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from("lrsuo"), st.integers(0, 30)), max_size=40))
@settings(max_examples=25, deadline=None)
def test_in_any_order_of_requests_every_item_is_labelled_once_or_waits(tmp_path_factory, requests):
    """Send requests from current and outdated pages: l and o label, r repeats, s skips, u undoes."""
    items = some_items(5)
    queues = draw_queues(items, ("ann", "bob"), 2, 0)
    store = open_store(tmp_path_factory.mktemp("to"), {}, queues, set())
    shown: dict[str, list[Any]] = {"ann": [], "bob": []}
    labelled = {}
    for who, kind, number in requests:
        found = store.next_item(who, 0.0)
        if found:
            shown[who].append(found)
        old = shown[who][number % len(shown[who])]
        current = store.assignments(who, old.item)[0].version == old.version
        if kind == "l" and found:
            assert store.save(who, found.item, found.version, CC, 1.0)
            labelled[who, found.item] = "CC"
        elif kind in "ro":
            saved = store.save(who, old.item, old.version, CC if kind == "r" else LI, 1.0)
            said = "CC" if kind == "r" else "LI"
            if current:
                assert saved
                labelled[who, old.item] = said
            assert saved == (labelled.get((who, old.item)) == said)
        elif kind == "s":
            store.skip(who, old.item, old.version, FormContent(), 1.0)
        elif kind == "u" and (step := store.last_step(who)):
            store.undo(who, step)
            labelled.pop((who, store.next_item(who, 0.0).item), None)
    kept = {(each.annotator, each.item): each.content.category for each in store.assignments() if each.done}
    assert kept == labelled
    waiting = [each for each in store.assignments() if not each.done]
    assert len(kept) + len(waiting) == 10
    store.close()


def test_the_file_is_for_its_owner_alone_and_so_are_the_tokens(annotation, tmp_path):
    _, store = annotation()
    label(store, "ann")
    for file in (tmp_path / "to").glob(f"{DATABASE}*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    tokens = store.tokens()
    assert set(tokens) == {*PEOPLE, LEAD}
    assert len(set(tokens.values())) == 4
    assert {store.person(token) for token in tokens.values()} == {*PEOPLE, LEAD}
    assert store.person("") is None
    assert store.person("ä\ud800") is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"overlap": 3}, r"another overlap \(2\)"),
        ({"seed": 5}, r"another seed \(0\)"),
        ({"annotators": ["ann"]}, r"other annotators \(ann, bob, cem\)"),
        ({"seed": 5, "overlap": 1}, r"another seed \(0\) and another overlap \(2\)"),
    ],
)
def test_other_settings_are_refused_and_named(annotation, asked, words):
    annotation()[1].close()
    with pytest.raises(UsageError, match=words):
        annotation(**asked)


def test_a_file_that_is_not_ours_is_named_and_left_as_it_is(annotation, tmp_path):
    (tmp_path / "to").mkdir()
    file = tmp_path / "to" / DATABASE
    file.write_text("not a database, but somebody's notes, which are long enough to be one")
    with pytest.raises(RecordError, match="not an annotation database"):
        annotation()
    assert file.read_text().startswith("not a database")


def test_labels_and_decisions_are_what_the_other_commands_read(annotation, tmp_path):
    items, store = annotation(count=4, calibration=1, people=("ann", "bob"))
    folder = tmp_path / "to"
    for who, filled in (("ann", CC), ("bob", LI)):
        for number in range(5):
            label(store, who, filled if number else CC)
    write_results(folder, store, items)
    labels = read_labels([folder / "labels.jsonl"])
    assert len(labels) == 8
    assert {each.answer for each in labels} == {item.answer for item in items.values() if not item.known}
    assert [each.right for each in progress(store, items)] == [1, 1]
    open_ = disputes(store, items)
    assert len(open_) == 4
    assert not (folder / "decisions.jsonl").exists()
    for found in open_[:3]:
        assert store.decide(found.item.name, found.version, "cem", LI)
    # A label is undone after the decision, which was based on it.
    (taken_back,) = [each for each in store.assignments("ann") if each.item == open_[0].item.name]
    while not store.next_item("ann", 0.0) or store.next_item("ann", 0.0).item != taken_back.item:
        store.undo("ann", store.last_step("ann"))
    while store.next_item("ann", 0.0):
        label(store, "ann", CC)
    write_results(folder, store, items)
    held = [json.loads(line)["item"] for line in (folder / "decisions.jsonl").read_text().splitlines()]
    assert open_[0].item.name not in held
    assert {each.outdated for each in disputes(store, items) if each.item == open_[0].item} == {True}

    arguments = ["labels", "adjudicate", folder / "labels.jsonl", "--key", folder / "key.jsonl"]
    arguments += ["--out", tmp_path / "verdicts.jsonl", "--decisions", folder / "decisions.jsonl"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    verdicts = read_labels([tmp_path / "verdicts.jsonl"])
    assert len(verdicts) == len(held)
    assert {each.category for each in verdicts} == {"LI"}
    assert (
        "ann and annotator bob"
        in CliRunner().invoke(app, ["analyse", "agreement", str(folder / "labels.jsonl")]).output
    )


def test_a_decision_on_labels_that_changed_is_not_taken(annotation):
    items, store = annotation(people=("ann", "bob"), overlap=2, count=1)
    (name,) = items
    label(store, "ann", CC)
    seen = version_of(store.assignments(item=name))
    label(store, "bob", LI)
    assert not store.decide(name, seen, "cem", LI)
    assert store.decisions() == {}


def test_calibration_items_are_answers_of_the_runs_or_code_of_their_own(tmp_path):
    answer = Answer("one", "toy/blend", 0)
    answers = {answer: Submission(system="one", task="toy/blend", code=FAILS)}
    file = tmp_path / "known.jsonl"
    own = KnownVerdict(task="toy/blend", category="LI", reason="A stub.", code="def blend(): ...")
    write(file, KnownVerdict(**answer._asdict(), category="CC"), own)
    found = read_known(file, answers, ["toy/blend"])
    assert [submission.code for _, submission in found.values()] == [FAILS, "def blend(): ..."]
    for line, words in (
        ({"task": "no/task", "category": "CC", "code": ""}, "the suite has no task 'no/task'"),
        ({"task": "toy/blend", "category": "LI", "code": ""}, "reason: missing"),
        ({"task": "toy/blend", "category": "CC", "system": "two"}, "is not in these runs"),
        ({"task": "toy/blend", "category": "0", "code": ""}, "category"),
    ):
        file.write_text(json.dumps(line) + "\n")
        with pytest.raises(RecordError, match=words):
            read_known(file, answers, ["toy/blend"])
