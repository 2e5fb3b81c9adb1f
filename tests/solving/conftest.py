"""What the tests of solving need around them."""

import pytest

from lmrbench.sandbox.registry import open_pool
from lmrbench.solving import scoring


@pytest.fixture(autouse=True)
def no_worker_outlives_its_test(monkeypatch):
    """An evaluation keeps its workers until the process ends, and this process runs other tests, which count theirs."""
    pools = []

    def watched_pool(*arguments):
        pools.append(open_pool(*arguments))
        return pools[-1]

    monkeypatch.setattr(scoring, "open_pool", watched_pool)
    yield
    for pool in pools:
        pool.__exit__(None, None, None)
