"""What the paper says, for tidy texts without braces and for known names."""

from dataclasses import replace
from math import ceil

from config import (
    ANSWER_MARK,
    BLOCK_END,
    COMPRESS_PROMPT,
    LINE_END,
    LIST_SEPARATOR,
    PLACES,
    QUESTION_LINE,
    SENTENCE_END,
    STRATEGIES,
    THOUGHT,
)
from facts import basic_fact, current_state, equation, final_question, stem_words
from text import information, question_key, split_steps


def get_sentence(demo, x, method, cot_trigger, direct_answer_trigger):
    prompt = ""
    for one in [] if method.startswith("zero") else demo:
        if question_key(one.question) != question_key(x):
            line = [ANSWER_MARK]
            if method == "auto_cot":
                line.append(cot_trigger)
            if method != "few_shot":
                line.append(one.rationale)
            line += [direct_answer_trigger, one.answer + SENTENCE_END]
            prompt += QUESTION_LINE.format(question=one.question) + LINE_END + " ".join(line) + BLOCK_END
    begun = {"zero_shot": [direct_answer_trigger], "zero_shot_cot": [cot_trigger], "auto_cot": [cot_trigger]}
    return prompt + QUESTION_LINE.format(question=x) + LINE_END + " ".join([ANSWER_MARK, *begun.get(method, [])])


def add_steps(demo, strategies):
    reasoning, words = split_steps(demo.rationale), stem_words(demo.question)
    fact, holds = basic_fact(demo.task, demo.question, demo.answer)
    thoughts = LIST_SEPARATOR.join(THOUGHT.format(word=word) for word in words)
    said = {
        "read_question": {"question": final_question(demo.question)},
        "think_word": {"words": LIST_SEPARATOR.join(words), "thoughts": thoughts},
        "self_verification": {"fact": fact, "answer": demo.answer},
        "make_equation": {"equation": equation(demo.task, reasoning)},
    }
    steps = {place: [] for place in PLACES}
    for name in strategies:
        strategy = STRATEGIES[name]
        if name in said and all(said[name].values()):
            template = strategy.contrary if name == "self_verification" and not holds else strategy.template
            steps[strategy.place].append(template.format(**said[name]))
    summaries = list(strategies).count("repeat_state")
    after = [ceil(j * len(reasoning) / summaries) for j in range(1, summaries + 1)]
    for number, step in enumerate(reasoning, 1):
        state = current_state(demo.task, reasoning[:number])
        steps["between"].append(step)
        if state:
            steps["between"] += [STRATEGIES["repeat_state"].template.format(state=state)] * after.count(number)
    return replace(demo, rationale=" ".join(step for place in PLACES for step in steps[place]))


def compress_steps(demo, times, ask, generator):
    steps = split_steps(demo.rationale)
    for _ in range(times):
        if len(steps) > 1:
            i = generator.integers(len(steps) - 1)
            pair = " ".join(steps[i : i + 2])
            reply = split_steps(ask(COMPRESS_PROMPT.format(first=steps[i], second=steps[i + 1])))
            if len(reply) == 1 and len(reply[0]) < len(pair) and information(reply[0]) >= information(pair):
                steps[i : i + 2] = reply
    return replace(demo, rationale=" ".join(steps))
