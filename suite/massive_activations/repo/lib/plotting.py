"""The paper's two kinds of figures. matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SurfaceFigure:
    """A figure with a line of magnitudes for each token."""

    magnitudes: NDArray[np.floating]
    token_ticks: Mapping[int, str]
    feature_ticks: Sequence[int]
    title: str


def plot_3d_feat_vit(
    magnitudes: NDArray[np.floating],
    token_ticks: Mapping[int, str],
    feature_ticks: Sequence[int],
    title: str,
    path: Path,
) -> None:
    """Draw the magnitudes of one hidden state over tokens and features, and write the figure to a file.

    magnitudes: (tokens, width), none below 0.
    token_ticks: the positions of the tokens that are pointed out, counted from 0 and ascending, and their names.
    feature_ticks: the features that are pointed out, counted from 0 and ascending, each once.
    title: stands above the figure.
    path: a PNG file, in a folder that exists.
    """
    if magnitudes.ndim != 2 or (magnitudes < 0).any():
        raise ValueError("magnitudes: a row for each token, and no negative value")
    for ticks, length in ((list(token_ticks), len(magnitudes)), (list(feature_ticks), magnitudes.shape[1])):
        if ticks != sorted(set(ticks)) or any(not 0 <= tick < length for tick in ticks):
            raise ValueError(f"ticks: {ticks}")
    _draw_surface(SurfaceFigure(magnitudes, token_ticks, feature_ticks, title), path)


def plot_layers_vit(series: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """Draw one line for each series, with a value for each layer from 1 on."""
    figure, axes = _new_figure(title)
    for name, values in series.items():
        axes.plot(range(1, len(values) + 1), values, marker="o", markersize=3, label=name)
    axes.set_xlabel("Layers")
    axes.set_ylabel("Magnitudes")
    axes.legend(fontsize=6)
    figure.savefig(path)


def _draw_surface(surface: SurfaceFigure, path: Path) -> None:
    figure, axes = _new_figure(surface.title, projection="3d")
    features = np.arange(surface.magnitudes.shape[1])
    for position, row in enumerate(surface.magnitudes):
        colour = "tab:red" if position in surface.token_ticks else "tab:blue"
        axes.plot(np.full_like(features, position), features, row, color=colour, linewidth=0.8)
    axes.set_xticks(list(surface.token_ticks), list(surface.token_ticks.values()), fontsize=7)
    axes.set_yticks(list(surface.feature_ticks), [str(tick) for tick in surface.feature_ticks], fontsize=7)
    figure.savefig(path)


def _new_figure(title: str, **options):
    """A figure without a window, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3), dpi=80)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(**options)
    axes.set_title(title)
    return figure, axes
