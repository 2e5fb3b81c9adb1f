"""prompt_builder: prompts of all methods, steps added and compressed, character by character; then the experiment."""

import random
import re

import numpy as np

METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")
WORDS = (
    "Q:",
    "A:",
    "e.g.",
    "2.5",
    ".5",
    "7",
    "Is",
    "is",
    "So",
    "so",
    "COIN",
    "coin",
    "flips",
    "a",
    "B",
    "the",
    "well,",
)
BRACES = ("{question}", "{answer}", "{fact}", "{first}", "{0}", "{}", "%s", "\\1", "I'm", "and-or", "now;", "(yes)")
TOLD = ("12 + 3 = 15", "40 - 5 + 6 = 41", 'is "k"', 'is "e"', "is heads up", "is tails up", '"Ann Bo"', '"x  y z"')
STRATEGIES = ("read_question", "think_word", "repeat_state", "self_verification", "make_equation")
NAMES = ("Anna", "Boris", "Clara", "Deniz", "Edgar", "Frida", "Goran", "Hanna", "Igor", "Judith", "Karim", "Lola")
THINGS = ("pears", "plates", "bricks", "shells", "pens")
COT, MORE, DIRECT = "Let's think step by step.", "Let's think step by step, you must think more steps.", "The answer is"


def cases(seed):
    """Cases of like inputs, such as those of all methods, are one case."""
    alike = {}
    for case in _parts(seed):
        alike.setdefault(case.pop("name"), []).append(case)
    yield from ({"name": name, "parts": parts} for name, parts in alike.items())
    yield {"name": "experiment", "seed": seed % 1000}


