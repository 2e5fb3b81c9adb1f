"""Shared parts of lmrbench's web servers: sockets, templates, headers, static files and error pages.

Everything in a page is escaped, only scripts that come with lmrbench run, and nothing is loaded from other servers.
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
from lmrbench.web.code import highlighting_css

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Listening(NamedTuple):
    """A listening socket.

    Attributes:
        socket: The socket.
        address: The URL of the server.
        names: The host names that requests may use.
    """

    socket: socket.socket
    address: str
    names: list[str]


@contextmanager
def listening(host: str, port: int) -> Iterator[Listening]:
    """Listen on a port while the context is open.

    Args:
        host: The host name or address to listen on.
        port: The port; 0 for any free one.

    Yields:
        The listening socket.

    Raises:
        UsageError: The port can't be opened.
    """
    try:
        found = socket.create_server((host, port))
    except OSError as error:
        raise UsageError(f"{host}:{port}: {os.strerror(error.errno or 0)}; choose another port with --port") from error
    with found:
        place = ip_address(found.getsockname()[0])
        # On loopback, refuse requests for other host names, which prevents DNS rebinding.
        names = ["localhost", "127.0.0.1"] if place.is_loopback else ["*"]
        called = socket.gethostname() if place.is_unspecified else host
        yield Listening(found, f"http://{called}:{found.getsockname()[1]}", names)


def serve(application: Starlette, server: Listening) -> None:
    """Answer requests until Ctrl-C."""
    # A parent process that started the server in the background can read the address only after a flush.
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(application, log_level="error")).run([server.socket])


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page.

    Args:
        name: The name of the template without its suffix.
        status: The HTTP status.
        values: The variables of the template.

    Returns:
        The page as a response.
    """
    return HTMLResponse(_templates().get_template(f"{name}.jinja").render(**values), status, HEADERS)


def error_handler(layout: str) -> Callable[[Request, Exception], Response]:
    """Make an exception handler that shows the error in a page with the given layout."""

    def respond(request: Request, error: Exception) -> Response:
        status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, str(error))
        title = "Not found" if status == 404 else "Error"
        return page("error", status, layout=f"{layout}.jinja", title=title, message=message)

    return respond


def static(request: Request) -> Response:
    """Serve style sheets, scripts and the icon."""
    kind, text = _STATIC.get(request.path_params["name"], ("", None))
    if text is None:
        raise HTTPException(404, "File not found.")
    return Response(text(), media_type=kind, headers=HEADERS)


def sequential(endpoint: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Wrap an endpoint so that it runs in the server's own thread.

    It then handles one request at a time, and no other thread uses its data.
    """

    async def respond(request: Request) -> Response:
        return endpoint(request)

    return respond


@cache
def _templates() -> Environment:
    made = environment("lmrbench.web", "pages")
    made.globals["link"] = _link
    return made


def _link(path: str, **query: object) -> str:
    """Build a URL with a query string, without empty parameters."""
    kept = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{path}?{urlencode(kept)}" if kept else path


def _static_text(name: str) -> Callable[[], str]:
    return lambda: (files("lmrbench.web") / "static" / name).read_text("utf-8")


_STATIC: Mapping[str, tuple[str, Callable[[], str] | None]] = {
    "style.css": ("text/css", _static_text("style.css")),
    "annotate.css": ("text/css", _static_text("annotate.css")),
    "code.css": ("text/css", highlighting_css),
    "icon.svg": ("image/svg+xml", _static_text("icon.svg")),
    "view.js": ("text/javascript", _static_text("view.js")),
    "annotate.js": ("text/javascript", _static_text("annotate.js")),
}
