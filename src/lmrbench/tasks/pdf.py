"""The text of a PDF."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lmrbench.errors import TaskError


def pdf_pages(file: Path) -> Iterator[str]:
    """Yield the text of each page. Raises TaskError for a file that can't be read."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(file) as document:
            for page in document:
                yield readable(page.get_textpage().get_text_range())
    except (OSError, RuntimeError) as error:
        raise TaskError(f"{file}: {error}") from error


def readable(text: str) -> str:
    """Text as pdfium gives it, with line ends of one kind, and with the words joined that a line end had split."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    # pdfium puts U+FFFE where a hyphen stood at the end of a line.
    return re.sub("\ufffe\n?", "", lines)
