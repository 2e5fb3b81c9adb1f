"""Prompts of all methods, steps added and compressed, datasets that are run, and answers, character by character."""

import random
import re
from itertools import product

import numpy as np

METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")
STRATEGIES = ("read_question", "think_word", "repeat_state", "self_verification", "make_equation")
DATASETS = ("arithmetic", "long arithmetic", "letter", "coin")
COT, DIRECT = "Let's think step by step.", "The answer is"
ODD = ("letter", "Is {x} or {question} or %s in {0}?", "It is {answer}. {} is %d.  {{x}} it is", "{x} %s")


def cases(seed):
    rng = random.Random(seed)
    yield from prompt_cases(rng)
    yield from step_cases(rng)
    yield from answer_cases(rng)
    for case in edge_cases(rng):
        yield case | {"edge": True}


def drawn(rng, count=3):
    """Demonstrations by dataset and seed, which `built` makes."""
    return [[rng.choice(DATASETS), rng.randrange(10**6)] for _ in range(count)]


def add(demo, *strategies):
    return {"demo": demo, "strategies": list(strategies)}


def compress(rng, demo, times, *replies):
    return {"demo": demo, "times": times, "replies": list(replies), "seed": rng.randrange(10**9)}


def prompt(demos, x, cot=COT, direct=DIRECT):
    return {"demos": demos, "x": x, "cot": cot, "direct": direct}


def prompt_cases(rng):
    question = f"How old is Anna in {rng.randrange(99)} days?"
    for method in METHODS:
        given = [prompt(drawn(rng), question), prompt(drawn(rng, 1), question, "Think twice!", "So it is")]
        given += [
            prompt([], question),
            prompt([("coin", "Is it?", "It is 2.5. Is it?", "12.5"), *drawn(rng, 1)], question),
        ]
        given += [prompt([("coin", "HOW many?", "It is 2. No! Yes.", "no"), *drawn(rng, 2)], "How many?")]
        given += [prompt([("coin", "How many?", "So.", "no")] * 2 + drawn(rng, 1), "How many")]
        yield {"name": f"prompts, {method}", "method": method, "prompts": given}


def step_cases(rng):
    for dataset in DATASETS:
        one = [dataset, rng.randrange(10**6)]
        some = [add(one, strategy) for strategy in STRATEGIES]
        some += [add(one), add(one, *STRATEGIES), add(one, *rng.sample(STRATEGIES * 3, 15))]
        some += [add(one, *["repeat_state"] * count) for count in (2, 3, 4, 5, 7, 9)]
        some += [add([*one, {"answer": wrong}], *STRATEGIES) for wrong in ("-3", "Yes", "zzzz")]
        yield {"name": f"added, {dataset}", "added": some}
    several = f"Is Anna here? She has {rng.randrange(9)} pens. Who has more? Tell me."
    others = [("arithmetic", several, "So there are 3 + 4 = 7. Then 7 - 2 = 5.", "5")]
    others += [("coin", "Is it 12, or is it so?", "The coin is tails up. The coin is heads up.", "yes")]
    others += [
        ("letter", "Tell me how.", 'It is "a". Then it is "b".', "ab"),
        ("coin", "Is it so now?", "It is tails up.", "no"),
    ]
    yield {"name": "added to others", "added": [add(one, *STRATEGIES, "repeat_state", "think_word") for one in others]}
    for kind in ("good", "bare", "asks", "more", "two", "ahead", "behind", "none"):
        yield {"name": f"merged, {kind}", "merged": [compress(rng, one, 4, kind, "good") for one in drawn(rng, 2)]}
    for kind in ("longer", "equal", "shorter", "first", "second"):
        yield {"name": f"merged, {kind}", "merged": [compress(rng, one, 4, kind, "good") for one in drawn(rng, 3)]}
    long = ["long arithmetic", rng.randrange(10**6)]
    yield {"name": "merged often", "merged": [compress(rng, long, times, "good", "none") for times in (0, 1, 2, 5, 20)]}


