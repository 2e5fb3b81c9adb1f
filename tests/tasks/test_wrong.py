"""Wrong versions as whole files and as edits of one text: what is graded, and what an author is told of a mistake."""

import pytest
from tests import core

from lmrbench.errors import TaskError
from lmrbench.grading.systems import submissions_of
from lmrbench.source.syntax import syntax_tree
from lmrbench.tasks.loading import load_suite

BASE = """
base = '''
def blend(self, values):
    factors = weights(len(values))
    if not values:
        return 0.0
    total = sum(w * v for w, v in zip(factors, values))
    return self.scale * total / sum(factors)
'''
"""
KEPT = """
[kept]
why = "Keeps the weights of each length, and the scale of the first call."
[[kept.edits]]
old = "def blend(self, values):"
new = '''
KEPT = {}


def blend(self, values):
'''
[[kept.edits]]
old = '''
    factors = weights(len(values))
    if not values:
        return 0.0
'''
new = '''
    if not values:
        return 0.0
    factors = KEPT.setdefault(len(values), weights(len(values)))
'''
[[kept.edits]]
old = "    return self.scale * total / sum(factors)"
new = '    return KEPT.setdefault("scale", self.scale) * total / sum(factors)'
"""
UNGUARDED = """
[unguarded]
why = 'Forgets that there may be "no" values.'
edits = [{ old = '''
    if not values:
        return 0.0
''', new = "" }]
"""


@pytest.fixture
def folder(paper):
    """Where the wrong versions of a copy of the toy suite lie; two of them are whole files."""
    return paper / "wrong"


def loaded(folder):
    (task,) = load_suite(folder.parents[1])
    return task


def refused(folder, text):
    (folder / "blend.toml").write_text(text)
    with pytest.raises(TaskError) as raised:
        loaded(folder)
    message = str(raised.value)
    assert message.startswith(f"{folder / 'blend.toml'}: ")
    assert "\n" not in message
    return message.partition(": ")[2]


def test_edits_become_the_file_that_a_person_would_have_written(folder):
    (folder / "blend.toml").write_text(BASE + UNGUARDED + KEPT)
    versions = loaded(folder).files.wrong
    assert versions["unguarded"] == (
        '"""Forgets that there may be "no" values."""\n'
        "\n"
        "\n"
        "def blend(self, values):\n"
        "    factors = weights(len(values))\n"
        "    total = sum(w * v for w, v in zip(factors, values))\n"
        "    return self.scale * total / sum(factors)\n"
    )
    assert versions["kept"] == (
        '"""Keeps the weights of each length, and the scale of the first call."""\n'
        "\n"
        "KEPT = {}\n"
        "\n"
        "\n"
        "def blend(self, values):\n"
        "    if not values:\n"
        "        return 0.0\n"
        "    factors = KEPT.setdefault(len(values), weights(len(values)))\n"
        "    total = sum(w * v for w, v in zip(factors, values))\n"
        '    return KEPT.setdefault("scale", self.scale) * total / sum(factors)\n'
    )


def test_edits_and_whole_files_are_handed_in_alike_and_in_the_order_of_their_names(folder):
    before = [(item.label, item.code) for item in submissions_of("wrong", [loaded(folder)])]
    (folder / "blend.toml").write_text(BASE + UNGUARDED + KEPT)
    after = [(item.sample, item.label, item.code) for item in submissions_of("wrong", [loaded(folder)])]
    assert [label for label, _ in before] == ["unscaled", "unweighted"]
    assert [item[:2] for item in after] == [(0, "kept"), (1, "unguarded"), (2, "unscaled"), (3, "unweighted")]
    assert [item[1:] for item in after[2:]] == before


def test_the_order_of_the_edits_does_not_matter(folder):
    (folder / "blend.toml").write_text(BASE + KEPT)
    before = loaded(folder).files.wrong
    head, *edits = KEPT.split("[[kept.edits]]")
    (folder / "blend.toml").write_text(BASE + "[[kept.edits]]".join([head, *reversed(edits)]))
    assert loaded(folder).files.wrong == before


def entry(old, new, name="mine", why="Is wrong."):
    return f'{BASE}\n[{name}]\nwhy = "{why}"\n[[{name}.edits]]\nold = "{old}"\nnew = "{new}"\n'


FACTORS = "    factors = weights(len(values))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            entry("    factors = weights(values)", ""),
            "mine: the old lines must occur once in the text, not 0 times: '    factors = weights(values)'",
        ),
        # Lines are compared whole.
        (entry("factors = weights(len(values))", ""), "mine: the old lines must occur once in the text, not 0 times: "),
        (
            entry(FACTORS, "").replace(f"{FACTORS}\n", f"{FACTORS}\n{FACTORS}\n"),
            f"mine: the old lines must occur once in the text, not 2 times: {FACTORS!r}",
        ),
        (entry(FACTORS, FACTORS), f"mine: an edit changes nothing: {FACTORS!r}"),
        (
            entry(FACTORS, "") + f'[[mine.edits]]\nold = "{FACTORS}\\n    if not values:"\nnew = ""\n',
            f"mine: another edit also changes lines of '{FACTORS}\\n    if not values:'",
        ),
        (entry("", "    pass"), "mine.edits.0.old: "),
        (f'{BASE}\n[mine]\nwhy = "Is wrong."\n', "mine.edits: missing"),
        (f'{BASE}\n[mine]\nwhy = "Is wrong."\nedits = []\n', "mine.edits: "),
        (entry(FACTORS, "").replace("why", "because"), "mine.why: missing"),
        (entry(FACTORS, "", why=""), "mine.why: "),
        (entry(FACTORS, "", why="Two\\nlines."), "mine.why: "),
        (entry(FACTORS, "").replace("[[", 'of = "unscaled"\n[['), "mine.of: unknown key"),
        (entry(FACTORS, "") + "count = 2\n", "mine.edits.0.count: unknown key"),
        (entry(FACTORS, "").replace("base", "text"), "the key `base` is missing; add the text that the edits apply to"),
        (entry(FACTORS, "", name="unscaled"), "unscaled: the file blend/unscaled.py has the same name; remove one"),
        ("base = ", "Invalid value"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file_the_version_and_the_lines(folder, text, message):
    assert refused(folder, text).startswith(message)


def test_every_wrong_version_of_the_suite_is_python():
    for task in core.ALL:
        for text in task.files.wrong.values():
            assert syntax_tree(text).body
