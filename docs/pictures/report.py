"""Draw docs/pictures/report.svg, the output of `lmrbench report`: `python docs/pictures/report.py RUN`."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.headlines import conclusions, headline_sheets
from lmrbench.report.render.tables import show
from lmrbench.runs.folder import read_run


def main() -> None:
    """Draw the report of a run folder."""
    made = build(together([read_run(Path(sys.argv[1]))], None))
    out = Console(record=True, width=104, file=io.StringIO(), force_terminal=True, highlight=False)
    out.print(f"$ lmrbench report {sys.argv[1]}", style="dim")
    for item in headline_sheets(made):
        show(item, out)
    for line in conclusions(made):
        out.print(line)
    picture = out.export_svg(title="lmrbench", theme=DEFAULT_TERMINAL_THEME, font_aspect_ratio=0.61)
    # Remove the web fonts, so that the picture loads nothing from another host.
    Path(__file__).with_suffix(".svg").write_text(re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL))


if __name__ == "__main__":
    main()
