"""What the audit finds of a check with edge cases."""

import pytest
from tests.edges import EDGE_NAME, PLAIN, edge_suite, rewrite, wrong

from lmrbench.authoring.audit.auditing import audit
from lmrbench.authoring.audit.certificate import Certificate, Variant
from lmrbench.authoring.audit.laboratory import Laboratory
from lmrbench.grading.observe import ReferenceOutputs
from lmrbench.report.sheets.audit import certificates_sheet, edge_failures, slow_checks
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The certificate of a task of which one rewrite and one wrong version fail the edge case, unannounced."""
    suite = edge_suite(tmp_path_factory.mktemp("edges") / "suite")
    rewrite(suite, "short", "Needs a value, too.")
    wrong(suite, "short", "Needs a value, too.")
    wrong(suite, "scaled_twice", "Edge: says this, and scales twice.", PLAIN.replace("scale *", "scale * self.scale *"))
    with LocalPool(make_sandbox("bubblewrap", [suite]), size=1) as pool:
        return audit(load_suite(suite)[0], (0, 1), pool)


def test_plain_is_correct_and_the_edge_cases_that_it_fails_are_listed(found):
    variants = {item.name: item for item in found.rewrites}
    plain = variants["plain"]

    assert (plain.correct, plain.passed, plain.fails) == (True, False, (EDGE_NAME,))
    assert (variants["loop"].correct, variants["loop"].passed, variants["loop"].fails) == (True, True, ())
    assert f"toy/blend: the rewrite plain passes all ordinary cases but fails 1 edge case: {EDGE_NAME}" in [
        *edge_failures({"toy/blend": found, "toy/other": None})
    ]
    assert not [text for text in found.shortfalls if "plain" in text]
    assert f"the rewrite short fails in {EDGE_NAME}" in found.shortfalls


def test_a_wrong_version_may_be_correct_if_it_breaks_edge_cases_alone(found):
    variants = {item.name: (item.edge, item.correct, item.passed) for item in found.wrong}

    assert variants == {
        "empty": (True, True, False),
        "scaled_twice": (True, False, False),
        "short": (False, True, False),
        "unscaled": (False, False, False),
        "unweighted": (False, False, False),
    }
    assert [text for text in found.shortfalls if "wrong version " in text] == [
        "all ordinary cases accept the wrong version short, which is not marked as breaking only edge cases"
    ]


def test_mutants_that_edge_cases_alone_reject_are_counted_apart(found):
    mutation = found.mutation

    # A mutant of what is returned if there are no values.
    assert 0 < mutation.by_ordinary < mutation.rejected <= mutation.mutants
    assert found.behavioural.by_ordinary <= found.behavioural.rejected
    assert mutation.ordinary_score < mutation.score
    assert (found.cost.cases, found.cost.edge) == (4, 1)
    table = certificates_sheet({"toy/blend": found})
    shown = dict(zip(table.columns, table.rows[0], strict=True))
    assert (shown["score"], shown["ordinary score"]) == (f"{mutation.score:.3f}", f"{mutation.ordinary_score:.3f}")
    assert (shown["cases"], shown["edge"]) == ("4", "1")


def test_ordinary_cases_run_first_and_costly_ones_last_of_each_kind():
    laboratory = object.__new__(Laboratory)
    names = ("edge", "experiment", "slow", "quick", "costly edge")
    seconds = (0.1, 4.0, 0.2, 0.1, 4.0)
    laboratory.seeds = (0,)
    golden = ReferenceOutputs.model_construct(names=names, case_seconds=seconds, edge=frozenset({0, 4}))
    laboratory.goldens = {0: golden}

    # What rejects a variant first does not depend on how long cheap cases took.
    assert [names[number] for number in laboratory.by_cost(0)] == ["slow", "quick", "experiment", "edge", "costly edge"]


@pytest.mark.parametrize(
    ("kind", "variant", "shortfall"),
    [
        ("rewrites", {"name": "plain", "correct": False}, "the rewrite plain fails in a case"),
        (
            "wrong",
            {"name": "x", "passed": True, "correct": True, "edge": True},
            "the check accepts the wrong version x",
        ),
        ("cheats", {"name": "guesses", "correct": True}, "the check accepts the cheat that guesses"),
        ("rewrites", {"name": "slow", "passed": True, "seconds": 0.5}, "the rewrite slow uses 0.50 of a time limit"),
    ],
)
def test_what_falls_short(found, kind, variant, shortfall):
    item = Variant.model_validate({"passed": False, "rejected_by": "a case", "margin": 0.0, **variant})
    other = found.model_copy(update={kind: (item,)})

    assert shortfall in other.shortfalls
    assert shortfall not in found.shortfalls


def test_a_certificate_from_before_there_were_edge_cases_is_read(found):
    values = found.model_dump(mode="json")
    for item in (*values["rewrites"], *values["wrong"], *values["cheats"]):
        for name in ("correct", "fails", "edge", "seconds"):
            del item[name]
    for name in ("mutation", "behavioural"):
        del values[name]["by_ordinary"]
    del values["cost"]["edge"]

    old = Certificate.model_validate({**values, "schema_version": 3})

    assert [item.correct for item in old.rewrites] == [item.passed for item in found.rewrites]
    assert old.mutation.ordinary_score == old.mutation.score
    table = certificates_sheet({"toy/blend": old})
    assert dict(zip(table.columns, table.rows[0], strict=True))["ordinary score"] == "-"


def test_a_check_that_takes_too_long_is_pointed_out(found):
    slow = found.model_copy(update={"cost": found.cost.model_copy(update={"seconds": 0.71})})
    quick = found.model_copy(update={"cost": found.cost.model_copy(update={"seconds": 0.59})})

    assert [*slow_checks({"toy/blend": slow, "toy/quick": quick, "toy/other": None})] == [
        "toy/blend: the check takes 0.71 s, more than 0.6 s"
    ]
