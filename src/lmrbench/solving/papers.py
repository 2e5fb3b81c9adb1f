"""Papers as solvers read them: the task's summary, the text of the paper's PDF or LaTeX source, or the PDF itself.

lmrbench does not distribute papers. `fetch` and `add` store a PDF or an arXiv source in the user's cache folder with
its checksum. `paper_text` converts a PDF to text page by page. The body of a LaTeX source keeps its markup, so that
formulas are preserved.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from lmrbench.errors import LmrbenchError
from lmrbench.files import cache_folder, write_whole
from lmrbench.progress import Finished
from lmrbench.records import Record
from lmrbench.tasks.files import pdf_pages
from lmrbench.tasks.model import Form, Paper, Task

Fetched = Literal["pdf", "latex"]
FETCHED: tuple[Fetched, ...] = get_args(Fetched)
MOST_BYTES = 100 << 20
SECONDS = 60.0
_SUFFIXES = {"pdf": "pdf", "latex": "source"}
_COMMENT = re.compile(r"(?<!\\)%.*")
_INCLUDED = re.compile(r"\\(?:input|include)\s*\{([^}]+)\}")


class PaperError(LmrbenchError):
    """A paper can't be fetched or read. The message names the paper and the remedy."""


class PaperCopy(Record):
    """A stored copy of a paper: the URL that it came from, the SHA-256 of the data, and their size in bytes."""

    url: str
    sha256: str
    bytes: int


def paper_text(task: Task, form: Form) -> str:
    """Return the text of a task's paper.

    Args:
        task: the task whose paper is read.
        form: the form to read: `summary`, `pdf`, `latex`, or `json` (the text of the PDF as a list of pages).

    Raises:
        PaperError: the paper is not in the cache, its file has changed since it was stored, or the task is a twin (a
            task made from an altered paper, of which only the summary exists).
    """
    if form == "summary":
        return task.files.summary
    if form == "latex":
        return latex_text(_stored(task, "latex"), _file(task.paper, "latex"))
    _stored(task, "pdf")
    pages = [{"page": number, "text": text} for number, text in enumerate(pdf_pages(_file(task.paper, "pdf")), 1)]
    if form == "json":
        return json.dumps(pages, indent=1, ensure_ascii=False)
    return "\n\n".join(f"[page {page['page']}]\n{page['text']}" for page in pages)


def paper_pdf(task: Task) -> bytes:
    """Return the PDF of a task's paper.

    Raises:
        PaperError: the PDF is not in the cache or has changed since it was stored, or the task is a twin.
    """
    return _stored(task, "pdf")


def _stored(task: Task, form: Fetched) -> bytes:
    if task.twin_of:
        raise PaperError(f"{task.id}: the altered paper of a twin exists only as a summary; use --paper summary")
    paper = task.paper
    copy = fetched(paper, form)
    if copy is None:
        raise PaperError(
            f"{paper.slug}: no {form} in the cache; run `lmrbench setup papers fetch {paper.slug}` or "
            "`lmrbench setup papers add`"
        )
    file = _file(paper, form)
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != copy.sha256:
        raise PaperError(f"{file} has changed since it was stored; delete it and fetch it again")
    return data