def _parts(seed):
    generator = np.random.default_rng(seed)

    def number(low=10, high=99):
        return int(generator.integers(low, high))

    def name():
        return str(generator.choice(NAMES))

    def arithmetic(size=3, spread=" "):
        who, what, count = name(), str(generator.choice(THINGS)), number(50, 90)
        question, steps = [f"{who} has {count} {what}."], []
        for _ in range(size):
            amount, sign = number(2, 9), str(generator.choice(["+", "-"]))
            result = count + amount if sign == "+" else count - amount
            verb = "gets" if sign == "+" else "drops"
            question.append(f"{who} {verb} {amount} {what}.")
            steps.append(f"{who} {verb} {amount}, so there are {count} {sign} {amount} = {result}.")
            count = result
        question.append(f"How many {what} does {who} have now?")
        return demo("arithmetic", spread.join(question), spread.join(steps), str(count))

    def letter(size=4):
        words = [str(word) for word in generator.permutation(NAMES)[:size]]
        steps = [f'The last letter of "{word}" is "{word[-1]}".' for word in words]
        question = f'Take the last letters of each word in "{" ".join(words)}" and concatenate them.'
        return demo("letter", question, " ".join(steps), "".join(word[-1] for word in words))

    def coin(size=4):
        sides, side, question, steps = ("heads", "tails"), 0, ["A coin is heads up."], []
        for word in generator.permutation(NAMES)[:size]:
            flip = bool(generator.random() < 0.6)
            side = 1 - side if flip else side
            turn = f"{word} {'flips' if flip else 'does not flip'} the coin"
            question.append(f"{turn}.")
            steps.append(f"{turn}, so the coin is {sides[side]} up.")
        question.append("Is the coin still heads up?")
        return demo("coin", " ".join(question), " ".join(steps), "no" if side else "yes")

    makers = {"arithmetic": arithmetic, "letter": letter, "coin": coin}

    def some(count=3):
        return [makers[str(generator.choice(list(makers)))]() for _ in range(count)]

    def prompt(case, method, demos, x=None, cot=COT, direct=DIRECT, **extra):
        x = f"How old is {name()} in {number()} days?" if x is None else x
        given = {"demos": demos, "x": x, "method": method, "triggers": [cot, direct]}
        return {"name": f"prompt: {case}", **given, **extra}

    untidy = {
        "task": "letter",
        "question": f"\t Who  is\n\n{name()} ?\n",
        "rationale": f" \n{name()}\tis  {number()}.\n\nIs\t{name()}  older?   Oh!  So\tbe it ",
        "answer": f"\n  {name()}   {number()}\t",
    }
    odd = demo(
        "letter", "Is {x} or {question} or %s or \\1 in {0}?", "It is {answer}. {} is %d. \\n {{x}} it is.", "{x} %s"
    )
    for method in METHODS:
        yield prompt("plain", method, some())
        yield prompt("no demonstrations", method, [])
        yield prompt("more steps", method, some(2), cot=MORE)
        yield prompt("no triggers", method, some(2), cot="", direct=" \n")
        yield prompt("no triggers", method, some(2), cot="\n\t", direct="")
        yield prompt(
            "untidy", method, [untidy, *some(1)], f" \n{name()}  or\t{name()} ?  ", "\tGo  on ", " So\n\nit  is: "
        )
        yield prompt("signs", method, [odd], "Is it {x}, {}, {0[1]}, %s, %(x)s, $x or \\g<0>?", "Take {x}", "{y}%")
        held = {"task": "coin", "question": "Is {x} it?", "rationale": "So {question}. {}.", "answer": "{question} 1"}
        yield prompt("signs", method, [held, odd], "{question} {x}?", "Say {question}. \n", "{question} {}")
        for space in (" ", "\n", " \t\n "):
            yield prompt("space behind a mark", method, some(1), cot=f"Think!{space}", direct=f"It is.{space}")
    for method in ("few_shot", "few_shot_cot", "auto_cot"):
        same = arithmetic()
        shout = {**letter(), "question": f" {same['question'].upper()}".replace(" ", " \n ")}
        yield prompt("asks what is asked", method, [coin(), same, letter(), shout, same], same["question"])
        yield prompt("asks what is asked", method, [same, shout], same["question"].lower())
        near = same["question"][:-1]
        alike = [demo("arithmetic", text, "So be it.", "1") for text in (near, f"{near} ?", f"So {near}?", near[1:])]
        yield prompt("asks what is asked", method, alike, same["question"])
        yield prompt("the same twice", method, [same, coin(), same])
        bare = {**letter(), "rationale": "", "answer": f"{number()}.5"}
        yield prompt("no rationale", method, [bare, {**coin(), "rationale": " \n\t"}, coin()])
        marks = f"It is {number()}.25 or so? No! {name()}'s is {number()}.5... then"
        yield prompt("marks", method, [{**coin(), "rationale": marks}], cot="Shall we think?", direct="So is it?")
        held = {**coin(), "rationale": f"{COT} So be it. {COT} {DIRECT} {number()}. {DIRECT} {number()}."}
        yield prompt("triggers in rationales", method, [held, held], f"{COT} {DIRECT}")
        lines = {
            **coin(),
            "rationale": f"So.\n\nQ: Who is {name()}?\nA: It is {name()}.",
            "question": "Who?\n\nA: I. Q: Who?",
        }
        yield prompt("its own layout inside", method, [lines, coin()], "Q: Who?\nA: I?\n\nQ: Who?")
    yield prompt("many", "few_shot_cot", some(20))
    yield prompt("many", "auto_cot", some(4), kind="tuple")
    yield prompt("triggers of another mark", "auto_cot", some(1), cot="Take your  time! Then\tthink")
    yield prompt("triggers of another mark", "zero_shot_cot", some(1), cot="Think hard!", direct="It is.")
    yield prompt("triggers of another mark", "zero_shot_cot", some(1), cot="Shall  we?", direct="It is.")
    yield prompt("triggers of another mark", "zero_shot_cot", [], cot="Think 2.5 times, e.g. now")
    yield prompt("triggers of another mark", "zero_shot", some(1), cot="Think", direct="It is.")
    near = (
        "few_shots",
        "zero_shot_cots",
        "my_auto_cot",
        "Few_Shot",
        "few-shot",
        "few_shot_",
        "few_shot ",
        "\nzero_shot",
    )
    for method in ("manual_cot", "", "shot", "_cot", "zero", "auto", "zero_shot,", *near):
        yield prompt("unknown", method, [] if method else some(1))

    def add(case, given, *strategies, **extra):
        return {"name": f"add: {case}", "demo": given, "strategies": list(strategies), **extra}

    for task, maker in makers.items():
        for strategy in STRATEGIES:
            yield add("one strategy", maker(), strategy)
        yield add("nothing", maker())
        yield add("all of them", maker(), *STRATEGIES)
        shuffled = [str(strategy) for strategy in generator.permutation(STRATEGIES * 3)]
        yield add("all of them, often", maker(), *shuffled)
        yield add("each but one", maker(), "self_verification", "think_word", "make_equation", "read_question")
        yield add("each twice", maker(), "think_word", "read_question", "think_word", "self_verification", *STRATEGIES)
        for count, size in ((2, 5), (3, 7), (4, 4), (5, 3), (4, 1), (3, 10), (9, 2), (25, 7)):
            yield add("summaries", maker(size), *["repeat_state"] * count)
        yield add("no reasoning", {**maker(), "rationale": " \n"}, *STRATEGIES, "repeat_state")
        late = maker(2)
        early = f"Let us see. {name()} asks. Is that clear? Oh!  {late['rationale']} Good"
        yield add("reasoning without a state", {**late, "rationale": early}, *["repeat_state"] * 6, "make_equation")
        yield add("no state at all", {**late, "rationale": f"Let us see. {name()} asks."}, *STRATEGIES, "repeat_state")
        wrong = {"arithmetic": f"-{number()}", "letter": f"z{late['answer']}", "coin": "maybe"}[task]
        yield add("an answer that can't be", {**late, "answer": wrong}, *STRATEGIES, "self_verification")
        yield add("added to what was added", maker(), *STRATEGIES, "repeat_state", twice=True)
        yield add("a tuple", maker(), *STRATEGIES, kind="tuple")
        yield add("unknown", maker(), "read_question", "think_words")
        yield add("unknown", maker(), "Repeat_State", "repeat_state")
    spread = arithmetic(spread=" \n\t ")
    yield add("untidy", {**spread, "answer": f"\n {spread['answer']}\t"}, *STRATEGIES)
    yield add("untidy", {**spread, "answer": f"\n {spread['answer']}\t"})
    yield add("spaces in an answer", {**letter(), "answer": " a  b\nc "}, "self_verification")
    yield add("spaces in an answer", {**letter(2), "answer": " o  "}, "self_verification", "read_question")
    yield add("spaces in an answer", {**letter(2), "answer": "\to\n "}, "self_verification")
    yield add("spaces in an answer", {**letter(2), "answer": "\tok\n "}, "self_verification")
    yield add("another answer", {**coin(), "answer": "Yes"}, "self_verification")
    yield add("another answer", {**arithmetic(), "answer": f"{number()}.5"}, "self_verification", "make_equation")
    several = f"Is {name()} here? {name()} has {number()} {THINGS[0]}. Who has  more? Tell me."
    yield add("which sentence asks", {**arithmetic(), "question": several}, *STRATEGIES)
    earlier = f'Here are names: "{name()} {name()}". What are their last letters?'
    yield add("quoted before the sentence that asks", {**letter(2), "question": earlier}, *STRATEGIES)
    yield add("which sentence asks", {**coin(), "question": f"{name()} flips it. Tell  me\thow it\nlies"}, *STRATEGIES)
    yield add("few stem words", {**arithmetic(), "question": f"Is it {number()}, 12.5 or  {number()}?"}, *STRATEGIES)
    yield add(
        "few stem words", {**coin(), "question": "Is it {in} the COIN, coin or Coin?"}, "think_word", "think_word"
    )
    yield add("signs", {**odd, "task": "arithmetic"}, *STRATEGIES)
    braces = {**coin(), "question": "Is {answer} {fact} or {0}?", "answer": "{question}"}
    yield add("signs", braces, *STRATEGIES)
    told = {
        "arithmetic": f"Is it right that {number()} + 4 = {number()}?",
        "letter": f'So the first letter is "{name()[-1]}". Is that "k", or is "x" right?',
        "coin": "A coin is on the table. Do you agree that it is heads up?",
    }
    for task, question in told.items():
        asked = {**makers[task](), "question": question}
        for rationale in ("Let us see. It may be so. Oh!", asked["rationale"]):
            given = {**asked, "rationale": rationale}
            yield add("a state in the question", given, "read_question", "repeat_state", "make_equation")
            yield add("a state in the question", given, *["repeat_state"] * 3, *STRATEGIES)
    yield add("no mark at the end", {**coin(), "rationale": coin()["rationale"][:-1]}, "repeat_state", "make_equation")
    for maker, size, count in (
        (arithmetic, 30, 7),
        (arithmetic, 15, 29),
        (coin, 7, 25),
        (arithmetic, 25, 25),
        (arithmetic, 29, 29),
    ):
        yield add("many summaries", maker(size), *["repeat_state"] * count, *STRATEGIES[:1])
    yield add(
        "another side first", {**coin(), "rationale": "It is tails up. It is heads up. It is tails up."}, *STRATEGIES
    )
    yield add("unknown", coin(), "")
    yield add("unknown", coin(), "repeat_state ")

    def words(most=6):
        """Words that no sentence says, with something told among them at times."""
        drawn = [str(word) for word in generator.choice(WORDS + BRACES, int(generator.integers(1, most)))]
        if generator.random() < 0.5:
            drawn.insert(int(generator.integers(len(drawn))), str(generator.choice(TOLD)))
        return drawn if any(letter.isalnum() for word in drawn for letter in word) else [*drawn, name()]

    def spaced(pieces):
        gaps = [str(generator.choice((" ", " ", "  ", "\n", "\t", " \n\n"))) for _ in range(len(pieces) + 1)]
        gaps[0], gaps[-1] = (str(generator.choice(("", "", " ", "\n\t"))) for _ in range(2))
        return gaps[0] + "".join(piece + gap for piece, gap in zip(pieces, gaps[1:], strict=True))

    def drawn_text(most=6, last=None):
        pieces = [word for _ in range(int(generator.integers(1, most))) for word in marked(words())]
        if last is not None:
            pieces[-1] += last
        return spaced(pieces)

    def marked(pieces):
        return [*pieces[:-1], pieces[-1] + str(generator.choice((".", ".", "?", "!", "...", " .")))]

    def drawn_demo():
        task = str(generator.choice(list(makers)))
        return demo(task, drawn_text(4), drawn_text(9, generator.choice(("", " so"))), spaced([*words(3), name()]))

    for method in METHODS * 6:
        demos = [drawn_demo() for _ in range(int(generator.integers(1, 4)))]
        question = demos[0]["question"] if generator.random() < 0.2 else drawn_text(4)
        triggers = [drawn_text(3, str(generator.choice(("", " so", " So\n")))) for _ in range(2)]
        yield prompt("drawn", method, demos, question, *triggers)
    for _ in range(30):
        yield add("drawn", drawn_demo(), *generator.choice(STRATEGIES, int(generator.integers(1, 9))).tolist())

    def compress(case, given, times, *replies, **extra):
        begin = {"times": times, "replies": replies, "seed": number(0, 2**31)}
        return {"name": f"compress: {case}", "demo": given, **begin, **extra}

    for times in (0, 1, 2, 3, 5, 12):
        yield compress("good replies", arithmetic(7), times, "good")
    yield compress("thirty steps", arithmetic(30), 40, "good", "good", "none")
    for maker in makers.values():
        yield compress("to one", maker(5), 9, "good")
        yield compress("any reply", maker(9), 12, "good", "two", "none", "longer", "untidy", "less", "bare")
    for reply in (
        "two",
        "none",
        "blank",
        "longer",
        "equal",
        "shorter",
        "less",
        "bare",
        "untidy",
        "more",
        "joined",
        "asks",
        "wordy",
        "dense",
        "ahead",
        "behind",
    ):
        yield compress(f"{reply} replies", arithmetic(6), 4, reply)
        yield compress(f"{reply} replies", coin(6), 6, reply, "good")
    yield compress("one lost", letter(6), 4, "second", "good")
    yield compress("one lost", letter(6), 4, "first", "good")
    yield compress("marks without a space", letter(6), 5, "tight")
    digits = f"It is 1{number()}. It is {number()}.5. It is 5. It is {number()}. It is 9."
    yield compress("parts of numbers", {**arithmetic(), "rationale": digits}, 6, "inner", "good", "inner")
    swap = "It is tails up, or so it seems. It is heads up, or so it seems. It is heads up."
    yield compress("sides", {**coin(), "rationale": swap}, 3, "sides")
    names = f"Then {name()} comes by and by. Then X comes by and by. Is  {name()} there by and by? Oh! Yes {name()} is"
    yield compress("names", {**coin(), "rationale": names}, 3, "lower", "good")
    yield compress("few steps", letter(1), 3, "good")
    yield compress("few steps", letter(2), 4, "none", "good")
    yield compress("few steps", letter(2), 4, "two")
    yield compress("few steps", {**letter(), "rationale": " \n "}, 3, "good")
    yield compress("untidy", spread, 2, "good")
    yield compress("untidy", {**spread, "rationale": f" \n{spread['rationale'][:-1]} "}, 0, "good")
    yield compress(
        "signs", {**odd, "rationale": f"{odd['rationale']} It is {{first}}. And {{second}} {{0}}."}, 5, "good", "none"
    )
    both = {**odd, "rationale": f"Say {{second}} {number()} first. Then {{first}} or {{second}}."}
    yield compress("signs", both, 1, "none")
    quoted = f'"{name()} {name()}"'
    spoken = {**letter(), "rationale": f"We have the words {quoted} here, as it seems. So we go on with {quoted} now."}
    yield compress("white space in quotations", spoken, 1, "spread")
    twice = f"{spoken['rationale']} {spoken['rationale']}"
    yield compress("white space in quotations", {**spoken, "rationale": twice}, 3, "spread", "good")
    for _ in range(20):
        kinds = ("good", "joined", "untidy", "less", "two", "tight", "second", "shorter")
        yield compress("drawn", drawn_demo(), 6, *generator.choice(kinds, 4).tolist())
    yield compress("the same step again", {**coin(), "rationale": "So it is. " * 6}, 4, "good", "two")


