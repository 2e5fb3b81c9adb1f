"""Prompts of all methods, steps added and steps compressed, character by character; then the experiment."""

import random
import re

import numpy as np

METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")
FEW = METHODS[2:]
STRATEGIES = ("read_question", "think_word", "repeat_state", "self_verification", "make_equation")
NAMES = ("Anna", "Boris", "Clara", "Deniz", "Edgar", "Frida", "Goran", "Hanna", "Igor", "Judith", "Karim", "Lola")
THINGS = ("pears", "plates", "bricks", "shells", "pens")
COT, MORE, DIRECT = "Let's think step by step.", "Let's think step by step, you must think more steps.", "The answer is"
TRIGGERS = (COT, MORE, "Think hard!", "Shall we think?", "Take 2.5 minutes, e.g. now.")
ANNOUNCEMENTS = (DIRECT, "So it is", "Therefore, the answer is")

# What untidy texts are made of: words with and without braces, and what states, equations and names look like.
WORDS = ("Q:", "A:", "e.g.", "2.5", ".5", "7", "Is", "So", "COIN", "coin", "flips", "a", "B", "the", "well,", "I'm")
BRACES = ("{question}", "{answer}", "{fact}", "{first}", "{0}", "{}", "%s", "\\1")
TOLD = ("12 + 3 = 15", "40 - 5 + 6 = 41", 'is "k"', 'is "e"', "is heads up", "is tails up", '"Ann Bo"', '"x  y z"')
SPACES = (" ", " ", "  ", "\n", "\t", " \n\n")

# The replies of ordinary cases, by what about them is of interest; `reply` makes them.
REPLIES = {
    "everything said": ("good", "bare", "asks", "more", "joined"),
    "number of sentences": ("tight", "two", "ahead", "behind", "none"),
    "length": ("longer", "equal", "shorter", "wordy", "dense"),
    "something lost": ("less", "first", "second", "lower"),
}
KINDS = tuple(kind for kinds in REPLIES.values() for kind in kinds)


def cases(seed):
    rng = random.Random(seed)
    yield from prompts(rng)
    yield from longer_rationales(rng)
    yield from shorter_rationales(rng)
    yield {"name": "experiment", "seed": seed % 1000}
    for name, parts in edge_cases(rng):
        yield {"name": name, "parts": parts, "edge": True}


def demo(task, question, rationale, answer):
    return {"task": task, "question": question, "rationale": rationale, "answer": answer}


def arithmetic(rng, size=3):
    who, what, count = rng.choice(NAMES), rng.choice(THINGS), rng.randrange(50, 90)
    question, steps = [f"{who} has {count} {what}."], []
    for _ in range(size):
        amount, (verb, sign) = rng.randrange(2, 9), rng.choice([("gets", "+"), ("drops", "-")])
        result = count + amount if sign == "+" else count - amount
        question.append(f"{who} {verb} {amount} {what}.")
        steps.append(f"{who} {verb} {amount}, so there are {count} {sign} {amount} = {result}.")
        count = result
    question.append(f"How many {what} does {who} have now?")
    return demo("arithmetic", " ".join(question), " ".join(steps), str(count))


def letter(rng, size=4):
    names = rng.sample(NAMES, size)
    steps = [f'The last letter of "{name}" is "{name[-1]}".' for name in names]
    question = f'Take the last letters of each word in "{" ".join(names)}" and concatenate them.'
    return demo("letter", question, " ".join(steps), "".join(name[-1] for name in names))


def coin(rng, size=4):
    side, question, steps = 0, ["A coin is heads up."], []
    for name in rng.sample(NAMES, size):
        flip = rng.random() < 0.6
        side = 1 - side if flip else side
        turn = f"{name} {'flips' if flip else 'does not flip'} the coin"
        question.append(f"{turn}.")
        steps.append(f"{turn}, so the coin is {('heads', 'tails')[side]} up.")
    question.append("Is the coin still heads up?")
    return demo("coin", " ".join(question), " ".join(steps), "no" if side else "yes")


MAKERS = {"arithmetic": arithmetic, "letter": letter, "coin": coin}


