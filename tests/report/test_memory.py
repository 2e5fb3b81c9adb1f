"""What a system loses on twins: by hand, and as the report shows it."""

import pytest
from tests import core
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.report.measures.paired import memory_effects

PAIRS = {f"p{number}/t_twin": f"p{number}/t" for number in range(6)}


def test_losses_on_twins_are_paired_with_their_originals(grade):
    grades = [grade("reads", task, True) for pair in PAIRS.items() for task in pair]
    grades += [grade("remembers", task, task in PAIRS.values()) for pair in PAIRS.items() for task in pair]
    grades += [grade("originals alone", task, True) for task in PAIRS.values()]
    # Without its original, a twin says nothing of memory.
    grades += [grade("half", "p0/t_twin", False), grade("half", "p1/t", True), grade("half", "p1/t_twin", True)]
    found = {item.system: item.comparison for item in memory_effects(grades, PAIRS)}
    assert list(found) == ["reads", "remembers", "half"]
    assert (found["reads"].difference.mean, found["reads"].p) == (0.0, 1.0)
    assert (found["remembers"].wins, found["remembers"].losses, found["remembers"].difference.mean) == (6, 0, 1.0)
    # Six of six one way: twice one half to the power of six.
    assert found["remembers"].p == pytest.approx(2 / 2**6)
    assert found["remembers"].p_holm == pytest.approx(3 * 2 / 2**6)
    assert (found["half"].tasks, found["half"].wins) == (1, 0)


def test_the_report_has_a_table_of_its_own(grade, tmp_path):
    (twin,) = [task for task in core.ALL if task.id == "dpo/preference_loss_twin"]
    lines = [grade("one", task, task == twin.twin_of).model_dump_json() for task in (twin.id, twin.twin_of)]
    (tmp_path / "grades.jsonl").write_text("\n".join(lines) + "\n")
    shown = CliRunner().invoke(app, ["report", str(tmp_path), "--markdown", "--full"])
    assert shown.exit_code == 0, shown.output
    assert "twin tier: Correct answers by task" in shown.output
    assert "Rates on originals minus rates on twins" in shown.output
    assert "+100.0" in shown.output
