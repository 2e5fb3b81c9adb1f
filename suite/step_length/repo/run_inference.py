"""The prompt of each method, and a dataset run with it."""

from collections.abc import Callable, Sequence

from answers import clean_answer
from config import (
    ANSWER_MARK,
    BLOCK_END,
    COT_TRIGGER,
    DIRECT_ANSWER_TRIGGER,
    LINE_END,
    METHODS,
    QUESTION_LINE,
    SENTENCE_END,
)
from data import Demo, Problem
from metrics import accuracy
from text import as_sentence, join_pieces, question_key, split_steps, tidy


def get_sentence(demo: Sequence[Demo], x: str, method: str, cot_trigger: str, direct_answer_trigger: str) -> str:
    """The prompt for a question x, with the demonstrations that the method shows.

    Raises ValueError for a method that `METHODS` does not have.

    Args:
        demo: Demonstrations, of which the method may show all but those that ask x.
        x: The question that is asked.
        method: One of `METHODS`.
        cot_trigger: The sentence that begins reasoning.
        direct_answer_trigger: What announces an answer.
    """
    if method not in METHODS:
        raise ValueError(method)
    trigger, direct = as_sentence(cot_trigger), tidy(direct_answer_trigger)
    blocks = []
    for one in demo:
        if method.startswith("zero") or question_key(one.question) == question_key(x):
            continue
        pieces = [trigger] if method == "auto_cot" else []
        if method != "few_shot":
            pieces += split_steps(one.rationale)
        blocks.append((one.question, [*pieces, direct, tidy(one.answer) + SENTENCE_END]))
    blocks.append((x, [{"zero_shot": direct, "zero_shot_cot": trigger, "auto_cot": trigger}.get(method, "")]))
    return BLOCK_END.join(
        QUESTION_LINE.format(question=tidy(question)) + LINE_END + join_pieces([ANSWER_MARK, *pieces])
        for question, pieces in blocks
    )


def run_dataset(
    problems: Sequence[Problem],
    demos: Sequence[Demo],
    method: str,
    complete: Callable[[str], str],
    cot_trigger: str = COT_TRIGGER,
) -> float:
    """The accuracy of a model over a dataset. complete: the model, from a prompt to its completion."""
    predictions = [
        clean_answer(
            problem.task, complete(get_sentence(demos, problem.question, method, cot_trigger, DIRECT_ANSWER_TRIGGER))
        )
        for problem in problems
    ]
    return accuracy(predictions, [problem.answer for problem in problems])