def demo(task, question, rationale, answer):
    return {"task": task, "question": question, "rationale": rationale, "answer": answer}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    seen = []
    for part in case["parts"]:
        kind = _prompts if "method" in part else _added if "strategies" in part else _compressed
        seen.append(kind(part))
    return {"seen": seen, "drawn": [random.random(), float(np.random.random())]}


def _prompts(case):
    from data import Demo
    from run_inference import get_sentence

    given = (tuple if "kind" in case else list)(Demo(**one) for one in case["demos"])
    seen = []
    # The same list again, in another order and without its last entry.
    for turn in range(2):
        before = list(given)
        try:
            text = get_sentence(given, case["x"], case["method"], *case["triggers"])
        except ValueError:
            text = None
        seen.append(
            [text, list(given) == before and all(one is other for one, other in zip(given, before, strict=True))]
        )
        if turn == 0 and isinstance(given, list):
            given[:] = given[-2::-1]
    return seen


def _added(case):
    from data import Demo
    from steps import add_steps

    given = Demo(**case["demo"])
    names = (tuple if "kind" in case else list)(case["strategies"])
    seen = []
    for turn in range(2):
        before = list(names)
        try:
            result = add_steps(given, names)
        except ValueError:
            return "refused"
        seen.append([_fields(result), _fields(given) == case["demo"], list(names) == before])
        if turn == 0 and isinstance(names, list):
            names[:] = names[1:]
        if "twice" in case:
            given = result
            case = {**case, "demo": _fields(result)}
    return seen


