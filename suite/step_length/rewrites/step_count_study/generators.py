"""Blocks and steps yielded one after the other; a merge is a recursion."""

import dataclasses
import itertools

from config import (
    ANSWER_MARK,
    BEFORE_ANSWER,
    BETWEEN,
    BLOCK_END,
    CLOSING,
    COMPRESS_PROMPT,
    LINE_END,
    LIST_SEPARATOR,
    METHODS,
    OPENING,
    QUESTION_LINE,
    SENTENCE_END,
    STRATEGIES,
    THOUGHT,
)
from facts import basic_fact, current_state, equation, final_question, stem_words
from text import as_sentence, information, join_pieces, question_key, split_steps, tidy


def _blocks(demo, x, method, cot, direct):
    asked = question_key(x)
    if not method.startswith("zero"):
        for one in itertools.filterfalse(lambda other: question_key(other.question) == asked, demo):
            answer = tidy(one.answer) + SENTENCE_END
            if method == "few_shot":
                yield one.question, [direct, answer]
            else:
                start = [cot] if method == "auto_cot" else []
                yield one.question, start + split_steps(one.rationale) + [direct, answer]
    if method == "zero_shot":
        yield x, [direct]
    else:
        yield x, [cot if method in ("zero_shot_cot", "auto_cot") else ""]


def get_sentence(demo, x, method, cot_trigger, direct_answer_trigger):
    if all(method != known for known in METHODS):
        raise ValueError(f"{method!r} is not among {METHODS}")
    written = []
    for question, pieces in _blocks(demo, x, method, as_sentence(cot_trigger), tidy(direct_answer_trigger)):
        written.append(QUESTION_LINE.format(question=tidy(question)))
        written.append(LINE_END)
        written.append(join_pieces([ANSWER_MARK, *pieces]))
        written.append(BLOCK_END)
    return "".join(written[:-1])


def _say(demo, steps, name):
    strategy = STRATEGIES[name]
    if name == "read_question":
        yield strategy.template.format(question=final_question(demo.question))
    elif name == "think_word":
        words = stem_words(demo.question)
        thoughts = LIST_SEPARATOR.join(THOUGHT.format(word=word) for word in words)
        if words:
            yield strategy.template.format(words=LIST_SEPARATOR.join(words), thoughts=thoughts)
    elif name == "make_equation":
        if equation(demo.task, steps):
            yield strategy.template.format(equation=equation(demo.task, steps))
    elif name == "self_verification":
        fact, holds = basic_fact(demo.task, demo.question, tidy(demo.answer))
        yield [strategy.contrary, strategy.template][bool(holds)].format(fact=fact, answer=tidy(demo.answer))


def _between(demo, steps, count):
    said = 0
    for number in range(1, len(steps) + 1):
        yield steps[number - 1]
        state = current_state(demo.task, steps[:number])
        # The summary j belongs here while j * n <= number * k.
        while said < count and (said + 1) * len(steps) <= number * count:
            said += 1
            if state:
                yield STRATEGIES["repeat_state"].template.format(state=state)


def add_steps(demo, strategies):
    if any(name not in STRATEGIES for name in strategies):
        raise ValueError("unknown strategy")
    steps = split_steps(demo.rationale)

    def at(place):
        for name in strategies:
            if STRATEGIES[name].place == place:
                yield from _say(demo, steps, name)

    middle = _between(demo, steps, sum(STRATEGIES[name].place == BETWEEN for name in strategies))
    rationale = join_pieces(itertools.chain(at(OPENING), middle, at(CLOSING), at(BEFORE_ANSWER)))
    return dataclasses.replace(demo, rationale=rationale)


def _merge(steps, times, ask, generator):
    if times == 0 or len(steps) <= 1:
        return steps
    place = int(generator.integers(len(steps) - 1))
    pair = steps[place : place + 2]
    reply = split_steps(ask(COMPRESS_PROMPT.format(**dict(zip(("first", "second"), pair)))))
    both = join_pieces(pair)
    good = len(reply) == 1 and len(reply[0]) < len(both) and information(reply[0]) >= information(both)
    return _merge(steps[:place] + (reply if good else pair) + steps[place + 2 :], times - 1, ask, generator)


def compress_steps(demo, times, ask, generator):
    return dataclasses.replace(demo, rationale=join_pieces(_merge(split_steps(demo.rationale), times, ask, generator)))


def run_dataset(problems, demos, method, complete, cot_trigger=COT_TRIGGER):
    def right():
        for problem in problems:
            prompt = get_sentence(demos, problem.question, method, cot_trigger, DIRECT_ANSWER_TRIGGER)
            yield clean_answer(problem.task, complete(prompt)) == problem.answer

    return 100 * sum(right()) / len(problems)


def clean_answer(task, completion):
    tail = completion.split(DIRECT_ANSWER_TRIGGER)[-1]
    return next((match.group() for match in re.compile(_FORMS[task]).finditer(tail)), None)
