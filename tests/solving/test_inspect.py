"""The benchmark through Inspect: registry, options, metrics and logs."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from inspect_ai import eval
from inspect_ai.agent import is_agent
from inspect_ai.log import list_eval_logs, read_eval_log
from tests import core
from tests.solving.helpers import MODEL, environment, fenced, golden, mock
from tests.solving.server import Reply, serving

from lmrbench.errors import SandboxError
from lmrbench.grading.grader import Grader
from lmrbench.solving.agents import AGENTS, solver_agent
from lmrbench.solving.programs import PROGRAMS
from lmrbench.solving.task import lmr_bench


def evaluate(tmp_path, texts, **options):
    (log,) = eval(lmr_bench(**options), model=mock(texts), log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "success", log.error
    return log


def metrics(log):
    return {
        f"{score.name}/{score.reducer or 'mean'}/{name}": metric.value
        for score in log.results.scores
        for name, metric in score.metrics.items()
    }


@pytest.mark.sandbox
def test_metrics_are_accuracy_with_its_error_per_category_and_the_share_of_cases(papers, tmp_path):
    right, wrong = fenced(golden("toy")), "no"

    found = metrics(evaluate(tmp_path, [wrong, right], suite=str(papers), tasks="toy,other"))

    assert found["correct/mean/accuracy"] == 0.5
    assert found["correct/mean/stderr"] == 0.5
    assert found["correct/mean/grouped_interpretability"] == 0
    assert found["correct/mean/grouped_evaluation_metrics"] == 1
    assert found["cases/mean/mean"] == 0.5


@pytest.mark.sandbox
def test_epochs_give_pass_at_k(papers, tmp_path):
    right = fenced(golden("toy"))

    found = metrics(evaluate(tmp_path, ["no", right, "no"], suite=str(papers), tasks="toy", samples=3))

    assert found["correct/mean/accuracy"] == 1 / 3
    assert found["correct/pass_at_3/accuracy"] == 1


def test_a_fault_of_the_machinery_raises_and_is_no_score(papers, tmp_path, monkeypatch):
    def broken(*_):
        raise SandboxError("no sandbox today")

    monkeypatch.setattr(Grader, "grade_all", broken)
    (log,) = eval(
        lmr_bench(suite=str(papers), tasks="toy"),
        model=mock(["x"]),
        log_dir=str(tmp_path),
        display="none",
        fail_on_error=False,
    )

    assert not log.samples[0].scores
    assert "no sandbox today" in log.samples[0].error.message


@pytest.mark.sandbox
def test_by_its_name_from_the_command_line_of_inspect(papers, tmp_path):
    inspect = Path(sys.executable).with_name("inspect")
    with serving(lambda request: Reply(fenced(golden("toy")))) as (base, log):
        command = [
            inspect,
            "eval",
            "lmrbench/lmr_bench",
            "-T",
            f"suite={papers}",
            "-T",
            "tasks=toy",
            "-T",
            "inputs=paper+file",
            "--model",
            MODEL,
        ]
        subprocess.run(
            [*map(str, command), "--log-dir", str(tmp_path / "logs"), "--display", "none"],
            env=environment(base),
            check=True,
            timeout=1200,
        )

    (info,) = list_eval_logs(str(tmp_path / "logs"))
    logged = read_eval_log(info)
    assert logged.eval.task_version == "7.5"
    assert logged.samples[0].scores["unit_tests"].value == {"correct": 1, "robust": 1, "cases": 1}
    assert len(log.requests) == 1


def test_agents_by_name():
    assert is_agent(solver_agent("react", "true", 1))
    of_an_extra = {name for name, program in PROGRAMS.items() if program.library}
    assert all(is_agent(solver_agent(name, "", 1)) for name in {*AGENTS} - of_an_extra)


def test_what_listings_of_evaluations_read():
    listed = yaml.safe_load((Path(__file__).parents[2] / "src" / "lmrbench" / "solving" / "eval.yaml").read_text())

    assert listed["tasks"] == [{"name": "lmr_bench", "dataset_samples": len(core.TASKS)}]