def fetched(paper: Paper, form: Fetched) -> PaperCopy | None:
    """Return the stored copy of a paper in a form, or None if the cache has no such copy."""
    file = _file(paper, form)
    try:
        copy = PaperCopy.model_validate_json(_record(file).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return copy if file.is_file() else None


def fetched_forms(papers: Iterable[Paper]) -> dict[Paper, dict[Fetched, PaperCopy]]:
    """Return the stored copies of each paper, by form."""
    return {paper: {form: copy for form in FETCHED if (copy := fetched(paper, form))} for paper in papers}


def fetch(paper: Paper, form: Fetched) -> PaperCopy:
    """Download a paper into the cache.

    Args:
        paper: the paper to download.
        form: the form to download.

    Returns:
        The stored copy.

    Raises:
        PaperError: the paper is not available in this form, or the download failed.
    """
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
    return _store(paper, form, data, url)


def fetch_papers(papers: Iterable[Paper], form: Fetched) -> Iterator[Finished]:
    """Download the papers that are not in the cache yet, and yield the outcome for each paper."""
    for paper in papers:
        if fetched(paper, form):
            yield Finished(f"{paper.slug}: already in the cache")
            continue
        try:
            copy = fetch(paper, form)
            yield Finished(f"{paper.slug}: {copy.bytes:,} bytes from {copy.url}")
        except PaperError as error:
            yield Finished(str(error), failed=True)


def add(paper: Paper, file: Path) -> tuple[Fetched, PaperCopy]:
    """Copy a PDF or an arXiv source from a file into the cache.

    Args:
        paper: the paper that the file contains.
        file: a PDF, or a gzipped LaTeX source.

    Returns:
        The form that was recognized, and the stored copy.

    Raises:
        PaperError: the file can't be read, or is neither a PDF nor a LaTeX source.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise PaperError(f"{file}: {error.strerror}") from error
    form: Fetched = "pdf" if data.startswith(b"%PDF") else "latex"
    return form, _store(paper, form, data, file.resolve().as_uri())


def _store(paper: Paper, form: Fetched, data: bytes, url: str) -> PaperCopy:
    """Check data that was read from a URL, and write it into the cache."""
    if len(data) > MOST_BYTES:
        raise PaperError(f"{paper.slug}: {url} is larger than {MOST_BYTES >> 20} MiB")
    if form == "pdf" and not data.startswith(b"%PDF"):
        raise PaperError(f"{paper.slug}: {url} is not a PDF")
    if form == "latex":
        latex_text(data, Path(url))
    copy = PaperCopy(url=url, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    file = _file(paper, form)
    write_whole(file, data)
    write_whole(_record(file), copy.model_dump_json().encode())
    return copy


def address(paper: Paper, form: Fetched) -> str:
    """Derive the URL of a paper's PDF or LaTeX source from the URL of its page.

    Args:
        paper: a paper with a page on arXiv, OpenReview or the ACL Anthology, or with a direct link to its PDF.
        form: the form that the URL is for.

    Raises:
        PaperError: the site does not offer this form, or the URL of the PDF can't be derived.
    """
    page = str(paper.url).rstrip("/")
    parts = urlsplit(page)
    if "/abs/" in parts.path:
        return page.replace("/abs/", "/pdf/" if form == "pdf" else "/e-print/", 1)
    if form == "latex":
        raise PaperError(f"{paper.slug}: {page} has no LaTeX source; only arXiv offers sources")
    if parts.path.endswith(".pdf"):
        return page
    if parts.netloc == "openreview.net":
        return page.replace("/forum?", "/pdf?", 1)
    if parts.netloc == "aclanthology.org":
        return f"{page}.pdf"
    raise PaperError(f"{paper.slug}: the URL of the PDF can't be derived from {page}; use `lmrbench setup papers add`")


def latex_text(data: bytes, place: Path) -> str:
    """Return the body of the main LaTeX file of an arXiv source, with included files inserted and comments removed.

    Args:
        data: a gzipped tar archive, or a single gzipped file.
        place: the file to name in error messages.

    Raises:
        PaperError: the data is not gzipped, is too large, or contains no LaTeX document.
    """
    files = _unpacked(data, place)
    mains = [name for name, text in files.items() if "\\documentclass" in text and "\\begin{document}" in text]
    if not mains:
        raise PaperError(f"{place} contains no LaTeX document")
    # Supplements and author responses may be documents as well; the paper is the longest one.
    main = max(mains, key=lambda name: len(_included(files, name, ())))
    text = _included(files, main, ())
    return text.partition("\\begin{document}")[2].partition("\\end{document}")[0].strip()


def _unpacked(data: bytes, place: Path) -> dict[str, str]:
    try:
        plain = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BYTES + 1)
    except (OSError, EOFError) as error:
        raise PaperError(f"{place} is not a gzipped LaTeX source") from error
    if len(plain) > MOST_BYTES:
        raise PaperError(f"{place} unpacks to more than {MOST_BYTES >> 20} MiB")
    try:
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            members = [item for item in archive if item.isfile() and item.name.endswith((".tex", ".bbl"))]
            texts = {item.name: file.read() for item in members if (file := archive.extractfile(item))}
    except tarfile.ReadError:
        texts = {"main.tex": plain}
    return {str(PurePosixPath(name)): _COMMENT.sub("", text.decode("utf-8", "replace")) for name, text in texts.items()}


def _included(files: dict[str, str], name: str, above: tuple[str, ...]) -> str:
    """Return a file's text with the files that it includes; `above` names files that include it, even indirectly."""

    def replace(match: re.Match[str]) -> str:
        wanted = str(PurePosixPath(match[1].strip()))
        found = next((item for item in (wanted, f"{wanted}.tex") if item in files and item not in above), None)
        return _included(files, found, (*above, found)) if found else ""

    return _INCLUDED.sub(replace, files[name])


def _file(paper: Paper, form: Fetched) -> Path:
    return cache_folder() / "papers" / paper.slug / f"paper.{_SUFFIXES[form]}"


def _record(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")
