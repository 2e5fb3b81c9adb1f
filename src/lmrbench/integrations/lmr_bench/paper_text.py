"""Convert the text of a paper from JSON in various forms to Markdown.

The JSON may be a text, a list of paragraphs or sections, an object with title, abstract and sections, an object that
maps headings or page numbers to texts, or a list of paragraphs that each name their section. Values of other forms are
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TITLES = ("title", "heading", "section_title", "section", "header", "name")
_TEXTS = ("abstract", "text", "content", "contents", "body", "paragraphs")
_INNER = ("sections", "subsections", "body_text", "children", "pdf_parse")
_NOT_THE_TEXT = frozenset(
    {*_TITLES, "references", "bibliography", "bib_entries", "ref_entries", "authors", "acknowledgements", "keywords"}
    | {"year", "date", "venue", "url", "doi", "id", "paper_id", "metadata", "identifiers", "source"}
)
_PAGE = re.compile(r"(page)?[ _-]*\d+", re.IGNORECASE)
MAX_DEPTH = 6


def paper_markdown(value: object, title: str) -> str:
    """Convert the text of a paper to Markdown.

    Args:
        value: The parsed JSON.
        title: The title of the paper, which becomes the first heading.

    Returns:
        The Markdown; only the title if no text is found.
    """
    lines = [f"# {title}"]
    heading = title.casefold()
    for name, depth, text in _pieces(value, "", 0):
        if name.casefold() not in ("", heading):
            heading = name.casefold()
            lines.append(f"{'#' * min(max(depth, 2), MAX_DEPTH)} {' '.join(name.split())}")
        lines.append(text.strip())
    return "\n\n".join(line for line in lines if line) + "\n"


def _pieces(value: object, heading: str, depth: int) -> Iterator[tuple[str, int, str]]:
    """Yield the heading, the depth of the heading, and the text of each piece of the paper."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str):
        if value.strip():
            yield heading, depth, value
    elif isinstance(value, list):
        for item in value:
            yield from _pieces(item, heading, depth)
    elif isinstance(value, dict):
        yield from _object(value, heading, depth)


def _object(value: dict[str, object], heading: str, depth: int) -> Iterator[tuple[str, int, str]]:
    by_name = {str(key).casefold(): item for key, item in value.items()}
    own = next((by_name[name] for name in _TITLES if isinstance(by_name.get(name), str)), heading)
    # An object without keys for texts or sections maps headings to texts.
    is_table = not by_name.keys() & {*_TEXTS, *_INNER} - {"abstract"}
    # The abstract comes first, regardless of the order in the file.
    for name, item in sorted(value.items(), key=lambda pair: pair[0].casefold() != "abstract"):
        key = name.casefold()
        if key == "abstract":
            yield from _pieces(item, "Abstract", depth + 1)
        elif key in _TEXTS:
            yield from _pieces(item, str(own), depth + 1)
        elif key in _INNER:
            yield from _pieces(item, str(own) if depth else "", depth + 1)
        elif is_table and key not in _NOT_THE_TEXT:
            # A page number is not a heading.
            yield from _pieces(item, heading if _PAGE.fullmatch(name) else name, depth + 1)
