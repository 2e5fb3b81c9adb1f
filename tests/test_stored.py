"""Files that earlier versions wrote are read, and what later versions write is not lost."""

import json
import shutil
from pathlib import Path

import pytest

from lmrbench.authoring.adversaries import Finding
from lmrbench.authoring.audit.certificate import Certificate
from lmrbench.errors import RecordError
from lmrbench.grading.records import Grade
from lmrbench.jsonl import read_lines
from lmrbench.judging.sheets import BlindedItem
from lmrbench.models.settings import Settings
from lmrbench.records import SCHEMA, StoredRecord, read_record
from lmrbench.runs.folder import read_run
from lmrbench.runs.index import GradeHead
from lmrbench.runs.pack import Claim, Manifest
from lmrbench.runs.records import Judgement, Label, PublishedVerdict, RunFacts, Snapshot, Usage
from lmrbench.runs.verify import Verification
from lmrbench.tasks.submission import Submission
from lmrbench.web.annotation.queues import KnownVerdict

STORED = Path(__file__).parent / "stored"
SCHEMAS = sorted(STORED.glob("schema_*"))
# What each file of a schema holds.
FILES: dict[str, type[StoredRecord]] = {
    "run.json": RunFacts,
    "grades.jsonl": Grade,
    "usage.jsonl": Usage,
    "progress.jsonl": Snapshot,
    "submissions.jsonl": Submission,
    "judgements.jsonl": Judgement,
    "adversaries.jsonl": Finding,
    "labels.jsonl": Label,
    "published.jsonl": PublishedVerdict,
    "key.jsonl": BlindedItem,
    "known.jsonl": KnownVerdict,
    "manifest.json": Manifest,
    "claims.jsonl": Claim,
    "verification.json": Verification,
}


@pytest.mark.parametrize("folder", SCHEMAS, ids=lambda folder: folder.name)
def test_a_run_of_every_schema_is_read(folder, tmp_path):
    run = read_run(shutil.copytree(folder, tmp_path / "run"))

    assert [(item.system, item.sample) for item in run.submissions] == [("gpt-5 agent", 0), ("gpt-5 agent", 1)]
    assert [item.status for item in run.usages] == ["answered", "provider_error"]
    # There are snapshots since schema 2.
    assert [(item.turn, item.correct) for item in run.snapshots] == (
        [] if folder.name in ("schema_0", "schema_1") else [(2, True), (3, False)]
    )
    # The second sample has a grade, too, but the provider left it unanswered.
    (grade,) = run.grades
    assert (grade.sample, grade.correct, [case.verdict for case in grade.cases]) == (0, False, ["match", "mismatch"])
    assert grade.robust is False
    assert run.unsigned == 1
    assert grade.clock == ("cpu" if folder.name in ("schema_3", "schema_4") else "wall")
    settings = Settings.model_validate(run.facts.solving)
    assert settings.mount == ("/opt/tools", "/srv/data")
    assert (settings.setting, settings.agent_sandbox, settings.paper) == ("agent", "bubblewrap", "summary")
    assert (settings.temperature, settings.max_tokens) == (0.5, 4096)
    assert (settings.time_limit, settings.token_limit) == (600, 100_000)
    assert not settings.model_extra
    assert read_lines(tmp_path / "run" / "adversaries.jsonl", Finding)[0].told_apart_by == "x"


def test_every_schema_has_its_files():
    assert [folder.name for folder in SCHEMAS] == [f"schema_{number}" for number in range(SCHEMA + 1)]
    assert all(number < SCHEMA for model in FILES.values() for number in model.migrations)


@pytest.mark.parametrize(("file", "model"), FILES.items())
def test_what_a_later_version_added_is_kept_and_what_this_one_does_not_know_is_refused(file, model):
    text = (STORED / f"schema_{SCHEMA}" / file).read_text("utf-8")
    values = json.loads(text if file.endswith(".json") else text.splitlines()[0])
    values.pop("signature", None)
    assert values["schema_version"] == SCHEMA

    later = {**values, "schema_version": SCHEMA + 1, "invented": {"later": [1]}}
    record = read_record(json.dumps(later).encode(), model, "here")

    assert json.loads(record.model_dump_json()) == later
    with pytest.raises(RecordError, match="here: invented: unknown key"):
        read_record(json.dumps({**values, "invented": 1}).encode(), model, "here")


def test_what_a_later_version_added_inside_of_a_record_is_kept():
    line = (STORED / f"schema_{SCHEMA}" / "grades.jsonl").read_text("utf-8").splitlines()[1]
    values = json.loads(line)
    values["schema_version"] = SCHEMA + 1
    values["cases"][0]["invented"] = values["timing"]["invented"] = 1
    assert json.loads(read_record(json.dumps(values).encode(), Grade, "").model_dump_json()) == values


def test_a_record_is_migrated_whatever_its_class_is_called():
    class Renamed(Grade):
        pass

    values = json.loads((STORED / "schema_1" / "grades.jsonl").read_text("utf-8").splitlines()[0])
    values.pop("signature", None)
    assert read_record(json.dumps(values).encode(), Renamed, "").clock == "wall"


def test_every_record_that_is_written_carries_its_schema():
    # Certificates are stored with their tasks; the head of a grade is a part of its line.
    assert set(StoredRecord.__subclasses__()) == {*FILES.values(), Certificate, GradeHead}
    assert Certificate.model_fields["schema_version"].default == SCHEMA
