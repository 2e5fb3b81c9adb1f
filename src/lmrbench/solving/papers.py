"""What of a paper does a model read: our summary, or the paper itself, which its user has fetched or added?

Papers are their authors': they don't come with lmrbench. `fetch` and `add` keep a PDF or an arXiv source in the user's
cache folder with its checksum; `paper_text` turns it into text, page by page, or as LaTeX, in which formulas survive.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath
from typing import Literal, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from lmrbench.errors import LmrbenchError
from lmrbench.files import cache_folder, write_whole
from lmrbench.records import Record
from lmrbench.solving.settings import Form
from lmrbench.tasks.model import Paper, Task
from lmrbench.tasks.pdf import pdf_pages

Fetched = Literal["pdf", "latex"]
FETCHED: tuple[Fetched, ...] = get_args(Fetched)
MOST_BYTES = 100 << 20
SECONDS = 60.0
_SUFFIXES = {"pdf": "pdf", "latex": "source"}
_COMMENT = re.compile(r"(?<!\\)%.*")
_INCLUDED = re.compile(r"\\(?:input|include)\s*\{([^}]+)\}")


class PaperError(LmrbenchError):
    """A paper can't be fetched or read. The message names the paper, and what to do."""


class Copy(Record):
    """What was fetched or added: from where, how many bytes, and their SHA-256."""

    url: str
    sha256: str
    bytes: int


def paper_text(task: Task, form: Form) -> str:
    """The paper of a task in the form wanted. Raises PaperError for one that was not fetched, or was changed since."""
    if form == "summary":
        return task.files.summary
    copy = fetched(task.paper, form)
    if copy is None:
        raise PaperError(
            f"{task.paper.slug}: its {form} is not here: lmrbench setup papers fetch {task.paper.slug}, or papers add"
        )
    file = _file(task.paper, form)
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != copy.sha256:
        raise PaperError(f"{file}: is not what was fetched; delete it and fetch it again")
    return _by_page(file) if form == "pdf" else latex_text(data, file)


def _by_page(file: Path) -> str:
    return "\n\n".join(f"[page {number}]\n{text}" for number, text in enumerate(pdf_pages(file), 1))


def fetched(paper: Paper, form: Fetched) -> Copy | None:
    """What is in the cache of a paper in this form; None if nothing is."""
    file = _file(paper, form)
    try:
        copy = Copy.model_validate_json(_record(file).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return copy if file.is_file() else None


def fetch(paper: Paper, form: Fetched) -> Copy:
    """Download a paper into the cache. Raises PaperError where it has no such form, or can't be reached."""
    url = address(paper, form)
    request = urllib.request.Request(url, headers={"User-Agent": "lmrbench"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            data = response.read(MOST_BYTES + 1)
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", None) or error
        raise PaperError(
            f"{paper.slug}: {url} can't be fetched ({reason}); retry when online, or use --paper summary"
        ) from error
    return _kept(paper, form, data, url)


def add(paper: Paper, file: Path) -> tuple[Fetched, Copy]:
    """Take a PDF or an arXiv source from a file into the cache. Raises PaperError for anything else."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise PaperError(f"{file}: {error.strerror}") from error
    form: Fetched = "pdf" if data.startswith(b"%PDF") else "latex"
    return form, _kept(paper, form, data, file.resolve().as_uri())


def _kept(paper: Paper, form: Fetched, data: bytes, url: str) -> Copy:
    """Write what was read of `url` into the cache. Raises PaperError for what has another form."""
    if len(data) > MOST_BYTES:
        raise PaperError(f"{paper.slug}: {url} is larger than {MOST_BYTES >> 20} MiB")
    if form == "pdf" and not data.startswith(b"%PDF"):
        raise PaperError(f"{paper.slug}: {url} is no PDF")
    if form == "latex":
        latex_text(data, Path(url))
    copy = Copy(url=url, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    file = _file(paper, form)
    write_whole(file, data)
    write_whole(_record(file), copy.model_dump_json().encode())
    return copy


def address(paper: Paper, form: Fetched) -> str:
    """Where a paper's PDF or source is, from the address of its page; PaperError where that can't be told."""
    page = str(paper.url).rstrip("/")
    parts = urlsplit(page)
    if "/abs/" in parts.path:
        return page.replace("/abs/", "/pdf/" if form == "pdf" else "/e-print/", 1)
    if form == "latex":
        raise PaperError(f"{paper.slug}: {page} offers no LaTeX source; only arXiv does")
    if parts.path.endswith(".pdf"):
        return page
    if parts.netloc == "openreview.net":
        return page.replace("/forum?", "/pdf?", 1)
    if parts.netloc == "aclanthology.org":
        return f"{page}.pdf"
    raise PaperError(f"{paper.slug}: where {page} keeps its PDF is not known")


def latex_text(data: bytes, place: Path) -> str:
    """The body of the main LaTeX file of an arXiv source, with what it includes and without comments.

    data: a gzipped tar, or one gzipped file. Raises PaperError for anything else.
    """
    files = _unpacked(data, place)
    mains = [name for name, text in files.items() if "\\documentclass" in text and "\\begin{document}" in text]
    if not mains:
        raise PaperError(f"{place}: holds no LaTeX document")
    # A supplement or a response may be a document too: the paper is the longest.
    main = max(mains, key=lambda name: len(_included(files, name, ())))
    text = _included(files, main, ())
    return text.partition("\\begin{document}")[2].partition("\\end{document}")[0].strip()


def _unpacked(data: bytes, place: Path) -> dict[str, str]:
    try:
        plain = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BYTES + 1)
    except (OSError, EOFError) as error:
        raise PaperError(f"{place}: is no gzipped LaTeX source") from error
    if len(plain) > MOST_BYTES:
        raise PaperError(f"{place}: unpacks to more than {MOST_BYTES >> 20} MiB")
    try:
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            members = [item for item in archive if item.isfile() and item.name.endswith((".tex", ".bbl"))]
            texts = {item.name: file.read() for item in members if (file := archive.extractfile(item))}
    except tarfile.ReadError:
        texts = {"main.tex": plain}
    return {str(PurePosixPath(name)): _COMMENT.sub("", text.decode("utf-8", "replace")) for name, text in texts.items()}


def _included(files: dict[str, str], name: str, above: tuple[str, ...]) -> str:
    def replace(match: re.Match[str]) -> str:
        wanted = str(PurePosixPath(match[1].strip()))
        found = next((item for item in (wanted, f"{wanted}.tex") if item in files and item not in above), None)
        return _included(files, found, (*above, found)) if found else ""

    return _INCLUDED.sub(replace, files[name])


def _file(paper: Paper, form: Fetched) -> Path:
    return cache_folder() / "papers" / paper.slug / f"paper.{_SUFFIXES[form]}"


def _record(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")
