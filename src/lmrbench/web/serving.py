"""What all our servers of pages share: the port, templates, headers, static files, pages of errors.

Everything in a page is escaped, no script runs but one that came with lmrbench, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlencode

import uvicorn
from jinja2 import Environment
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from lmrbench.errors import UsageError
from lmrbench.report.render.html import environment
from lmrbench.web.code import colours

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Listening(NamedTuple):
    """A socket that listens, the address that leads to it, and the names that a browser may call it by."""

    socket: socket.socket
    address: str
    names: list[str]


@contextmanager
def listening(host: str, port: int) -> Iterator[Listening]:
    """Listen on a port; 0 for any that is free. Raises UsageError where that can't be done."""
    try:
        found = socket.create_server((host, port))
    except OSError as error:
        raise UsageError(f"{host}:{port}: {os.strerror(error.errno or 0)}; name another with --port") from error
    with found:
        place = ip_address(found.getsockname()[0])
        # On loopback, another site whose name leads here must not be answered.
        names = ["localhost", "127.0.0.1"] if place.is_loopback else ["*"]
        called = socket.gethostname() if place.is_unspecified else host
        yield Listening(found, f"http://{called}:{found.getsockname()[1]}", names)


def serve(application: Starlette, server: Listening) -> None:
    """Answer requests until Ctrl-C."""
    # Who started this in the background reads the address now.
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(application, log_level="error")).run([server.socket])


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made of a template."""
    return HTMLResponse(_templates().get_template(f"{name}.jinja").render(**values), status, HEADERS)


def refused(layout: str) -> Callable[[Request, Exception], Response]:
    """Makes pages, of that layout, which say what is wrong."""

    def respond(request: Request, error: Exception) -> Response:
        status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, str(error))
        title = "Not here" if status == 404 else "Not possible"
        return page("error", status, layout=f"{layout}.jinja", title=title, message=message)

    return respond


def static(request: Request) -> Response:
    """Style sheets, scripts and the icon."""
    kind, text = _STATIC.get(request.path_params["name"], ("", None))
    if text is None:
        raise HTTPException(404, "There is no such file.")
    return Response(text(), media_type=kind, headers=HEADERS)


def in_turn(endpoint: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """One request after the other, in the server's own thread: what an endpoint reads is not shared between threads."""

    async def respond(request: Request) -> Response:
        return endpoint(request)

    return respond


@cache
def _templates() -> Environment:
    made = environment("lmrbench.web", "pages")
    made.globals["link"] = _link
    return made


def _link(path: str, **query: object) -> str:
    """An address with its query, of which what is empty is left out."""
    kept = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{path}?{urlencode(kept)}" if kept else path


def _own(name: str) -> Callable[[], str]:
    return lambda: (files("lmrbench.web") / "static" / name).read_text("utf-8")


_STATIC: Mapping[str, tuple[str, Callable[[], str] | None]] = {
    "style.css": ("text/css", _own("style.css")),
    "annotate.css": ("text/css", _own("annotate.css")),
    "code.css": ("text/css", colours),
    "icon.svg": ("image/svg+xml", _own("icon.svg")),
    "view.js": ("text/javascript", _own("view.js")),
    "annotate.js": ("text/javascript", _own("annotate.js")),
}