def some(rng, count):
    return [rng.choice(list(MAKERS.values()))(rng) for _ in range(count)]


def prompt(method, demos, x, cot=COT, direct=DIRECT):
    return {"method": method, "demos": demos, "x": x, "triggers": [cot, direct]}


def add(one, *strategies):
    return {"demo": one, "strategies": list(strategies)}


def compress(rng, one, times, *replies):
    return {"demo": one, "times": times, "replies": list(replies), "seed": rng.randrange(2**31)}


def prompts(rng):
    def asked():
        return f"How old is {rng.choice(NAMES)} in {rng.randrange(10, 99)} days?"

    for method in METHODS:
        parts = [prompt(method, some(rng, 3), asked()), prompt(method, some(rng, 2), asked(), MORE)]
        parts += [prompt(method, [], asked(), rng.choice(TRIGGERS), rng.choice(ANNOUNCEMENTS)) for _ in range(2)]
        for _ in range(4):
            demos = some(rng, rng.randint(1, 5))
            parts.append(prompt(method, demos, asked(), rng.choice(TRIGGERS), rng.choice(ANNOUNCEMENTS)))
        yield {"name": f"prompts, {method}", "parts": parts}
    for method in FEW:
        same = arithmetic(rng)
        shout = letter(rng) | {"question": same["question"].upper()}
        near = same["question"][:-1]
        alike = [coin(rng) | {"question": text} for text in (near, f"{near} ?", f"So {near}?", near[1:])]
        parts = [
            prompt(method, [coin(rng), same, letter(rng), shout, same, coin(rng)], same["question"]),
            prompt(method, [same, shout], same["question"].lower()),
            prompt(method, alike, same["question"]),
            prompt(method, [same, coin(rng), same], asked()),
        ]
        yield {"name": f"the question itself is shown, {method}", "parts": parts}
        who, number = rng.choice(NAMES), rng.randrange(10, 99)
        marks = coin(rng) | {"rationale": f"It is {number}.25 or so? No! {who}'s is {number}.5."}
        points = arithmetic(rng) | {"answer": f"{number}.5"}
        told = coin(rng) | {"rationale": f"{COT} So be it. {COT} {DIRECT} {number}. {DIRECT} {number}."}
        parts = [prompt(method, [marks, points], asked()), prompt(method, [told, told], f"{COT} {DIRECT}?")]
        yield {"name": f"marks and triggers in rationales, {method}", "parts": parts}
    yield {"name": "many demonstrations", "parts": [prompt(method, some(rng, 20), asked()) for method in FEW]}


def longer_rationales(rng):
    for task, maker in MAKERS.items():
        yield {"name": f"one strategy, {task}", "parts": [add(maker(rng), strategy) for strategy in STRATEGIES]}
        parts = [add(maker(rng)), add(maker(rng), *STRATEGIES)]
        parts += [add(maker(rng), *rng.choices(STRATEGIES, k=rng.randint(3, 15))) for _ in range(6)]
        yield {"name": f"several strategies, {task}", "parts": parts}
        sizes = [(2, 5), (3, 7), (4, 4), (5, 3), (4, 1), (3, 10), (9, 2), (rng.randint(6, 20), rng.randint(2, 10))]
        parts = [add(maker(rng, size), *["repeat_state"] * count, STRATEGIES[-1]) for count, size in sizes]
        yield {"name": f"several summaries, {task}", "parts": parts}
        one = maker(rng)
        wrong = {"arithmetic": f"-{rng.randrange(99)}", "letter": f"z{one['answer']}", "coin": "maybe"}[task]
        parts = [add(one | {"answer": wrong}, "self_verification"), add(one | {"answer": wrong}, *STRATEGIES)]
        yield {"name": f"an answer out of the question, {task}", "parts": parts}
    # Quotients of these are whole numbers that rounding makes larger.
    sizes = ((30, 7), (15, 29), (25, 25), (29, 29))
    parts = [add(arithmetic(rng, size), *["repeat_state"] * count) for size, count in sizes]
    yield {"name": "many summaries", "parts": parts}

    who, number = rng.choice(NAMES), rng.randrange(10, 99)
    several = f"Is {who} here? {who} has {number} {THINGS[0]}. Who has more? Tell me."
    quoted = f'Here are names: "{who} {who}". What are their last letters?'
    told = f'Is it right that {number} + 4 = {number + 4}, that one is "k", and that the other is tails up?'
    for task, maker in MAKERS.items():
        questions = (several, quoted, told, f"{who} flips it. Tell me how it lies.", f"Is it {number} or 12.5?")
        parts = [add(maker(rng) | {"question": question}, *STRATEGIES, "repeat_state") for question in questions]
        yield {"name": f"other questions, {task}", "parts": parts}
    once = [maker(rng) for maker in MAKERS.values()]
    sides = coin(rng) | {"rationale": "It is tails up. It is heads up. It is tails up."}
    parts = [add(one, *rng.sample(STRATEGIES, 5)) | {"twice": True} for one in (*once, sides)]
    yield {"name": "steps added twice", "parts": parts}


