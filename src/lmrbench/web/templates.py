"""The templates of pages: everything that is put into one is escaped, and what is missing is an error."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from lmrbench.version import __version__


def templates() -> Environment:
    """An environment in which the templates of `pages/` are found."""
    environment = Environment(
        loader=PackageLoader("lmrbench.web", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["version"] = __version__
    return environment
