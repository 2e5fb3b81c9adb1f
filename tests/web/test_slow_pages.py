"""Answers that are slow to compare do not delay other pages."""

import threading

import anyio
import httpx
import pytest
from tests.web.helpers import answers

from lmrbench.runs.index import RunIndex
from lmrbench.tasks.loading import load_suite
from lmrbench.web import app

COMPARE = "/run/0/compare?left_system=one&right_system=two&task=toy/blend&left_sample=0&right_sample=0"
ANSWER = "/run/0/answer?system=one&task=toy/blend&sample=0"


@pytest.fixture
def viewer(toy_suite, tmp_path):
    """Serve a run with two long answers that repeat a few lines."""
    for system, step in (("one", 7), ("two", 11)):
        lines = ["b = 1" if number % step == 0 else "a = 1" for number in range(8000)]
        answers(tmp_path / "run", system=system, code="\n".join(lines))
    tasks = {task.id: task for task in load_suite(toy_suite)}
    viewer = app.Viewer([RunIndex(tmp_path / "run")], tasks, show_reference=False)
    return app.application(viewer, ["*"])


def test_answers_that_repeat_few_lines_are_compared(viewer):
    async def main():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(viewer), base_url="http://viewer") as client:
            return [await client.get(address, timeout=None) for address in (COMPARE, ANSWER)]

    pages = anyio.run(main)

    assert [page.status_code for page in pages] == [200, 200]
    assert pages[0].text.count("<tr") > 8000


@pytest.mark.parametrize(("work", "address"), [("compare_answers", COMPARE), ("compare_with_repository", ANSWER)])
def test_other_pages_are_served_while_answers_are_read(viewer, monkeypatch, work, address):
    begun, go_on = threading.Event(), threading.Event()
    quick = getattr(app, work)

    def slow(*arguments):
        begun.set()
        assert go_on.wait(60)
        return quick(*arguments)

    monkeypatch.setattr(app, work, slow)
    pages = {}

    async def main():
        async with (
            httpx.AsyncClient(transport=httpx.ASGITransport(viewer), base_url="http://viewer") as client,
            anyio.create_task_group() as group,
        ):

            async def get(place):
                pages[place] = await client.get(place, timeout=None)

            group.start_soon(get, address)
            await anyio.to_thread.run_sync(begun.wait)
            await get("/")
            assert address not in pages
            go_on.set()

    anyio.run(main)

    assert {page.status_code for page in pages.values()} == {200}
