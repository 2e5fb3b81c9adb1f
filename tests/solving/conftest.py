"""What the tests of solving need around them."""

import pytest

from lmrbench.sandbox.pool import WorkerPool
from lmrbench.solving import scoring


@pytest.fixture(autouse=True)
def no_worker_outlives_its_test(monkeypatch):
    """An evaluation keeps its workers until the process ends, and this process runs other tests, which count theirs."""
    pools = []

    class WatchedPool(WorkerPool):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            pools.append(self)

    monkeypatch.setattr(scoring, "WorkerPool", WatchedPool)
    yield
    for pool in pools:
        pool.__exit__(None, None, None)
    scoring._pool.cache_clear()
