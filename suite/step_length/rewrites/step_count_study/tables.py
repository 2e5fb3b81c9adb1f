"""A table of what each method writes, steps sorted by keys, and pairs merged in new lists."""

from dataclasses import replace

from config import (
    ANSWER_MARK,
    BLOCK_END,
    COMPRESS_PROMPT,
    LINE_END,
    LIST_SEPARATOR,
    METHODS,
    PLACES,
    QUESTION_LINE,
    SENTENCE_END,
    STRATEGIES,
    THOUGHT,
)
from data import Demo
from facts import basic_fact, current_state, equation, final_question, stem_words
from text import as_sentence, information, question_key, split_steps, tidy

# Whether demonstrations are shown, with the CoT trigger, with rationales; and which trigger begins the answer.
_PARTS = {
    "zero_shot": (False, False, False, "direct"),
    "zero_shot_cot": (False, False, False, "cot"),
    "few_shot": (True, False, False, None),
    "few_shot_cot": (True, False, True, None),
    "auto_cot": (True, True, True, "cot"),
}


def _block(question, *pieces):
    line = " ".join([ANSWER_MARK, *filter(None, pieces)])
    return f"{QUESTION_LINE.format(question=tidy(question))}{LINE_END}{line}"


def get_sentence(demo, x, method, cot_trigger, direct_answer_trigger):
    if method not in METHODS:
        raise ValueError(method)
    shows, triggered, reasoned, begun = _PARTS[method]
    triggers = {"cot": as_sentence(cot_trigger), "direct": tidy(direct_answer_trigger), None: ""}
    prompt = ""
    for shown in demo:
        if shows and question_key(shown.question) != question_key(x):
            rationale = " ".join(split_steps(shown.rationale)) if reasoned else ""
            answer = f"{tidy(shown.answer)}{SENTENCE_END}"
            prompt += _block(
                shown.question, triggers["cot"] if triggered else "", rationale, triggers["direct"], answer
            )
            prompt += BLOCK_END
    return prompt + _block(x, triggers[begun])


def add_steps(demo, strategies):
    if not set(strategies) <= set(STRATEGIES):
        raise ValueError(f"{strategies!r}")
    reasoning = split_steps(demo.rationale)
    keyed = [((PLACES.index("between"), number, 0), step) for number, step in enumerate(reasoning, start=1)]
    again, total = 0, sum(name == "repeat_state" for name in strategies)
    for order, name in enumerate(strategies):
        key = (PLACES.index(STRATEGIES[name].place), order, 0)
        fields = {}
        template = STRATEGIES[name].template
        if name == "repeat_state":
            again += 1
            stop = (again * len(reasoning) + total - 1) // total
            key = (key[0], stop, again)
            fields["state"] = current_state(demo.task, reasoning[:stop])
        elif name == "think_word":
            words = stem_words(demo.question)
            fields["words"] = LIST_SEPARATOR.join(words)
            fields["thoughts"] = LIST_SEPARATOR.join([THOUGHT.format(word=word) for word in words])
        elif name == "read_question":
            fields["question"] = final_question(demo.question)
        elif name == "make_equation":
            fields["equation"] = equation(demo.task, reasoning)
        else:
            fields["answer"] = tidy(demo.answer)
            fields["fact"], fine = basic_fact(demo.task, demo.question, fields["answer"])
            template = template if fine else STRATEGIES[name].contrary
        if None not in fields.values() and "" not in fields.values():
            keyed.append((key, template.format_map(fields)))
    return replace(demo, rationale=" ".join(step for _, step in sorted(keyed, key=lambda item: item[0])))


def compress_steps(demo, times, ask, generator):
    sentences = tuple(split_steps(demo.rationale))
    while times > 0 and len(sentences) > 1:
        times -= 1
        start = generator.integers(0, len(sentences) - 1)
        pair = sentences[start : start + 2]
        reply = split_steps(ask(COMPRESS_PROMPT.format(first=pair[0], second=pair[1])))
        whole = " ".join(pair)
        if len(reply) != 1 or len(reply[0]) >= len(whole) or information(whole) - information(reply[0]):
            continue
        sentences = (*sentences[:start], reply[0], *sentences[start + 2 :])
    return Demo(demo.task, demo.question, " ".join(sentences), demo.answer)


def run_dataset(problems, demos, method, complete, cot_trigger=COT_TRIGGER):
    prompts = [get_sentence(demos, one.question, method, cot_trigger, DIRECT_ANSWER_TRIGGER) for one in problems]
    completions = map(complete, prompts)
    found = [clean_answer(one.task, completion) for one, completion in zip(problems, completions)]
    return accuracy(found, tuple(one.answer for one in problems))


def clean_answer(task, completion):
    while DIRECT_ANSWER_TRIGGER in completion:
        completion = completion.partition(DIRECT_ANSWER_TRIGGER)[2]
    found = [match.group(0) for match in re.finditer(_FORMS[task], completion)]
    return found[0] if found else None
