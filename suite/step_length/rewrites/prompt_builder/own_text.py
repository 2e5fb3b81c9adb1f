"""White space by regular expressions and prompts by one template each; steps in a list into which others are put."""

import re

from config import COMPRESS_PROMPT, METHODS, STRATEGIES
from data import Demo
from facts import basic_fact, current_state, equation, final_question, stem_words
from text import information

_SPACE = re.compile(r"\s+")


def _clean(words):
    return _SPACE.sub(" ", words).strip(" ")


def _ended(words):
    words = _clean(words)
    return f"{words}." if words and words[-1] not in ".?!" else words


def _sentences(words):
    words = _clean(words)
    return [_ended(part) for part in re.split(r"(?<=[.?!]) ", words)] if words else []


def _line(words):
    return _clean(words)


def get_sentence(demo, x, method, cot_trigger, direct_answer_trigger):
    if method not in set(METHODS):
        raise ValueError("unknown method")
    few = method in {"few_shot", "few_shot_cot", "auto_cot"}
    prompt = []
    for one in demo if few else []:
        if _clean(one.question).casefold() == _clean(x).casefold():
            continue
        cot = _ended(cot_trigger) if method == "auto_cot" else ""
        rationale = _ended(one.rationale) if method.endswith("_cot") else ""
        line = _line(f"A: {cot} {rationale} {direct_answer_trigger} {_clean(one.answer)}.")
        prompt.append(f"Q: {_clean(one.question)}\n{line}")
    start = ""
    if method == "zero_shot":
        start = direct_answer_trigger
    elif method in ("zero_shot_cot", "auto_cot"):
        start = _ended(cot_trigger)
    prompt.append(f"Q: {_clean(x)}\n" + _line(f"A: {start}"))
    return "\n\n".join(prompt)


def add_steps(demo, strategies):
    known = list(STRATEGIES)
    if [name for name in strategies if known.count(name) == 0]:
        raise ValueError("unknown strategy")
    steps = _sentences(demo.rationale)
    result = list(steps)
    count = list(strategies).count("repeat_state")
    # From the last summary to the first one, so that the places before it stay.
    for j in range(count, 0, -1):
        place = (j * len(steps)) // count + ((j * len(steps)) % count > 0)
        state = current_state(demo.task, steps[:place])
        if state:
            result.insert(place, f"So far {state}.")
    answer, words = _clean(demo.answer), stem_words(demo.question)
    for name in reversed(strategies):
        if name == "read_question":
            result.insert(0, f"The question is: {final_question(demo.question)}")
        elif name == "think_word" and words:
            thoughts = ", ".join(f"think about {word}" for word in words)
            result.insert(0, f"The stem of the question is {', '.join(words)}: {thoughts}.")
    if equation(demo.task, steps):
        result += [f"As an equation we have {equation(demo.task, steps)}."] * list(strategies).count("make_equation")
    fact, holds = basic_fact(demo.task, demo.question, answer)
    verdict = f"and {answer} is in line" if holds else f"but {answer} is not in line"
    result += [f"To verify: {fact}, {verdict} with that."] * list(strategies).count("self_verification")
    return Demo(task=demo.task, question=demo.question, rationale=" ".join(result), answer=demo.answer)


def compress_steps(demo, times, ask, generator):
    steps = _sentences(demo.rationale)
    for _ in range(min(times, times * (len(steps) > 1))):
        if len(steps) == 1:
            break
        place = generator.integers(len(steps) - 1).item()
        first, second = steps[place], steps[place + 1]
        reply = _sentences(
            ask(COMPRESS_PROMPT.replace("{first}", "\0").replace("{second}", second).replace("\0", first))
        )
        if len(reply) == 1 and len(reply[0]) <= len(first) + len(second):
            wanted, said = information(first) | information(second), information(reply[0])
            if all(item in said for item in wanted):
                steps[place] = reply[0]
                del steps[place + 1]
    return Demo(demo.task, demo.question, " ".join(steps), demo.answer)
