"""The paper's two kinds of figures, as SVG files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

SIDE = 320
MARGIN = 40
COLOURS = ("royalblue", "darkorange", "seagreen", "crimson")


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
    title: the line above the figure.
    path: an SVG file, in a folder that exists.
    """
    if magnitudes.ndim != 2 or (magnitudes < 0).any():
        raise ValueError("magnitudes: expected a row for each token and no negative value")
    for ticks, length in ((list(token_ticks), len(magnitudes)), (list(feature_ticks), magnitudes.shape[1])):
        if ticks != sorted(set(ticks)) or any(not 0 <= tick < length for tick in ticks):
            raise ValueError(f"ticks: expected ascending positions below {length}, got {ticks}")
    _draw_surface(SurfaceFigure(magnitudes, token_ticks, feature_ticks, title), path)


def plot_layers_vit(series: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """Draw one line for each series, with a value for each layer from 1 on."""
    highest = max(max(values) for values in series.values())
    shapes = []
    for place, (name, values) in enumerate(series.items()):
        colour = COLOURS[place % len(COLOURS)]
        across = np.linspace(0, SIDE, len(values))
        shapes.append(_line(across, np.asarray(values) / highest * SIDE, colour))
        shapes.append(_text(name, 0, SIDE - 12 * place, colour))
    shapes += [_text(str(layer), x, -15) for layer, x in enumerate(across, start=1)]
    _write(shapes, title, path)


def _draw_surface(surface: SurfaceFigure, path: Path) -> None:
    """Features run to the right, tokens to the back, that is to the right and upwards."""
    tokens, width = surface.magnitudes.shape
    back = np.linspace(0, SIDE / 3, tokens)
    right = np.linspace(0, SIDE * 2 / 3, width)
    heights = surface.magnitudes * (SIDE * 2 / 3 / max(surface.magnitudes.max(), 1e-9))
    shapes = []
    for position in reversed(range(tokens)):
        colour = "crimson" if position in surface.token_ticks else "royalblue"
        shapes.append(_line(back[position] + right, back[position] + heights[position], colour))
    shapes += [_text(name, back[place] + right[-1], back[place]) for place, name in surface.token_ticks.items()]
    shapes += [_text(str(feature), right[feature], -15) for feature in surface.feature_ticks]
    _write(shapes, surface.title, path)


def _line(across: Iterable[float], heights: Iterable[float], colour: str) -> str:
    points = " ".join(f"{x:.1f},{SIDE - y:.1f}" for x, y in zip(across, heights, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}"/>'


def _text(text: str, x: float, height: float, colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{SIDE - height:.1f}" font-size="10" fill="{colour}">{escape(text)}</text>'


def _write(shapes: Sequence[str], title: str, path: Path) -> None:
    box = f"{-MARGIN} {-MARGIN} {SIDE + 2 * MARGIN} {SIDE + 2 * MARGIN}"
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">', _text(title, 0, SIDE + 20), *shapes, "</svg>"]
    path.write_text("\n".join(lines))
