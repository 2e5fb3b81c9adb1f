"""The pools of deviations that come with lmrbench, and one of the forensic tasks that are made of them."""

from collections import Counter

import pytest
from tests import core
from tests.graded import graded

from lmrbench.grading.forging import forged
from lmrbench.grading.systems import submissions_of
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.model import Draw, DrawId
from lmrbench.tasks.tiers.forensic import LADDER, TOGETHER, chosen, deviation_pool

PAPERS = {task.paper.slug: task for task in core.TASKS.values() if task.files.deviations}


def test_twenty_papers_have_a_pool():
    assert len(PAPERS) == 20


def test_a_paper_publishes_one_draw_of_each_size_and_every_second_one_is_entangled():
    for number, task in enumerate(PAPERS.values()):
        draws = deviation_pool(task).draws
        assert [draw.count for draw in draws] == list(LADDER)
        # In a chequerboard over papers and sizes. A draw of one deviation cannot be entangled.
        wanted = [place > 0 and (number + place) % 2 == 1 for place in range(len(LADDER))]
        assert [draw.entangled for draw in draws] == wanted


@pytest.mark.parametrize("task", PAPERS.values(), ids=PAPERS)
def test_a_pool_is_large_and_gives_draws_of_twelve_over_several_stages(task):
    pool = deviation_pool(task)
    assert len(pool.deviation) >= 30
    assert len({item.file for item in pool.deviation.values()}) >= 3
    stages = Counter(item.stage for item in pool.deviation.values())
    assert len(stages) >= 3
    assert max(stages.values()) <= 12
    for seed in range(20):
        for entangled in (False, True):
            draw = Draw(count=12, seed=seed, entangled=entangled)
            of_draw = Counter(pool.deviation[name].stage for name in chosen(task, pool, draw))
            assert sum(of_draw.values()) == 12
            assert max(of_draw.values()) <= max(TOGETHER, -(-12 // len(stages)))


@pytest.mark.torch
@pytest.mark.sandbox
def test_the_reference_of_a_published_draw_passes_and_the_faithful_repository_fails():
    with open_pool("bubblewrap", (), 1) as workers:
        task = forged(PAPERS["dpo"], DrawId(1, 0), workers)
        submissions = [*submissions_of("golden", [task]), *submissions_of("mask", [task])]
        found = {item.system: item for item in graded(submissions, {task.id: task}, (5,), workers)}
    assert (found["golden"].correct, found["golden"].found) == (True, 1.0)
    assert (found["mask"].correct, found["mask"].found) == (False, 0.0)
