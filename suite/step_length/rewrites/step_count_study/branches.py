"""A branch for each method and each place, with texts added up piece by piece."""

import config
import facts
import metrics
import text
from data import Demo


def get_sentence(demo, x, method, cot_trigger, direct_answer_trigger):
    cot = text.as_sentence(cot_trigger)
    direct = text.tidy(direct_answer_trigger)

    def lines(question, *pieces):
        said = text.join_pieces([config.ANSWER_MARK, *pieces])
        return config.QUESTION_LINE.format(question=text.tidy(question)) + config.LINE_END + said

    def shown(one, *before):
        return lines(one.question, *before, direct, text.tidy(one.answer) + config.SENTENCE_END)

    others = [one for one in demo if text.question_key(one.question) != text.question_key(x)]
    if method == "zero_shot":
        return lines(x, direct)
    if method == "zero_shot_cot":
        return lines(x, cot)
    if method == "few_shot":
        blocks = [shown(one) for one in others] + [lines(x)]
    elif method == "few_shot_cot":
        blocks = [shown(one, *text.split_steps(one.rationale)) for one in others] + [lines(x)]
    elif method == "auto_cot":
        blocks = [shown(one, cot, *text.split_steps(one.rationale)) for one in others] + [lines(x, cot)]
    else:
        raise ValueError(f"{method} is no method")
    return config.BLOCK_END.join(blocks)


def add_steps(demo, strategies):
    for name in strategies:
        try:
            config.STRATEGIES[name]
        except KeyError as error:
            raise ValueError(name) from error
    given = text.split_steps(demo.rationale)

    def say(name, **fields):
        return config.STRATEGIES[name].template.format(**fields)

    opening, closing, last = [], [], []
    for name in strategies:
        if name == "read_question":
            opening.append(say(name, question=facts.final_question(demo.question)))
        if name == "think_word" and (words := facts.stem_words(demo.question)):
            said = [config.THOUGHT.format(word=word) for word in words]
            separator = config.LIST_SEPARATOR
            opening.append(say(name, words=separator.join(words), thoughts=separator.join(said)))
        if name == "make_equation" and (found := facts.equation(demo.task, given)) is not None:
            closing.append(say(name, equation=found))
        if name == "self_verification":
            answer = text.tidy(demo.answer)
            fact, fine = facts.basic_fact(demo.task, demo.question, answer)
            strategy = config.STRATEGIES[name]
            last.append((strategy.template if fine else strategy.contrary).format(fact=fact, answer=answer))
    stretches = len([name for name in strategies if name == "repeat_state"])
    middle, done = [], 0
    for j in range(1, stretches + 1):
        stop = -((-j * len(given)) // stretches)
        middle.extend(given[done:stop])
        done = stop
        state = facts.current_state(demo.task, given[:stop])
        if state is not None:
            middle.append(say("repeat_state", state=state))
    middle.extend(given[done:])
    return Demo(demo.task, demo.question, text.join_pieces(opening + middle + closing + last), demo.answer)


def compress_steps(demo, times, ask, generator):
    steps = text.split_steps(demo.rationale)
    for _ in range(times):
        pairs = len(steps) - 1
        if pairs > 0:
            place = int(generator.integers(pairs))
            second = steps.pop(place + 1)
            first = steps.pop(place)
            reply = text.tidy(ask(config.COMPRESS_PROMPT.format(first=first, second=second)))
            kept = [first, second]
            if len(text.split_steps(reply)) == 1:
                reply = text.as_sentence(reply)
                complete = text.information(f"{first} {second}").issubset(text.information(reply))
                if complete and len(reply) <= len(first) + len(second):
                    kept = [reply]
            steps[place:place] = kept
    return Demo(demo.task, demo.question, text.join_pieces(steps), demo.answer)


def run_dataset(problems, demos, method, complete, cot_trigger=config.COT_TRIGGER):
    predictions = []
    for problem in problems:
        prompt = get_sentence(demos, problem.question, method, cot_trigger, config.DIRECT_ANSWER_TRIGGER)
        predictions.append(clean_answer(problem.task, complete(prompt)))
    return metrics.accuracy(predictions, [problem.answer for problem in problems])


def clean_answer(task, completion):
    place = completion.rfind(config.DIRECT_ANSWER_TRIGGER)
    tail = completion if place < 0 else completion[place + len(config.DIRECT_ANSWER_TRIGGER) :]
    for match in re.finditer(_FORMS[task], tail):
        return match[0]
    return None