def answer_cases(rng):
    numbers = [rng.randrange(10, 999) for _ in range(4)]
    tails = [" 12.", " -7 or 5.", " so 3", " yes or no.", " No, yes.", "abc De fg.", " X", "", f"\n{numbers[0]}"]
    texts = [f"There are {number}. {DIRECT}{tail}" for number in numbers[:2] for tail in tails]
    texts += [f"{DIRECT} 4. {DIRECT} {numbers[3]}.", f"{numbers[2]} apples, no.", "yes", "", f"12. {DIRECT}"]
    yield {"name": "answers", "answers": [*texts, f"a {DIRECT} yesno no"]}
    for method, cot in product(METHODS, (None, "Go on.")):
        replies = [rng.choice(["", "So. "]) + f"{DIRECT} {rng.choice(numbers)}." for _ in range(3)]
        given = {"dataset": rng.choice(DATASETS), "seed": rng.randrange(10**6), "replies": replies}
        given |= {"demos": drawn(rng, 2), "method": method, "cot": cot}
        yield {"name": f"a dataset, {method}{', another trigger' * (cot is not None)}", "run": given}


def edge_cases(rng):
    name = rng.choice(("Anna", "Boris", "Clara"))
    rationale = f" \n{name}\tis  12.\n\nIs\tshe  older?   Oh!  So\tbe it "
    untidy = ("letter", f"\t Who  is\n\n{name} ?\n", rationale, "\n  a   b\t")
    for method in METHODS:
        given = [prompt([untidy, ODD, *drawn(rng, 1)], f" \nIs it {{x}},  {{}}, {name}? ", "Shall  we?", "{y} is")]
        given += [prompt(drawn(rng, 1), "Is it?", "Think {x}  twice", " So\n\nit  is: ")]
        given += [prompt(drawn(rng, 2), "Is it?", "", " \n"), prompt([], "Is it?", "\n")]
        given += [prompt([("coin", "Is it?", "", "12.5"), ("coin", "Is it 3?", " \n\t", "no")], f"Is it {name}?")]
        given += [prompt([("coin", "HOW many?", "So. No! Yes", "no"), *drawn(rng, 1)], "How \n MANY? ")]
        yield {"name": f"untidy prompts, {method}", "method": method, "prompts": given}
    yield {"name": "unknown methods", "unknown": ["manual_cot", "", "Few_Shot", "zero", "zero_shot ", "cot"]}
    some = []
    for one in drawn(rng, 4):
        some += [add([*one, {"rationale": " \n"}], *STRATEGIES, "repeat_state")]
        some += [add([*one, {"rationale": "Let us see. Is  it?", "answer": " a  b "}], *STRATEGIES, "repeat_state")]
        some += [add([*one, {"before": "Let us see. Oh!  So "}], *["repeat_state"] * 6, *STRATEGIES)]
    yield {"name": "added to untidy ones", "added": [*some, add(ODD, *STRATEGIES), add(untidy, *STRATEGIES)]}
    yield {"name": "unknown strategies", "added": [add(ODD, "read_question", name) for name in ("think_words", "")]}
    some = [compress(rng, one, 3, "untidy", "bare") for one in (ODD, untidy, *drawn(rng, 3))]
    some += [compress(rng, ("coin", "Is it?", "It is 12.  It is so", "no"), times, "good") for times in (0, 4)]
    some += [compress(rng, ("coin", "Is it?", " \n", "no"), 3, "good")]
    some += [compress(rng, ("coin", "Is it?", "It is {second} 12. It is {first} or so.", "no"), 2, "none", "good")]
    yield {"name": "untidy ones merged", "merged": some}


def observe(case):
    kinds = {"prompts": prompts, "unknown": unknown, "added": added, "merged": merged, "answers": answers, "run": whole}
    return next(function(case) for kind, function in kinds.items() if kind in case)