def shorter_rationales(rng):
    times = (0, 1, 2, 3, 5, 12)
    yield {"name": "times", "parts": [compress(rng, arithmetic(rng, 7), count, "good") for count in times]}
    yield {"name": "thirty steps", "parts": [compress(rng, arithmetic(rng, 30), 40, "good", "good", "none")]}
    for task, maker in MAKERS.items():
        kinds = rng.choices(KINDS, k=6)
        parts = [compress(rng, maker(rng, 5), 9, "good"), compress(rng, maker(rng, 9), 12, "good", *kinds)]
        parts += [compress(rng, maker(rng, size), 3, *some) for size, *some in ((1, "good"), (2, "none", "good"))]
        yield {"name": f"any reply, {task}", "parts": parts}
    for name, kinds in REPLIES.items():
        parts = [compress(rng, maker(rng, 6), 5, kind, "good") for kind in kinds for maker in MAKERS.values()]
        yield {"name": f"replies, {name}", "parts": parts}
    numbers = [rng.randrange(10, 99) for _ in range(3)]
    digits = "It is 1{}. It is {}.5. It is 5. It is {}. It is 9.".format(*numbers)
    swapped = "It is tails up, or so it seems. It is heads up, or so it seems. It is heads up."
    parts = [compress(rng, arithmetic(rng) | {"rationale": digits}, 6, "inner", "good", "inner")]
    parts += [compress(rng, coin(rng) | {"rationale": swapped}, 3, "sides")]
    yield {"name": "information within words", "parts": parts}


