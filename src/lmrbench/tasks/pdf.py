"""The text of a PDF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmrbench.errors import TaskError


def pdf_pages(file: Path) -> Iterator[str]:
    """The text of each page. Raises TaskError for a file that can't be read, or where pypdfium2 is not installed."""
    try:
        import pypdfium2

        with pypdfium2.PdfDocument(file) as document:
            for page in document:
                yield page.get_textpage().get_text_range()
    except ImportError as error:
        raise TaskError(f"{file}: reading a PDF needs pypdfium2: pip install 'lmrbench[models]'") from error
    except (OSError, RuntimeError) as error:
        raise TaskError(f"{file}: {error}") from error
