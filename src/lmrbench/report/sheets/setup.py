"""The tables and lines that `lmrbench setup` prints: sandboxes, images and papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.solving.papers import FETCHED, Fetched, PaperCopy

if TYPE_CHECKING:
    from lmrbench.sandbox.backends.images import Image
    from lmrbench.sandbox.doctor import Diagnosis
    from lmrbench.tasks.model import Paper


def sandboxes_sheet(found: Sequence[Diagnosis]) -> Sheet:
    """Return the table of sandboxes, which shows whether each one works and how it limits memory."""
    bounds = {True: "a cgroup and a watchdog", False: "a watchdog", None: "not known"}
    rows = [
        (item.name, "yes" if item.works else "no", bounds[item.cgroup] if item.works else "-", item.note)
        for item in found
    ]
    return sheet("", ("sandbox", "works", "memory is bounded by", "note"), rows)


def advice_lines(found: Iterable[Diagnosis]) -> Iterator[str]:
    """Yield a line for each sandbox that does not work, with the reason and advice to the user."""
    for item in found:
        if not item.works:
            yield f"{item.name}: {item.reason}" + (f". What to do: {item.advice}" if item.advice else "")


def images_sheet(found: Sequence[Image]) -> Sheet:
    """Return the table of container images on this machine."""
    rows = [
        (item.tag, f"{item.created:%Y-%m-%d %H:%M}", f"{item.size / 1e6:.0f} MB", item.base, ", ".join(item.packages))
        for item in found
    ]
    return sheet(f"Container images: {len(found)}", ("image", "built (UTC)", "size", "base", "packages"), rows)


def papers_sheet(found: Mapping[Paper, Mapping[Fetched, PaperCopy]]) -> Sheet:
    """Return the table of the fetched files of each paper, with a column for each form (PDF and LaTeX source)."""
    rows = []
    for paper, copies in found.items():
        cells = [f"{copy.bytes >> 10} kB {copy.sha256[:12]}" if (copy := copies.get(form)) else "-" for form in FETCHED]
        rows.append((paper.slug, *cells, paper.title))
    return sheet("", ("paper", *FETCHED, "title"), rows, spare=("title",))


def papers_facts(found: Mapping[Paper, Mapping[Fetched, PaperCopy]]) -> list[dict[str, object]]:
    """Return the fetched files of each paper by form (PDF or LaTeX source), for JSON."""
    return [
        {
            "paper": paper.slug,
            "url": str(paper.url),
            **{form: copy.model_dump() for form, copy in copies.items()},
        }
        for paper, copies in found.items()
    ]
