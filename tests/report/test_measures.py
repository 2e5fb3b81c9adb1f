"""The registry of measures: a new measure is one module and its name."""

import csv
import json
import sys
from types import ModuleType

import pytest
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.report import measures
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.tables import sheet
from lmrbench.runs.folder import read_run


def test_a_registered_measure_is_in_every_form_of_a_report(grade, write_run, tmp_path, monkeypatch):
    def longest_reason(findings):
        found = max(len(case.reason) for item in findings.grades for case in item.cases)
        table = sheet("Longest reason", ["letters"], [[found]], numbers=["letters"], name="longest", note="Of a case.")
        return Measured({"longest_reason": found}, [table])

    name = f"{measures.__name__}.longest"
    longest_reason.__module__ = name
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(measures, "MODULES", (*measures.MODULES, "longest"))
    monkeypatch.setitem(measures._registered, name, [])
    measure()(longest_reason)
    run = write_run(tmp_path / "run", [grade("me", "a/one", False, reason="differs")])

    made = build(together([read_run(tmp_path / "run")], None))
    assert made.numbers["longest_reason"] == 7
    assert made.sheets[-1].note == "Of a case."
    files = ["--csv", tmp_path / "csv", "--html", tmp_path / "x.html", "--latex", tmp_path / "x.tex"]
    printed = CliRunner().invoke(app, ["report", run, "--full", *map(str, files)]).stdout
    assert "Longest reason" in printed
    assert list(csv.reader((tmp_path / "csv" / "longest.csv").open())) == [["letters"], ["7"]]
    assert '<section id="longest">' in (tmp_path / "x.html").read_text()
    assert r"\label{tab:longest}" in (tmp_path / "x.tex").read_text()
    assert json.loads(CliRunner().invoke(app, ["report", run, "--json"]).stdout)["longest_reason"] == 7


def test_a_module_without_the_decorator_is_named(grade, write_run, tmp_path, monkeypatch):
    name = f"{measures.__name__}.longest"
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(measures, "MODULES", ("longest",))
    write_run(tmp_path / "run", [grade("me", "a/one", False)])
    with pytest.raises(TypeError, match=r"longest registers no measure; decorate a function with @measure\(\)"):
        build(together([read_run(tmp_path / "run")], None))
