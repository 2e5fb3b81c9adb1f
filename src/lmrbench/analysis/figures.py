"""Figures, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from lmrbench.errors import UsageError


def draw_suite(
    categories: Mapping[str, tuple[int, int | None]], lines: Mapping[str, tuple[int, int]], file: Path
) -> None:
    """Draw how many tasks each category has, and how many lines each task masks in how many of its repository.

    categories: by title, the number of tasks here and in the published edition. lines: by task, masked and of the
    repository. The file's ending names its format. Raises UsageError for one that matplotlib does not write.
    """
    with mpl.rc_context({"svg.hashsalt": "lmrbench", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        places = range(len(categories))
        left.barh([place - 0.2 for place in places], [here for here, _ in categories.values()], 0.4, label="here")
        published = [count or 0 for _, count in categories.values()]
        if any(published):
            left.barh([place + 0.2 for place in places], published, 0.4, label="published edition", color="lightgrey")
            left.legend()
        left.set(yticks=places, yticklabels=list(categories), xlabel="tasks")
        left.invert_yaxis()
        right.scatter([repository for _, repository in lines.values()], [masked for masked, _ in lines.values()], s=14)
        right.set(xlabel="lines of the repository", ylabel="masked lines")
        try:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
        except ValueError as error:
            raise UsageError(f"--figure {file}: {error}") from error
