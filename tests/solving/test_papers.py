"""Papers as models read them: download, checksums and conversion to text."""

import gzip
import io
import tarfile

import pytest
from pydantic import HttpUrl
from tests.core import ALL, TASKS
from tests.http_server import serving_files
from tests.running import lmrbench

from lmrbench.solving.papers import PaperError, address, latex_text
from lmrbench.solving.prompts import prompt_message
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Paper

PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 47>>stream\nBT /F 12 Tf 20 200 Td (An Original Text) Tj ET  \nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)
MAIN = rb"""\documentclass{article}
\begin{document}
The loss is $\log \sigma(x)$. % a remark for ourselves
50\% of all. \input{method}
\end{document}
"""


def source(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def served(suite, tmp_path):
    """Serve the paper of a copy of the toy suite from a local server."""
    site = tmp_path / "site"
    (site / "pdf").mkdir(parents=True)
    (site / "e-print").mkdir()
    (site / "pdf" / "1234.5678").write_bytes(PDF)
    (site / "e-print" / "1234.5678").write_bytes(source({"main.tex": MAIN, "method.tex": b"Its method."}))
    with serving_files(site) as address:
        point_to(suite, address)
        yield suite


def point_to(suite, address):
    """Set the address of the paper in the suite."""
    table = suite / "toy" / "task.toml"
    lines = table.read_text().splitlines()
    url = f'url = "{address}/abs/1234.5678"'
    table.write_text("\n".join(url if line.startswith("url") else line for line in lines))


def papers(*arguments):
    return lmrbench("setup", "papers", *arguments)


def test_fetched_papers_are_read_listed_and_kept(served):
    (task,) = load_suite(served)[:1]
    with pytest.raises(PaperError, match="lmrbench setup papers fetch toy"):
        prompt_message(task, "full", "pdf", 10_000)

    for form in ("pdf", "latex"):
        fetched = papers("fetch", "toy", "--form", form, "--suite", served)
        assert fetched.returncode == 0, fetched.stderr
        again = papers("fetch", "toy", "--form", form, "--suite", served)
        assert again.stdout == "toy: already in the cache\n"

    assert "An Original Text" in prompt_message(task, "full", "pdf", 10_000).text
    latex = prompt_message(task, "full", "latex", 10_000).text
    assert r"The loss is $\log \sigma(x)$." in latex
    assert r"50\% of all. Its method." in latex
    assert "remark" not in latex
    assert "sha256" in papers("list", "--json", "--suite", served).stdout


def test_a_paper_that_is_at_hand_is_added(served, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine.pdf").write_bytes(PDF)
    (tmp_path / "notes.txt").write_text("no paper")

    added = papers("add", "toy", tmp_path / "mine.pdf", "--suite", served)
    refused = papers("add", "toy", tmp_path / "notes.txt", "--suite", served)
    absent = papers("add", "toy", tmp_path / "absent.pdf", "--suite", served)

    assert added.returncode == 0, added.stderr
    assert "bytes of pdf from" in added.stdout
    assert "An Original Text" in prompt_message(load_suite(served)[0], "full", "pdf", 10_000).text
    assert refused.returncode == absent.returncode == 2
    assert "is not a gzipped LaTeX source" in refused.stderr
    assert absent.stderr == f"lmrbench: {tmp_path / 'absent.pdf'}: No such file or directory\n"


def test_a_changed_file_is_not_read(served, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    papers("fetch", "toy", "--suite", served)
    (tmp_path / "cache" / "lmrbench" / "papers" / "toy" / "paper.pdf").write_bytes(PDF + b" ")

    with pytest.raises(PaperError, match="has changed since it was stored"):
        prompt_message(load_suite(served)[0], "full", "pdf", 10_000)


def test_without_a_network_one_line_says_so(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # No server listens on this port.
    point_to(suite, "http://127.0.0.1:9")

    result = papers("fetch", "toy", "--suite", suite)

    assert result.returncode == 1
    assert "toy: http://127.0.0.1:9/pdf/1234.5678 can't be fetched" in result.stderr
    assert result.stderr.strip().count("\n") == 0


@pytest.mark.parametrize(
    ("page", "form", "expected"),
    [
        ("https://arxiv.org/abs/2305.18290", "pdf", "https://arxiv.org/pdf/2305.18290"),
        ("https://arxiv.org/abs/2305.18290", "latex", "https://arxiv.org/e-print/2305.18290"),
        ("https://aclanthology.org/2022.coling-1.185", "pdf", "https://aclanthology.org/2022.coling-1.185.pdf"),
        ("https://openreview.net/forum?id=abc", "pdf", "https://openreview.net/pdf?id=abc"),
    ],
)
def test_where_papers_are(page, form, expected):
    assert address(Paper(slug="x", title="X", year=2024, venue="V", url=page), form) == expected


def test_where_a_source_is_not():
    with pytest.raises(PaperError, match="only arXiv offers sources"):
        address(Paper(slug="x", title="X", year=2024, venue="V", url=HttpUrl("https://aclanthology.org/x")), "latex")


def test_a_source_of_one_file_and_one_that_includes_itself(tmp_path):
    loop = MAIN.replace(b"method", b"main")

    assert "The loss is" in latex_text(gzip.compress(MAIN), tmp_path)
    assert "50" in latex_text(source({"./main.tex": loop}), tmp_path)
    with pytest.raises(PaperError, match="no LaTeX document"):
        latex_text(source({"readme.tex": b"nothing"}), tmp_path)
    with pytest.raises(PaperError, match="is not a gzipped LaTeX source"):
        latex_text(b"%PDF-1.4", tmp_path)


@pytest.mark.parametrize("limit", [3_000, 6_000, 9_000, 12_000])
def test_what_is_too_long_is_cut_by_the_rule(limit):
    task = TASKS["dpo/preference_loss"]
    whole = prompt_message(task, "full", "summary", 10**6)

    message = prompt_message(task, "full", "summary", limit)

    assert whole.cut == {}
    assert task.instruction.strip() in message.text
    assert "def preference_loss" in message.text
    kept, total = message.cut["paper"]
    assert kept < total
    # The context is cut only after the whole paper is gone.
    assert ("utils.py" in message.cut) <= (kept == 0)
    if kept:
        assert len(message.text) <= limit
        assert "[The rest is left out.]" in message.text


def test_a_twin_is_never_shown_the_paper_that_its_summary_alters():
    (twin,) = [task for task in ALL if task.id == "dpo/preference_loss_twin"]
    for form in ("pdf", "latex", "json"):
        with pytest.raises(PaperError, match="dpo/preference_loss_twin: the altered paper of a twin"):
            prompt_message(twin, "full", form, 10_000)
