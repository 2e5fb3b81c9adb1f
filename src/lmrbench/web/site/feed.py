"""The runs of a site as an Atom feed, an entry each."""

from __future__ import annotations

import uuid
from xml.etree import ElementTree

from lmrbench.web.site.data import RunInfo, Site, page_name

_ATOM = "http://www.w3.org/2005/Atom"
_NAMES = uuid.UUID("6f6c6d72-6265-5e63-8d00-000000000001")


def feed(site: Site) -> bytes:
    """The feed. Its dates are those of the runs, so that the same runs give the same feed."""
    root = ElementTree.Element("feed", xmlns=_ATOM)
    suites = sorted({board.suite for board in site.boards})
    _add(root, "title", "lmrbench leaderboard")
    _add(root, "id", _urn("site", *suites))
    # Without any run there is no date; the first of all says that nothing has come yet.
    _add(root, "updated", max((run.updated for run in site.runs), default="1970-01-01T00:00:00Z"))
    ElementTree.SubElement(root, "link", href="feed.xml", rel="self", type="application/atom+xml")
    ElementTree.SubElement(root, "link", href="index.html", rel="alternate", type="text/html")
    _add(ElementTree.SubElement(root, "author"), "name", "lmrbench")
    for run in sorted(site.runs, key=lambda item: (item.updated, item.number), reverse=True):
        _add_entry(root, run)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def anchor(run: RunInfo) -> str:
    """Where a run stands on the page of how it was graded."""
    return f"run-{run.number}"


def _add_entry(root: ElementTree.Element, run: RunInfo) -> None:
    entry = ElementTree.SubElement(root, "entry")
    _add(entry, "title", f"{run.name}: {run.passes} of {run.answers} answers pass")
    _add(entry, "id", _urn("run", run.name, *run.systems))
    _add(entry, "updated", run.updated)
    ElementTree.SubElement(entry, "link", href=f"grading.html#{anchor(run)}", rel="alternate", type="text/html")
    kind = "verified: graded again under other seeds" if run.verification else "claimed"
    names = ", ".join(run.systems[:20]) + (f" and {len(run.systems) - 20} more" if len(run.systems) > 20 else "")
    _add(entry, "summary", f"{names or 'no system'}; {kind}.")


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = text


def _urn(kind: str, *key: str) -> str:
    return uuid.uuid5(_NAMES, page_name(kind, *key)).urn
