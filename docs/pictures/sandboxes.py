"""Draw docs/pictures/sandboxes.svg: `python docs/pictures/sandboxes.py`. A test compares the file with this script."""

from __future__ import annotations

from html import escape
from pathlib import Path

WIDTH, HEIGHT = 860, 400
INK, SOFT, GOLD, CANDIDATE, OUTSIDE = "#1b1f24", "#57606a", "#fff4d6", "#e6f0ff", "#eef5ea"


def box(x: int, y: int, width: int, height: int, fill: str, title: str, lines: list[str]) -> str:
    """Return a rounded box with a bold title and lines of text."""
    parts = [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" stroke="{SOFT}"/>',
        f'<text x="{x + 14}" y="{y + 26}" font-weight="bold">{escape(title)}</text>',
    ]
    parts += [
        f'<text x="{x + 14}" y="{y + 50 + 20 * i}" fill="{SOFT}">{escape(line)}</text>' for i, line in enumerate(lines)
    ]
    return "\n".join(parts)


def arrow(points: list[tuple[int, int]], label: str, x: int, y: int) -> str:
    """Return an arrow through these points, with a label."""
    path = " ".join(f"{'M' if number == 0 else 'L'}{px},{py}" for number, (px, py) in enumerate(points))
    line = f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.5" marker-end="url(#head)"/>'
    return f'{line}\n<text x="{x}" y="{y}" font-size="13">{escape(label)}</text>'


def picture() -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="14" fill="{INK}" role="img" '
        'aria-label="Reference and candidate are observed in two sandboxes that never meet; '
        'their outputs are compared outside of both.">',
        '<defs><marker id="head" markerWidth="9" markerHeight="9" refX="8" refY="4" orient="auto">'
        f'<path d="M0,0 L9,4 L0,8 z" fill="{INK}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        box(
            20,
            20,
            250,
            110,
            OUTSIDE,
            "check",
            ["cases(seed): inputs", "observe(case): outputs", "no expected value in it"],
        ),
        box(
            20,
            255,
            250,
            120,
            OUTSIDE,
            "submission",
            ["only the masked functions", "are taken from it, into", "a fresh repository"],
        ),
        box(
            330,
            20,
            230,
            130,
            GOLD,
            "sandbox of the reference",
            ["the complete repository", "same cases, same seed", "no network, no files"],
        ),
        box(
            330,
            245,
            230,
            130,
            CANDIDATE,
            "sandbox of the candidate",
            ["repository + answer", "no expected values,", "no network"],
        ),
        box(
            620,
            125,
            220,
            145,
            OUTSIDE,
            "compare",
            ["outside of both:", "floats within tolerance,", "all else exactly;", "verdicts, signed"],
        ),
        arrow([(270, 60), (330, 60)], "cases", 280, 52),
        arrow([(145, 130), (145, 195), (390, 195), (390, 245)], "the same cases", 160, 187),
        arrow([(270, 315), (330, 315)], "answer", 278, 307),
        arrow([(560, 85), (700, 85), (700, 125)], "observations", 575, 77),
        arrow([(560, 315), (700, 315), (700, 270)], "observations", 575, 335),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), "utf-8")
