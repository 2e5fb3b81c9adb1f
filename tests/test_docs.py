"""The documentation agrees with what it documents."""

import pkgutil
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from lmrbench.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]


def test_the_picture_is_what_its_script_draws():
    script = ROOT / "docs" / "pictures" / "sandboxes.py"
    assert script.with_suffix(".svg").read_text("utf-8") == runpy.run_path(str(script))["picture"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_in_the_navigation():
    named = set(re.findall(r": ([\w-]+\.md)", (ROOT / "mkdocs.yml").read_text("utf-8")))
    assert named == {page.name for page in (ROOT / "docs").glob("*.md")}


def test_the_reference_names_what_there_is():
    for name in re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE):
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "docs/dependencies.md"])
def test_the_modules_that_a_page_names_are_there(name):
    modules = [str(file) for folder in ("src", "tests") for file in (ROOT / folder).rglob("*.py")]
    named = re.findall(r"`([\w./]+\.py)`", (ROOT / name).read_text("utf-8"))
    assert named
    assert not [path for path in named if not any(module.endswith(f"/{path}") for module in modules)]


def test_the_page_of_commands_has_the_options_of_each():
    add = runpy.run_path(str(ROOT / "docs" / "hooks.py"))["on_page_markdown"]
    page = add("# Commands", page=SimpleNamespace(file=SimpleNamespace(src_uri="commands.md")))
    for name, entry in COMMANDS.items():
        for words in (f"lmrbench {name}", *(f"lmrbench {name} {inner}" for inner in entry.entries)):
            _, found, text = page.partition(f"# `{words}`\n")
            assert found
            assert text.strip().startswith(entry.entries.get(words.rpartition(" ")[2], entry).help.removesuffix("."))
    assert "--model MODEL" in page.replace("`", "")
