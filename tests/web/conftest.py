"""Fixtures for tests of web pages: a browser, a viewer, and pages that must not log errors."""

import shutil
from contextlib import ExitStack

import pytest
from tests.web.helpers import serving

CHROMIUM = shutil.which("chromium")
# Milliseconds; pages load slowly on a busy machine.
PATIENCE = 120_000


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("NOT TESTED: no chromium; see make browser")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def serve(toy_suite):
    """Return a function that serves runs and returns the server's address."""
    with ExitStack() as servers:

        def start(*runs, options=()):
            command = ("view", *runs, "--suite", toy_suite, "--port", 0, *options)
            _, (line,) = servers.enter_context(serving(*command))
            return line.split()[0]

        yield start


@pytest.fixture
def new_page(browser):
    """Return a function that opens pages, each with cookies of its own.

    The test fails if a script fails or a page sends a request to another host. `expected` lists parts of messages that
    are allowed.
    """
    contexts, seen = [], []

    def open_page(expected=(), **options):
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()

        def note(text):
            if not any(words in text for words in expected):
                seen.append(text)

        page.on("pageerror", lambda error: note(f"{error}"))
        page.on("console", lambda message: note(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: note(dialog.message))
        page.on("request", lambda request: note(request.url) if "//127.0.0.1:" not in request.url else None)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not seen


@pytest.fixture
def page(serve, new_page):
    """Open a page that is closed before the servers stop."""
    return new_page()
