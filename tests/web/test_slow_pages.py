"""Answers that are slow to compare do not delay other pages."""

import threading

import anyio
import httpx
import pytest
from tests.web.helpers import answers

from lmrbench.runs.index import RunIndex
from lmrbench.web import app

COMPARE = "/run/0/compare?left_system=one&right_system=two&task=toy/blend&left_sample=0&right_sample=0"
ANSWER = "/run/0/answer?system=one&task=toy/blend&sample=0"


def viewer_of(run, tasks, length):
    """Serve a run with two answers of so many lines, which repeat a few."""
    for system, step in (("one", 7), ("two", 11)):
        lines = ["b = 1" if number % step == 0 else "a = 1" for number in range(length)]
        answers(run, system=system, code="\n".join(lines))
    return app.application(app.Viewer([RunIndex(run)], tasks, show_reference=False), ["*"])


def test_answers_that_repeat_few_lines_are_compared(tasks, tmp_path):
    viewer = viewer_of(tmp_path / "run", tasks, 8000)

    async def main():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(viewer), base_url="http://viewer") as client:
            return [await client.get(address, timeout=None) for address in (COMPARE, ANSWER)]

    pages = anyio.run(main)

    assert [page.status_code for page in pages] == [200, 200]
    assert pages[0].text.count("<tr") > 8000


@pytest.mark.parametrize(("work", "address"), [("compare_answers", COMPARE), ("compare_with_repository", ANSWER)])
def test_other_pages_are_served_while_answers_are_read(tasks, tmp_path, monkeypatch, work, address):
    viewer = viewer_of(tmp_path / "run", tasks, 80)
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