def _compressed(case):
    from data import Demo
    from steps import compress_steps

    given, generator = Demo(**case["demo"]), np.random.default_rng(case["seed"])
    seen = []
    for _ in range(2):
        prompts = []

        def ask(prompt, prompts=prompts):
            prompts.append(prompt)
            return _reply(prompt, case["replies"][(len(prompts) - 1) % len(case["replies"])])

        result = compress_steps(given, case["times"], ask, generator)
        seen.append(
            [
                _fields(result),
                _fields(given) == case["demo"],
                prompts,
                [int(generator.integers(end)) for end in (99, 2**40)],
            ]
        )
    return seen


def _fields(one):
    return {name: getattr(one, name) for name in ("task", "question", "rationale", "answer")}


def _reply(prompt, kind):
    """What the model says: everything that the pair says without most of its words, or something of no use."""
    found = re.search(r"First: (.*)\nSecond: (.*)\n", prompt)
    if found is None:
        return ""
    first, second = found.groups()

    def brief(text):
        items = re.findall(r'\d+(?:\.\d+)?|"[^"]*"|heads|tails|[A-Z][a-z]*', text)
        return " ".join(dict.fromkeys(items)) or text[:3]

    all_of_it = brief(f"{first} {second}")
    return {
        "good": f"{all_of_it}.",
        "two": f"{brief(first)}. {brief(second)}.",
        "none": "",
        "blank": " \n\t",
        "longer": f"{all_of_it}, {first[:-1]}, {second}",
        "equal": f"{first[:-1]}; {second}",
        "shorter": f"{first[:-1]};{second}",
        "less": f"{all_of_it.rpartition(' ')[0]}.",
        "bare": all_of_it,
        "untidy": f"\n  {all_of_it.replace(' ', '  ')} \t.\n\n" if len(all_of_it) % 2 else f"\t{all_of_it} \n",
        "spread": all_of_it.replace(" ", " \n ") + " .",
        "more": f"{all_of_it} 0.",
        "wordy": f"{all_of_it}{' a' * ((len(first) + len(second) - len(all_of_it)) // 2 - 1)}.",
        "dense": f"{all_of_it} {'x' * (len(first) + len(second))}.",
        "ahead": f"So. {all_of_it}.",
        "behind": f"{all_of_it}. So.",
        "joined": f"{first[:-1]}, {second[:-1]}",
        "asks": f"{all_of_it}?",
        "first": f"{brief(first)}.",
        "second": f"{brief(second)}.",
        "tight": f"{brief(first)}.{brief(second)}.",
        "inner": " ".join(f"1{item}" for item in re.findall(r"\d+", all_of_it)) + ".",
        "sides": f"It {all_of_it.replace('heads', 'headsup')}.",
        "lower": f"{all_of_it.lower()}.",
    }[kind]
