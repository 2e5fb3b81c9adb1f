"""Every task that ships has been audited as it is now, and falls short in nothing."""

import pytest
from tests import core

from lmrbench.authoring.audit.certificate import read_certificate, why_none
from lmrbench.authoring.audit.instructions import too_long

# A twin has the check of its original, and a method is graded within what two cases of its experiment tell.
FULL_SEEDS = {"function": 100, "method": 25, "twin": 25}


@pytest.mark.parametrize("task", core.ALL, ids=lambda task: task.id)
def test_a_full_certificate_holds(task):
    certificate = read_certificate(task)

    assert certificate is not None, f"{task.id} {why_none(task)}: run `lmrbench task audit {task.id}`"
    assert certificate.seeds >= FULL_SEEDS[task.tier]
    assert certificate.shortfalls == ()


def test_no_instruction_is_too_long():
    assert [text for task in (*core.ALL, *core.published()) for text in too_long(task)] == []
