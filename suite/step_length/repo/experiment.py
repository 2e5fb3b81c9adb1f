"""What the steps of demonstrations do to a reader: its chances after steps that are added, merged, or wrong."""

import json
from collections.abc import Sequence
from itertools import cycle, islice
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from answers import clean_answer
from clusters import cluster, distances, embed, nearest
from compressor import compress
from config import (
    COT_TRIGGER,
    DEMONSTRATIONS,
    DIRECT_ANSWER_TRIGGER,
    METHODS,
    MORE_STEPS_TRIGGER,
    MOST_ADDED,
    MOST_MERGED,
    READERS,
    STRATEGIES,
    TESTS,
)
from data import SIZES, Demo, Problem, make_dataset
from metrics import Log, mean_steps
from rationales import manual_demo, wrong_demo
from reader import Reader
from run_inference import get_sentence, run_dataset
from steps import add_steps, compress_steps


def rationales(demos: Sequence[Demo]) -> list[str]:
    return [demo.rationale for demo in demos]


def auto_demos(
    problems: Sequence[Problem], vectors: NDArray[np.float64], centres: NDArray[np.float64], reader: Reader
) -> list[Demo]:
    """Auto-CoT: the question that is nearest to each centre, with the rationale and answer of the reader."""
    demos = []
    for problem in [problems[place] for place in nearest(vectors, centres)]:
        prompt = get_sentence([], problem.question, "zero_shot_cot", COT_TRIGGER, DIRECT_ANSWER_TRIGGER)
        completion = reader.complete(prompt)
        rationale, _, _ = completion.rpartition(DIRECT_ANSWER_TRIGGER)
        answer = clean_answer(problem.task, completion)
        if answer is not None:
            demos.append(Demo(problem.task, problem.question, rationale, answer))
    return demos


def expand(demos: Sequence[Demo], count: int) -> list[Demo]:
    """Demonstrations with a number of strategies applied, from the first one again after the last."""
    names = list(islice(cycle(STRATEGIES), count))
    return [add_steps(demo, names) for demo in demos]


def shorten(demos: Sequence[Demo], times: int, seed: Sequence[int]) -> list[Demo]:
    """Demonstrations after a number of attempts to merge two steps."""
    generator = np.random.default_rng(seed)
    return [compress_steps(demo, times, compress, generator) for demo in demos]


def chance(
    log: Log,
    condition: str,
    problems: Sequence[Problem],
    demos: Sequence[Demo],
    method: str,
    reader: Reader,
    trigger: str = COT_TRIGGER,
) -> float:
    """The mean chance of a right answer; the accuracy of answers that are drawn goes into the rates."""
    chances = []

    def complete(prompt: str) -> str:
        chances.append(reader.chance(prompt))
        return reader.complete(prompt)

    log.add("rates", condition, run_dataset(problems, demos, method, complete, trigger))
    return fmean(chances)


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: texts, clusters, and the chance of a right answer for each dataset and condition."""
    log, reader = Log(), Reader(READERS["medium"])
    shown, tests, manual, auto = {}, {}, {}, {}
    for place, dataset in enumerate(SIZES):
        shown[dataset] = make_dataset(dataset, DEMONSTRATIONS, np.random.default_rng([seed, place]))
        tests[dataset] = make_dataset(dataset, TESTS, np.random.default_rng([seed + 2**20, place]))
        log.text("data", dataset, [problem.question for problem in [*shown[dataset], *tests[dataset]]])

    for dataset, problems in tests.items():
        for method in ("zero_shot", "zero_shot_cot"):
            name = f"{dataset}, {method}"
            log.add("zero-shot", name, chance(log, name, problems, [], method, reader))
        name = f"{dataset}, more steps"
        value = chance(log, name, problems, [], "zero_shot_cot", reader, MORE_STEPS_TRIGGER)
        log.add("zero-shot", name, value)

    wrong = {dataset: [wrong_demo(problem) for problem in problems] for dataset, problems in shown.items()}
    for dataset, problems in shown.items():
        manual[dataset] = [manual_demo(problem) for problem in problems]
        log.add("demonstrations", f"{dataset}, steps", mean_steps(manual[dataset]))
        log.text("demonstrations", dataset, rationales(manual[dataset]))
        log.text("demonstrations", f"{dataset}, wrong", rationales(wrong[dataset]))

    for method in METHODS:
        # One of the demonstrations asks the first question.
        asked = [(demos, problem) for name, demos in manual.items() for problem in (shown[name][0], tests[name][0])]
        prompts = [
            get_sentence(demos, problem.question, method, COT_TRIGGER, DIRECT_ANSWER_TRIGGER)
            for demos, problem in asked
        ]
        log.text("demonstrations", f"{method}, prompts", prompts)

    for place, (dataset, problems) in enumerate(tests.items()):
        vectors = embed([problem.question for problem in problems])
        centres = cluster(vectors, DEMONSTRATIONS, np.random.default_rng([seed + 2**21, place]))
        auto[dataset] = auto_demos(problems, vectors, centres, reader)
        chosen = vectors[nearest(vectors, centres)]
        log.add("clusters", f"{dataset}, to centres", distances(vectors, centres).min(axis=1).mean())
        log.add("clusters", f"{dataset}, between centres", distances(centres, centres).mean())
        log.add("clusters", f"{dataset}, to chosen", distances(vectors, chosen).mean())

    everybody = [demo for demos in manual.values() for demo in demos]
    for strategy in STRATEGIES:
        log.text("added steps", strategy, rationales([add_steps(demo, [strategy]) for demo in everybody]))
    for dataset, demos in manual.items():
        longest = expand(demos, MOST_ADDED)
        log.add("added steps", f"{dataset}, steps", mean_steps(longest))
        log.text("added steps", dataset, rationales(longest))

    merged = {}
    for place, (dataset, demos) in enumerate(manual.items()):
        for times in range(1, MOST_MERGED + 1):
            merged[dataset, times] = shorten(demos, times, [seed + 2**22, place, times])
        shorter = [demo for times in range(1, MOST_MERGED + 1) for demo in merged[dataset, times]]
        log.add("merged steps", f"{dataset}, steps", mean_steps(shorter))
        log.text("merged steps", dataset, rationales(shorter))

    for dataset, problems in tests.items():
        growing = [longer for count, demo in enumerate(manual[dataset]) for longer in expand([demo], count)]
        conditions = {
            "few_shot": ("few_shot", manual[dataset]),
            "few_shot_cot": ("few_shot_cot", manual[dataset]),
            "auto_cot": ("auto_cot", auto[dataset]),
            "auto_cot, all added": ("auto_cot", expand(auto[dataset], MOST_ADDED)),
            "wrong": ("few_shot_cot", expand(wrong[dataset], 1)),
            "one more for each": ("few_shot_cot", growing),
        }
        for count in (1, 3, MOST_ADDED):
            conditions[f"{count} added"] = ("few_shot_cot", expand(manual[dataset], count))
        for times in range(1, MOST_MERGED + 1):
            conditions[f"{times} merged"] = ("few_shot_cot", merged[dataset, times])
        for name, (method, demos) in conditions.items():
            name = f"{dataset}, {name}"
            log.add("evaluation", name, chance(log, name, problems, demos, method, reader))
    problems, demos = tests["long arithmetic"], manual["long arithmetic"]
    for size in ("small", "large"):
        for count in (0, MOST_ADDED):
            name = f"{size} reader, {count} added"
            value = chance(log, name, problems, expand(demos, count), "few_shot_cot", Reader(READERS[size]))
            log.add("evaluation", name, value)
    return log.figures


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
