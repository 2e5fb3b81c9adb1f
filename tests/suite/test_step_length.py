"""step_length: prompts and rationales by hand, a slow compression, and what the paper says of the number of steps."""

from statistics import fmean

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
import numpy as np
from config import METHODS, STRATEGIES
from data import SIZES, Demo, make_problem
from experiment import run
from rationales import manual_demo
from run_inference import get_sentence
from steps import add_steps, compress_steps

bus = Demo(
    "arithmetic",
    "Ada has 9  pens. Ada buys 4 pens. Ada loses 2 pens. How many pens does Ada have now?",
    "Ada buys 4, so there are 9 + 4 = 13. Ada loses 2, so there are 13 - 2 = 11",
    "11",
)
coin = Demo("coin", "A coin is heads up. Bo flips the coin. Is the coin still heads up?", "It is tails up.", "no")
facts = {"prompts": {m: get_sentence([bus, coin], " is  the END near?", m, "Let us  see", "So it is") for m in METHODS}}
facts["asked"] = get_sentence([bus, coin], coin.question.upper(), "few_shot", "", "So it is")
names = ["self_verification", "make_equation", "repeat_state", "think_word", "repeat_state", "read_question"]
facts["added"] = add_steps(bus, names).rationale
generator = np.random.default_rng(0)
manual = {dataset: manual_demo(make_problem(dataset, generator)) for dataset in SIZES}
count = lambda demo: demo.rationale.count(". ") + demo.rationale.count("? ") + 1
more = lambda one, names: count(add_steps(one, names)) - count(one)
facts["steps"] = [[more(one, list(STRATEGIES)[:k]) for k in range(6)] for one in manual.values()]
letters = Demo("letter", "?", "It is 1. It is 2. It is 3. It is 4. It is 5. It is 6.", "x")
asked = []

def ask(prompt):
    first, second = (line.partition(": ")[2] for line in prompt.split("\\n")[1:3])
    asked.append([first, second])
    useless = {2: "", 3: "No, it is nothing."}
    return useless.get(len(asked), first[:-1] + second.removeprefix("It is"))

facts["compressed"] = [compress_steps(letters, 5, ask, np.random.default_rng(7)).rationale, asked]
facts["draws"] = [int(g.integers(p)) for g in [np.random.default_rng(7)] for p in (5, 4, 4, 4, 3)]
facts["experiments"] = [run(seed) for seed in range(6)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("step_length", FACTS)


def test_prompts_of_all_methods_by_hand(facts):
    bus = "Q: Ada has 9 pens. Ada buys 4 pens. Ada loses 2 pens. How many pens does Ada have now?\nA:"
    coin = "Q: A coin is heads up. Bo flips the coin. Is the coin still heads up?\nA:"
    asked = "Q: is the END near?\nA:"
    steps = "Ada buys 4, so there are 9 + 4 = 13. Ada loses 2, so there are 13 - 2 = 11."
    assert facts["prompts"] == {
        "zero_shot": f"{asked} So it is",
        "zero_shot_cot": f"{asked} Let us see.",
        "few_shot": f"{bus} So it is 11.\n\n{coin} So it is no.\n\n{asked}",
        "few_shot_cot": f"{bus} {steps} So it is 11.\n\n{coin} It is tails up. So it is no.\n\n{asked}",
        "auto_cot": f"{bus} Let us see. {steps} So it is 11.\n\n{coin} Let us see. It is tails up. So it is no.\n\n"
        f"{asked} Let us see.",
    }


def test_the_question_that_is_asked_is_not_shown(facts):
    question = "A COIN IS HEADS UP. BO FLIPS THE COIN. IS THE COIN STILL HEADS UP?"
    assert facts["asked"].endswith(f"So it is 11.\n\nQ: {question}\nA:")
    assert facts["asked"].count("Q:") == 2


def test_added_steps_by_hand(facts):
    assert facts["added"] == (
        "The stem of the question is Ada, pens, buys: think about Ada, think about pens, think about buys. "
        "The question is: How many pens does Ada have now? "
        "Ada buys 4, so there are 9 + 4 = 13. So far the count is 13. "
        "Ada loses 2, so there are 13 - 2 = 11. So far the count is 11. "
        "As an equation we have 9 + 4 - 2 = 11. "
        "To verify: a count is a whole number and not below 0, and 11 is in line with that."
    )


def test_each_strategy_is_a_step_but_an_equation_of_letters(facts):
    assert facts["steps"] == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 4], [0, 1, 2, 3, 4, 5]]


def test_compression_draws_a_pair_for_each_attempt_and_keeps_it_where_the_reply_is_of_no_use(facts):
    rationale, asked = facts["compressed"]
    steps, wanted = [f"It is {number}." for number in range(1, 7)], []
    for attempt, place in enumerate(facts["draws"], start=1):
        wanted.append(steps[place : place + 2])
        if attempt not in (2, 3):
            steps[place : place + 2] = [steps[place][:-1] + steps[place + 1].removeprefix("It is")]
    assert asked == wanted
    assert rationale == " ".join(steps)


DATASETS = ["arithmetic", "long arithmetic", "letter", "coin"]


@pytest.mark.parametrize("dataset", DATASETS)
def test_more_steps_give_better_answers_and_fewer_worse_ones(facts, dataset):
    def chance(condition):
        return fmean(figures["evaluation"][f"{dataset}, {condition}"] for figures in facts["experiments"])

    assert chance("few_shot_cot") < chance("1 added") < chance("3 added") < chance("6 added")
    assert chance("6 added") > chance("few_shot_cot") + 0.1
    assert chance("3 merged") <= chance("1 merged") < chance("few_shot_cot")
    assert chance("auto_cot, all added") > chance("auto_cot") + 0.1


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_trigger_that_asks_for_more_steps_gives_better_answers(facts, dataset):
    for figures in facts["experiments"]:
        names = ("zero_shot", "zero_shot_cot", "more steps")
        direct, steps, more = (figures["zero-shot"][f"{dataset}, {name}"] for name in names)
        assert direct < steps < more


def test_a_wrong_step_matters_to_coins_and_not_to_arithmetic(facts):
    for figures in facts["experiments"]:
        chances = figures["evaluation"]
        for dataset in ("arithmetic", "long arithmetic", "letter"):
            assert chances[f"{dataset}, wrong"] == pytest.approx(chances[f"{dataset}, 1 added"])
        assert chances["coin, wrong"] == pytest.approx(chances["coin, few_shot"])


def test_the_weaker_reader_gains_more_from_added_steps_for_its_size(facts):
    for figures in facts["experiments"]:
        chances = figures["evaluation"]
        small, large = (
            chances[f"{size} reader, 6 added"] / chances[f"{size} reader, 0 added"] for size in ("small", "large")
        )
        assert small > large


def test_chances_are_those_of_drawn_answers(facts):
    for stage in ("zero-shot", "evaluation"):
        chances, rates = [], []
        for figures in facts["experiments"]:
            chances += figures[stage].values()
            rates += [figures["rates"][name] for name in figures[stage]]
        assert 100 * fmean(chances) == pytest.approx(fmean(rates), abs=8)
