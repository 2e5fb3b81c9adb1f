"""docs/security.md lists exactly the attacks that the process back end does not stop."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_documentation_lists_exactly_what_process_can_not_stop():
    tree = ast.parse((Path(__file__).parent / "test_attacks.py").read_text())
    tables = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and _name(node) == "NOT_STOPPED_BY_PROCESS"
    ]
    assert len(tables) == 1
    listed = {key.value for key in tables[0].keys}
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "security.md").read_text(), re.MULTILINE))
    assert documented == listed


def _name(node):
    return getattr(node.targets[0], "id", "")