def edge_cases(rng):
    name, number = rng.choice(NAMES), rng.randrange(10, 99)
    untidy = demo(
        "letter",
        f"\t Who  is\n\n{name} ?\n",
        f" \n{name}\tis  {number}.\n\nIs\t{name}  older?   Oh!  So\tbe it ",
        f"\n  {name}   {number}\t",
    )
    odd = demo(
        "letter", "Is {x} or {question} or %s or \\1 in {0}?", "It is {answer}. {} is %d. \\n {{x}} it is.", "{x} %s"
    )
    for method in METHODS:
        parts = [
            prompt(method, [untidy, *some(rng, 1)], f" \n{name}  or\t{name} ?  ", "\tGo  on ", " So\n\nit  is: "),
            prompt(method, some(rng, 1), "Who  is it?", "Think! \n", "It is.\t"),
        ]
        yield f"untidy prompts, {method}", parts
        parts = [
            prompt(method, some(rng, 2), f"Is it {number}?", cot, direct) for cot, direct in (("", " \n"), ("\t", ""))
        ]
        parts += [
            prompt(method, some(rng, 1), f"Is it {number}?", cot, f"It is {name}.") for cot in ("Think", "Go  on")
        ]
        yield f"triggers that are empty or have another mark, {method}", parts
    parts = [
        prompt(method, [odd], "Is it {x}, {}, {0[1]}, %s, $x or \\g<0>?", "Take {x}.", "{y}%") for method in METHODS
    ]
    parts += [prompt(method, [odd, *some(rng, 1)], "{question} {x}?", "Say {question}.", "{}") for method in METHODS]
    yield "braces in prompts", parts
    for method in FEW:
        same = arithmetic(rng)
        spread = same | {"question": same["question"].upper().replace(" ", " \n ")}
        bare = [letter(rng) | {"rationale": text, "answer": f"{number}.5"} for text in ("", " \n\t")]
        parts = [prompt(method, [spread, *bare, coin(rng)], same["question"])]
        yield f"demonstrations without a rationale, {method}", parts
    near = ("few_shots", "my_auto_cot", "Few_Shot", "few-shot", "few_shot ", "\nzero_shot", "zero", "")
    yield "unknown methods", [prompt(method, some(rng, 1), "Is it?") for method in near]

    for task, maker in MAKERS.items():
        one = maker(rng, 2)
        early = f"Let us see. {name} asks. Is that clear? Oh! {one['rationale']} Good"
        parts = [add(one | {"rationale": early}, *["repeat_state"] * 6, "make_equation")]
        parts.append(add(one | {"rationale": f"Let us see. {name} asks."}, *STRATEGIES, "repeat_state"))
        parts.append(add(one | {"rationale": " \n"}, *STRATEGIES, "repeat_state"))
        yield f"reasoning without a state, {task}", parts
        spread = {field: text.replace(" ", " \n ") for field, text in one.items()} | {"answer": f"\n {one['answer']}\t"}
        parts = [add(spread), add(spread, *STRATEGIES), add(one | {"answer": " a  b\nc "}, *STRATEGIES)]
        yield f"untidy demonstrations, {task}", parts
    told = [
        odd | {"rationale": f"{odd['rationale']} {maker(rng)['rationale']}", "task": task}
        for task, maker in MAKERS.items()
    ]
    yield "braces in demonstrations", [add(one, *STRATEGIES) for one in told]
    unknown = (("read_question", "think_words"), ("Repeat_State", "repeat_state"), ("",), ("repeat_state ",))
    yield "unknown strategies", [add(coin(rng), *names) for names in unknown]

    spread = arithmetic(rng)
    spread["rationale"] = spread["rationale"][:-1].replace(" ", " \n\t ")
    parts = [compress(rng, spread, 2, "good", "untidy"), compress(rng, spread, 0), compress(rng, untidy, 3, "untidy")]
    parts.append(compress(rng, letter(rng) | {"rationale": " \n "}, 3, "good"))
    yield "untidy rationales are compressed", parts
    braces = odd | {"rationale": f"Say {{second}} {number} first. Then {{first}} or {{second}}. And {{0}}."}
    yield "braces are compressed", [compress(rng, odd, 5, "good", "none"), compress(rng, braces, 2, "none", "good")]
    quoted = f'"{name} {name}"'
    words = f"We have the words {quoted} here, as it seems. So we go on with {quoted} now."
    yield "white space in quotations", [compress(rng, letter(rng) | {"rationale": words}, 1, "spread")]

    drawn = [untidy_demo(rng) for _ in range(30)]
    for method in METHODS:
        parts = []
        for _ in range(4):
            demos = rng.sample(drawn, rng.randint(1, 3))
            question = demos[0]["question"] if rng.random() < 0.2 else untidy_text(rng, 4)
            parts.append(prompt(method, demos, question, untidy_text(rng, 3), untidy_text(rng, 3) + " so"))
        yield f"drawn texts, {method}", parts
    yield "drawn texts, added", [add(one, *rng.choices(STRATEGIES, k=rng.randint(1, 8))) for one in drawn]
    yield "drawn texts, merged", [compress(rng, one, 6, *rng.choices(KINDS, k=4)) for one in drawn[:20]]
    parts = [prompt("auto_cot", some(rng, 3), "Is it?"), add(coin(rng), "think_word", "repeat_state")]
    yield "arguments are left as they are", [part | {"kind": kind} for part in parts for kind in ("list", "tuple")]