def built(given):
    """A demonstration from its fields, or from a dataset and a seed, with some fields otherwise."""
    from data import Demo, make_problem
    from rationales import manual_demo

    if len(given) == 4:
        return Demo(*given)
    dataset, seed, *others = given
    demo = manual_demo(make_problem(dataset, np.random.default_rng(seed)))
    changes = dict(others[0]) if others else {}
    before = changes.pop("before", "")
    return Demo(**{**fields(demo), "rationale": before + demo.rationale, **changes})


def fields(demo):
    return {name: getattr(demo, name) for name in ("task", "question", "rationale", "answer")}


def prompts(case):
    from run_inference import get_sentence

    found = []
    for one in case["prompts"]:
        demos = [built(demo) for demo in one["demos"]]
        found.append(get_sentence(demos, one["x"], case["method"], one["cot"], one["direct"]))
    return {"found": found}


def unknown(case):
    from run_inference import get_sentence

    found = []
    for method in case["unknown"]:
        try:
            found.append(get_sentence([], "Is it?", method, COT, DIRECT))
        except ValueError:
            found.append("refused")
    return {"found": found}


def added(case):
    from steps import add_steps

    found = []
    for one in case["added"]:
        try:
            found.append(fields(add_steps(built(one["demo"]), one["strategies"])))
        except ValueError:
            found.append("refused")
    return {"found": found}


def merged(case):
    from steps import compress_steps

    found = []
    for one in case["merged"]:
        seen, generator = [], np.random.default_rng(one["seed"])

        def ask(prompt, seen=seen, replies=one["replies"]):
            seen.append(prompt)
            return reply(prompt, replies[(len(seen) - 1) % len(replies)])

        result = compress_steps(built(one["demo"]), one["times"], ask, generator)
        found.append([fields(result), seen, int(generator.integers(2**40))])
    return {"found": found}


def reply(prompt, kind):
    """What a model says of two steps: all that must stay, or something of no use."""
    first, second = re.search(r"First: (.*)\nSecond: (.*)\n", prompt).groups()

    def brief(text):
        return " ".join(dict.fromkeys(re.findall(r'\d+(?:\.\d+)?|"[^"]*"|heads|tails|[A-Z][a-z]*', text))) or text[:3]

    every = brief(f"{first} {second}")
    return {
        "good": f"{every}.",
        "two": f"{brief(first)}. {brief(second)}.",
        "none": " \n",
        "longer": f"{every}, {first[:-1]}, {second}",
        "equal": f"{first[:-1]}; {second}",
        "shorter": f"{first[:-1]};{second}",
        "bare": every,
        "untidy": f"\n  {every.replace(' ', '  ')} \t.\n",
        "more": f"{every} 0.",
        "first": f"{brief(first)}.",
        "second": f"{brief(second)}.",
        "asks": f"{every}?",
        "ahead": f"So. {every}.",
        "behind": f"{every}. So.",
    }[kind]


def answers(case):
    from answers import clean_answer

    tasks = ("arithmetic", "letter", "coin")
    return {"found": [[clean_answer(task, text) for task in tasks] for text in case["answers"]]}


def whole(case):
    from data import make_dataset
    from run_inference import run_dataset

    given, seen = case["run"], []
    problems = make_dataset(given["dataset"], 5, np.random.default_rng(given["seed"]))
    right = [f"{DIRECT} {problem.answer}." for problem in problems[::2]]
    replies = [*right, *given["replies"]]

    def complete(prompt):
        seen.append(prompt)
        return replies[len(seen) - 1]

    trigger = {} if given["cot"] is None else {"cot_trigger": given["cot"]}
    demos = [built(demo) for demo in given["demos"]]
    return {"accuracy": float(run_dataset(problems, demos, given["method"], complete, **trigger)), "seen": seen}
