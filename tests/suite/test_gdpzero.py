"""gdpzero: the golden against figures worked out by hand, a plain average and a slow search; and the paper's effect."""

import math
from statistics import fmean

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
from random import Random
import numpy as np
from core.acts import SYSTEM_ACTS
from core.config import GameConfig, PromptConfig, SearchConfig
from core.game import PersuasionGame
from core.mcts import OpenLoopMCTS
from core.model import ScriptedModel
from core.planner import PromptedPlanner
from core.session import PERSUADEE, PERSUADER, DialogSession
from core.tree import Node, Step
from experiment import run


def tree(**settings):
    rng = Random(5)
    model, rules = ScriptedModel(12, rng), GameConfig()
    planner = PromptedPlanner(model, PromptConfig(), rules)
    return OpenLoopMCTS(PersuasionGame(model, rules), planner, SearchConfig(**settings), rng)


def node(moves, prior, values, counts):
    spread = np.zeros(len(SYSTEM_ACTS))
    spread[list(moves)] = prior
    return Node(tuple(moves), spread, values, counts, 77)


facts = {}
one = tree(cpuct=2.0)
one.nodes["a"] = node((4, 1, 6), (0.5, 0.2, 0.3), [0.1, 0.6, 0.2], [9, 5, 2])
one.nodes["new"] = node((4, 1, 6), (0.2, 0.3, 0.5), [0.25] * 3, [0] * 3)
one.nodes["alike"] = node((4, 1, 6), (0.2, 0.4, 0.4), [0.0, 0.5, 0.5], [3, 2, 2])
one.nodes["none"] = node((), (), [], [])
facts["selected"] = {name: one.find_best_action(name) for name in ("a", "new", "alike")}
facts["none"] = [one.find_best_action("none")[0], one.find_best_action("none")[1] == -float("inf")]

session = DialogSession()
session.add(PERSUADER, "other", "I see.")
session.add(PERSUADEE, "neutral", "Okay.")
values = [0.5, -1.0, 0.25, 1.0, -0.3]
other = tree(q_0=0.5)
other.nodes[""] = node((6, 4), (0.5, 0.5), [0.5, 0.5], [0, 0])
for value in values:
    other.backpropagate([Step("", 4, session)], value)
kept = list(other.realizations["other"].values())
facts["averaged"] = [other.nodes[""].values, other.nodes[""].counts, [[one.value, one.visits] for one in kept]]
facts["mean"] = sum(values) / len(values)

# Every search, watched from outside: which act was taken at the root, and the value that was returned.
whole = tree(cpuct=1.5, max_realizations=2)
taken = {}
whole.search(DialogSession())
for _ in range(60):
    before = list(whole.nodes[""].counts)
    value = whole.search(DialogSession())
    place = [new - old for old, new in zip(before, whole.nodes[""].counts)].index(1)
    taken.setdefault(place, []).append(value)
root = whole.nodes[""]
facts["watched"] = [[sum(found) / len(found), len(found), root.values[place], root.counts[place]]
                    for place, found in taken.items()]
facts["most kept"] = max(len(kept) for kept in whole.realizations.values())
first = {name: kept for name, kept in whole.realizations.items() if name in SYSTEM_ACTS}
facts["visits"] = [[sum(one.visits for one in first[SYSTEM_ACTS[move]].values()), count]
                   for move, count in zip(root.moves, root.counts) if count]
facts["experiments"] = [run(seed) for seed in range(8)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("gdpzero", FACTS)


def test_scores_by_hand(facts):
    # The counts add up to 16, so the root is 4.
    scores = {4: 0.1 + 2 * 0.5 * 4 / 10, 1: 0.6 + 2 * 0.2 * 4 / 6, 6: 0.2 + 2 * 0.3 * 4 / 3}
    best = max(scores, key=lambda act: scores[act])
    assert facts["selected"]["a"] == [best, pytest.approx(scores[best])]


def test_the_prior_decides_where_nothing_was_tried(facts):
    assert facts["selected"]["new"] == [6, pytest.approx(0.25 + 2 * 0.5 * 1e-4)]


def test_the_first_of_equals_is_taken_and_nothing_where_nothing_is_legal(facts):
    assert facts["selected"]["alike"] == [1, pytest.approx(0.5 + 2 * 0.4 * math.sqrt(7) / 3)]
    assert facts["none"] == [-1, True]


def test_values_are_plain_averages_in_which_the_initial_value_does_not_count(facts):
    mean = pytest.approx(facts["mean"])
    assert facts["averaged"] == [[0.5, mean], [0, 5], [[mean, 5]]]


def test_the_root_of_a_whole_search_averages_what_its_searches_found(facts):
    for average, count, value, kept_count in facts["watched"]:
        assert value == pytest.approx(average)
        assert kept_count == count
    assert facts["most kept"] == 2


def test_every_search_through_an_act_went_through_one_of_its_dialogues(facts):
    assert facts["visits"]
    assert all(visits == count for visits, count in facts["visits"])


def test_the_search_persuades_more_people_than_the_plain_policy(facts):
    def mean(stage, metric):
        return fmean(metrics[stage][metric] for metrics in facts["experiments"])

    # Six people a run are few, so the size of the effect is that of several runs.
    chance = "donation probability"
    assert mean("evaluation", f"GDP-Zero/{chance}") > mean("evaluation", f"plain/{chance}") + 0.3
    assert mean("evaluation", "n=10/judged") > mean("evaluation", "plain/judged") + 0.3
    assert mean("rates", "GDP-Zero/donations") > mean("rates", "plain/donations") + 0.2
    assert mean("rates", "n=10/win rate") > 0.65
    for metrics in facts["experiments"]:
        assert metrics["evaluation"]["GDP-Zero/warmth"] > metrics["evaluation"]["plain/warmth"]
        assert metrics["evaluation"][f"GDP-Zero/{chance}"] > metrics["evaluation"][f"plain/{chance}"]
        assert metrics["evaluation"]["n=10/judged"] > metrics["evaluation"]["plain/judged"]
        assert metrics["rates"]["GDP-Zero/rejections"] <= metrics["rates"]["plain/rejections"]


def test_several_dialogues_and_the_choice_among_them_are_worth_more(facts):
    def mean(metric):
        return fmean(metrics["evaluation"][metric] for metrics in facts["experiments"])

    assert mean("n=10/value") > mean("n=10, k=1/value") + 0.1
    assert mean("n=10/value") > mean("n=10, no selection/value") + 0.1
