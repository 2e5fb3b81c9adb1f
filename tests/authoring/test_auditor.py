"""AUDITOR is raised when the audit's findings change, and only then do certificates become stale."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lmrbench
from lmrbench.authoring.audit.auditing import audit
from lmrbench.authoring.audit.certificate import AUDITOR

STORED = Path(__file__).parent / "toy_findings.json"
SUITE = Path(__file__).parents[2] / "suite"
# A private function that every audit calls.
MODULE, HELPER, RENAMED = "authoring/audit/mutants.py", "_mutants_of", "_every_mutant_of"


def findings(certificate):
    """A certificate without what depends on the machine, on the task's text or on AUDITOR itself."""
    found = certificate.model_dump(mode="json", exclude={"digest", "runs", "auditor"})
    for mutation in (found["mutation"], found["behavioural"]):
        del mutation["per_second"]
    for rewrite in found["rewrites"]:
        del rewrite["seconds"]
    for name in ("seconds", "peak_mb"):
        del found["cost"][name]
    return found


def test_findings_change_only_together_with_auditor(tasks, pool, tmp_path):
    found = findings(audit(tasks["toy/blend"], (0, 1), pool))
    new = tmp_path / STORED.name
    new.write_text(json.dumps({"auditor": AUDITOR, "findings": found}, indent=1) + "\n")
    stored = json.loads(STORED.read_text())
    store = f"store the new findings: cp {new} {STORED}"

    assert stored["auditor"] == AUDITOR, f"AUDITOR has been raised; {store}"
    assert found == stored["findings"], f"the findings have changed; raise AUDITOR in certificate.py and {store}"


def test_certificates_stay_valid_when_a_private_helper_is_renamed(tmp_path):
    copy = tmp_path / "lmrbench"
    shutil.copytree(Path(lmrbench.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__", "suite"))
    renamed = 0
    for file in copy.rglob("*.py"):
        text, count = re.subn(rf"\b{HELPER}\b", RENAMED, file.read_text())
        file.write_text(text)
        renamed += count
    assert f"def {RENAMED}(" in (copy / MODULE).read_text()
    assert renamed >= 2

    code = "import lmrbench, sys; print(lmrbench.__file__); from lmrbench.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, "task", "audit", "--check", "--suite", str(SUITE)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.stdout.startswith(str(copy))
    assert result.returncode == 0, result.stdout + result.stderr
