"""Render Markdown with formulas, such as instructions and summaries of papers, as inert HTML with MathML."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

# The MathML that the converter produces. Other markup, such as HTML that it copies from a formula, is refused.
_ELEMENTS = re.compile(
    "math|mrow|m[ino]|mtext|mspace|mfrac|msqrt|mroot|m(?:sub|sup|subsup|under|over|underover)|mtable|mtr|mtd|mstyle|"
    "mpadded|mphantom|menclose"
)
_ATTRIBUTES = re.compile(
    "display|mathvariant|stretchy|fence|form|accent|largeop|movablelimits|symmetric|[lr]space|(?:min|max)size|width|"
    "height|depth|linethickness|displaystyle|scriptlevel|column(?:align|lines|spacing)|row(?:lines|spacing)|separator|"
    "notation"
)


def _formula(tex: str, options: dict[str, Any]) -> str:
    try:
        root = ElementTree.fromstring(convert(tex, display="block" if options["display_mode"] else "inline"))
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
            if not _ELEMENTS.fullmatch(element.tag) or not all(map(_ATTRIBUTES.fullmatch, element.attrib)):
                raise ValueError(element.tag)
        html = ElementTree.tostring(root, encoding="unicode")
        # The tab index lets keyboard users scroll a wide formula.
        return f'<span class="formula" tabindex="0">{html}</span>' if options["display_mode"] else html
    except Exception:
        # The converter raises many kinds of exceptions on unsupported TeX; show the source instead.
        return str(Markup("<code>{}</code>").format(tex))


def _reader() -> MarkdownIt:
    # HTML is escaped, and images are disabled because the browser would load them from other servers.
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return reader.use(dollarmath_plugin, double_inline=True, renderer=_formula)


def prose(text: str) -> Markup:
    """Render Markdown as HTML. HTML in the text is escaped, and unsafe links (such as `javascript:`) stay text."""
    return Markup(_reader().render(text))
