"""Figures of `lmrbench report` for pages in light and in dark: text stays text, and black is the page's own colour."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

_ELEMENTS = frozenset(("svg", "g", "path", "defs", "use", "clipPath", "rect", "text", "tspan"))
_KEPT = frozenset(("clip-path", "d", "height", "id", "transform", "viewBox", "width", "x", "y"))
# What matplotlib writes as styles, which a strict policy refuses, may be attributes too.
_PROPERTIES = frozenset(
    (
        *("fill", "fill-opacity", "font-size", "opacity", "stroke", "stroke-dasharray", "stroke-linecap"),
        *("stroke-linejoin", "stroke-opacity", "stroke-width", "text-anchor"),
    )
)
_COLOURS = {
    "#000000": {"": "currentColor"},
    "#ffffff": {"": "none"},
    "#e6e6e6": {"": "currentColor", "-opacity": "0.2"},
}
_REFERENCE = re.compile(r"#(?=[\w-])")


def themed(svg: str, name: str) -> Markup:
    """A figure of `analysis.figures` as an element of a page, without styles, comments or anything that acts.

    name: what its ids begin with, for a page may hold the same figure of several boards.
    """
    root = ElementTree.fromstring(svg)
    _make_plain(root, name)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _make_plain(element: ElementTree.Element, name: str) -> None:
    element.tag = element.tag.rpartition("}")[2]
    attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    kept = {key: value for key, value in attributes.items() if key in _KEPT}
    if "id" in kept:
        kept["id"] = f"{name}-{kept['id']}"
    if "clip-path" in kept:
        kept["clip-path"] = _REFERENCE.sub(f"#{name}-", kept["clip-path"])
    if (target := attributes.get("href", "")).startswith("#"):
        kept["href"] = _REFERENCE.sub(f"#{name}-", target)
    for declaration in attributes.get("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key in _PROPERTIES:
            kept |= {f"{key}{end}": colour for end, colour in _COLOURS.get(value, {"": value}).items()}
    element.attrib = kept
    for child in list(element):
        if child.tag.rpartition("}")[2] in _ELEMENTS:
            _make_plain(child, name)
        else:
            element.remove(child)