def untidy_text(rng, sentences):
    """Up to so many sentences of any words, with white space of any kind."""
    words = []
    for _ in range(rng.randint(1, sentences)):
        said = [*rng.choices(WORDS + BRACES, k=rng.randint(1, 5)), rng.choice(NAMES)]
        if rng.random() < 0.5:
            said.insert(rng.randrange(len(said)), rng.choice(TOLD))
        said[-1] += rng.choice((".", ".", "?", "!", "...", " ."))
        words += said
    return rng.choice(("", " ", "\n\t")) + "".join(word + rng.choice(SPACES) for word in words)


def untidy_demo(rng):
    last = rng.choice(("", "so"))
    answer = untidy_text(rng, 1).rstrip(".?! \t\n") + rng.choice(("", " \n"))
    return demo(rng.choice(list(MAKERS)), untidy_text(rng, 3), untidy_text(rng, 8) + last, answer)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    kinds = {"method": prompt_of, "strategies": longer, "times": shorter}
    return {"found": [next(kinds[key] for key in kinds if key in part)(part) for part in case["parts"]]}


def prompt_of(part):
    from data import Demo
    from run_inference import get_sentence

    given = [Demo(**one) for one in part["demos"]]
    if part.get("kind") == "tuple":
        given = tuple(given)
    before = list(given)
    try:
        text = get_sentence(given, part["x"], part["method"], *part["triggers"])
    except ValueError:
        return "refused"
    return [text, list(given) == before] if "kind" in part else text


def longer(part):
    from data import Demo
    from steps import add_steps

    given, names = Demo(**part["demo"]), list(part["strategies"])
    if part.get("kind") == "tuple":
        names = tuple(names)
    try:
        result = add_steps(given, names)
        if "twice" in part:
            result = add_steps(result, names)
    except ValueError:
        return "refused"
    return [fields(result), list(names) == part["strategies"]] if "kind" in part else fields(result)


def shorter(part):
    from data import Demo
    from steps import compress_steps

    generator, asked = np.random.default_rng(part["seed"]), []

    def ask(prompt):
        asked.append(prompt)
        first, second = re.search(r"First: (.*)\nSecond: (.*)\n", prompt).groups()
        return reply(first, second, part["replies"][(len(asked) - 1) % len(part["replies"])])

    result = compress_steps(Demo(**part["demo"]), part["times"], ask, generator)
    return {"demo": fields(result), "asked": asked, "drawn later": int(generator.integers(2**40))}


def fields(one):
    return {name: getattr(one, name) for name in ("task", "question", "rationale", "answer")}


def reply(first, second, kind):
    """What a model says of two sentences: all that they say in fewer words, or something of no use."""

    def brief(text):
        items = re.findall(r'\d+(?:\.\d+)?|"[^"]*"|heads|tails|[A-Z][a-z]*', text)
        return " ".join(dict.fromkeys(items)) or text[:3]

    everything = brief(f"{first} {second}")
    room = len(first) + len(second) - len(everything)
    return {
        "good": f"{everything}.",
        "bare": everything,
        "asks": f"{everything}?",
        "more": f"{everything} 0.",
        "joined": f"{first[:-1]}, {second[:-1]}",
        "tight": f"{brief(first)}.{brief(second)}.",
        "two": f"{brief(first)}. {brief(second)}.",
        "ahead": f"So. {everything}.",
        "behind": f"{everything}. So.",
        "none": "",
        "longer": f"{everything}, {first[:-1]}, {second}",
        "equal": f"{first[:-1]}; {second}",
        "shorter": f"{first[:-1]};{second}",
        "wordy": f"{everything}{' a' * (room // 2 - 1)}.",
        "dense": f"{everything} {'x' * (room + 9)}.",
        "less": f"{everything.rpartition(' ')[0]}.",
        "first": f"{brief(first)}.",
        "second": f"{brief(second)}.",
        "lower": f"{everything.lower()}.",
        "inner": " ".join(f"1{item}" for item in re.findall(r"\d+", everything)) + ".",
        "sides": f"It {everything.replace('heads', 'headsup')}.",
        "untidy": f"\n  {everything.replace(' ', '  ')} \t.\n\n",
        "spread": everything.replace(" ", " \n ") + " .",
    }[kind]
