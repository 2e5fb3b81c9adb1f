"""Instructions that are too long are pointed out, section by section."""

import pytest
from tests import toy

from lmrbench.authoring.audit.instructions import too_long
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Target


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    suite = tmp_path_factory.mktemp("toy") / "suite"
    toy.copy_to(suite)
    return load_suite(suite)[0]


def instruction(first, **sections):
    headed = [f"## {name.replace('_', ' ')}\n\n{'word ' * words}" for name, words in sections.items()]
    return "\n\n".join(["word " * first, *headed])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (instruction(150, Edge_cases=120, Ranges=120), []),
        (instruction(151), ["its instruction has 151 words before its sections, more than 150"]),
        (instruction(9, Edge_cases=121), ['its instruction has 121 words under "Edge cases", more than 120']),
        (instruction(9, Edge_cases=1, Ranges=130), ['its instruction has 130 words under "Ranges", more than 120']),
    ],
)
def test_the_words_of_each_section_are_limited(task, text, found):
    assert [*too_long(task.model_copy(update={"instruction": text}))] == [f"{task.id}: {line}" for line in found]


def test_several_targets_may_take_more_words(task):
    targets = (*task.targets, Target.parse("toy.py::other"))
    several = task.model_copy(update={"instruction": instruction(250), "targets": targets})

    assert [*too_long(several)] == []
    assert len([*too_long(several.model_copy(update={"instruction": instruction(251)}))]) == 1
