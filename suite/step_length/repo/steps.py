"""Steps added to the rationale of a demonstration, and steps compressed (Sections 3.3 and 4.1)."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from config import BETWEEN, COMPRESS_PROMPT, LIST_SEPARATOR, PLACES, STRATEGIES, THOUGHT
from data import Demo
from facts import basic_fact, current_state, equation, final_question, stem_words
from text import information, join_pieces, split_steps, tidy


def add_steps(demo: Demo, strategies: Sequence[str]) -> Demo:
    """The demonstration with a step more in its rationale for each of the strategies.

    Raises ValueError for a strategy that `STRATEGIES` does not have.
    """
    if unknown := [name for name in strategies if name not in STRATEGIES]:
        raise ValueError(f"{unknown}")
    steps, answer, words = split_steps(demo.rationale), tidy(demo.answer), stem_words(demo.question)
    fact, holds = basic_fact(demo.task, demo.question, answer)
    fields = {
        "question": final_question(demo.question),
        "words": LIST_SEPARATOR.join(words),
        "thoughts": LIST_SEPARATOR.join(THOUGHT.format(word=word) for word in words),
        "equation": equation(demo.task, steps),
        "fact": fact,
        "answer": answer,
    }
    silent = {"think_word": not words, "make_equation": not fields["equation"]}
    placed: dict[str, list[str]] = {place: [] for place in PLACES}
    for name in strategies:
        strategy = STRATEGIES[name]
        if strategy.place != BETWEEN and not silent.get(name):
            template = strategy.contrary if strategy.contrary and not holds else strategy.template
            placed[strategy.place].append(template.format(**fields))
    summaries = strategies.count("repeat_state")
    stops = Counter(math.ceil(number * len(steps) / summaries) for number in range(1, summaries + 1))
    for number, step in enumerate(steps, start=1):
        placed[BETWEEN].append(step)
        if state := current_state(demo.task, steps[:number]):
            placed[BETWEEN] += [STRATEGIES["repeat_state"].template.format(state=state)] * stops[number]
    return replace(demo, rationale=join_pieces(step for place in PLACES for step in placed[place]))


def compress_steps(demo: Demo, times: int, ask: Callable[[str], str], generator: np.random.Generator) -> Demo:
    """The demonstration after some attempts to merge two consecutive steps of its rationale, drawn at random.

    ask: a model, from a prompt to its reply. An attempt whose reply is no compression leaves the two steps as they are.
    """
    steps = split_steps(demo.rationale)
    for _ in range(times):
        if len(steps) < 2:
            break
        place = generator.integers(len(steps) - 1)
        first, second = steps[place : place + 2]
        both = join_pieces([first, second])
        merged = split_steps(ask(COMPRESS_PROMPT.format(first=first, second=second)))
        if len(merged) == 1 and len(merged[0]) < len(both) and information(both) <= information(merged[0]):
            steps[place : place + 2] = merged
    return replace(demo, rationale=join_pieces(steps))
