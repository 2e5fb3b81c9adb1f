"""Accuracy against the steps of demonstrations: added, compressed and wrong ones, and readers of three sizes."""

import json
from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np

from answers import clean_answer
from clusters import choose
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
from metrics import Log, mean_steps, mean_words
from rationales import manual_demo, wrong_demo
from reader import Reader
from run_inference import get_sentence, run_dataset
from steps import add_steps, compress_steps


def auto_demos(problems: list[Problem], reader: Reader, generator: np.random.Generator) -> list[Demo]:
    """Auto-CoT: diverse questions of the test set itself, each with the rationale and answer of the reader."""
    demos = []
    for problem in choose(problems, DEMONSTRATIONS, generator):
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


def run(seed: int = 0) -> dict[str, float]:
    """Accuracies in per cent, with steps of demonstrations and words of prompts beside them."""
    log = Log()
    reader = Reader(READERS["medium"], seed)
    for dataset in SIZES:
        generator = np.random.default_rng([seed, SIZES[dataset], len(dataset)])
        shown = make_dataset(dataset, DEMONSTRATIONS, generator)
        problems = make_dataset(dataset, TESTS, generator)
        demos = {"few_shot_cot": [manual_demo(problem) for problem in shown]}
        demos["auto_cot"] = auto_demos(problems, reader, generator)
        for method in METHODS:
            given = demos.get(method, demos["few_shot_cot"])
            log.add(dataset, method, run_dataset(problems, given, method, reader.complete))
        more = run_dataset(problems, [], "zero_shot_cot", reader.complete, MORE_STEPS_TRIGGER)
        log.add(dataset, "must think more steps", more)
        for method, given in demos.items():
            for count in range(1, MOST_ADDED + 1):
                longer = expand(given, count)
                log.add(dataset, f"{method} steps, added", mean_steps(longer), count)
                log.add(dataset, f"{method} added", run_dataset(problems, longer, method, reader.complete), count)
            for times in range(1, MOST_MERGED + 1):
                shorter = [compress_steps(demo, times, compress, generator) for demo in given]
                log.add(dataset, f"{method} steps, merged", mean_steps(shorter), times)
                log.add(dataset, f"{method} merged", run_dataset(problems, shorter, method, reader.complete), times)
        wrong = expand([wrong_demo(problem) for problem in shown], 1)
        log.add(dataset, "wrong prompt", run_dataset(problems, wrong, "few_shot_cot", reader.complete))
        longest = expand(demos["few_shot_cot"], MOST_ADDED)
        prompts = [
            get_sentence(longest, problem.question, "few_shot_cot", COT_TRIGGER, DIRECT_ANSWER_TRIGGER)
            for problem in problems
        ]
        log.add(dataset, "words of the longest prompts", mean_words(prompts))
        if dataset == "long arithmetic":
            for size, need in READERS.items():
                other = Reader(need, seed)
                for count in range(0, MOST_ADDED + 1, 3):
                    longer = expand(demos["few_shot_cot"], count)
                    value = run_dataset(problems, longer, "few_shot_cot", other.complete)
                    log.add(dataset, f"{size} reader, added", value, count)
    return log.figures


if __name__ == "__main__":
    print(json.dumps(run()))
