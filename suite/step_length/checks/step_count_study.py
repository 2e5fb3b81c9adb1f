"""Prompts of all methods, steps added and compressed, datasets that are run, and answers, character by character."""

import random
import re

import numpy as np

METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")
STRATEGIES = ("read_question", "think_word", "repeat_state", "self_verification", "make_equation")
DATASETS = ("arithmetic", "long arithmetic", "letter", "coin")
COT, DIRECT = "Let's think step by step.", "The answer is"
ODD = ("letter", "Is {x} or {question} or %s in {0}?", "It is {answer}. {} is %d.  {{x}} it is", "{x} %s")


def cases(seed):
    rng = random.Random(seed)

    def drawn(count=3):
        """Demonstrations that are made where they are needed."""
        return [[rng.choice(DATASETS), rng.randrange(10**6)] for _ in range(count)]

    untidy = (
        "letter",
        "\t Who  is\n\nAnna ?\n",
        " \nAnna\tis  12.\n\nIs\tshe  older?   Oh!  So\tbe it ",
        "\n  a   b\t",
    )
    question = f"How old is  Anna in {rng.randrange(99)}\tdays?"
    for method in METHODS:
        given = [
            {"demos": drawn(), "x": question},
            {"demos": drawn(1), "x": question, "cot": "Think {x}  twice", "direct": " So\n\nit  is: "},
            {
                "demos": [untidy, ODD, *drawn(1)],
                "x": " \nIs it {x},  {}, %s? ",
                "cot": "Shall  we?",
                "direct": "{y} is",
            },
            {"demos": drawn(2), "x": question, "cot": "", "direct": " \n"},
            {"demos": [], "x": question, "cot": "\n"},
            {"demos": [("coin", "Is it?", "", "12.5"), ("coin", "Is it 3?", " \n\t", "no")], "x": question},
            {"demos": [("coin", "HOW many?", "It is 2.5 or so? No! Yes", "no"), *drawn(2)], "x": "How \n MANY? "},
            {"demos": [("coin", "How many?", "So.", "no")] * 2 + drawn(1), "x": "How many"},
        ]
        yield {"name": f"prompts, {method}", "prompts": [{"cot": COT, "direct": DIRECT} | one for one in given]}
    yield {"name": "no methods", "unknown": ["manual_cot", "", "Few_Shot", "zero", "zero_shot ", "cot"]}

    def add(demo, *strategies):
        return {"demo": demo, "strategies": list(strategies)}

    for dataset in DATASETS:
        one = [dataset, rng.randrange(10**6)]
        some = [add(one, strategy) for strategy in STRATEGIES]
        some += [add(one), add(one, *STRATEGIES), add(one, *rng.sample(STRATEGIES * 3, 15))]
        some += [add(one, *["repeat_state"] * count) for count in (2, 3, 4, 5, 7, 9)]
        some += [add([*one, {"rationale": " \n"}], *STRATEGIES, "repeat_state")]
        some += [add([*one, {"rationale": "Let us see. Is  it?", "answer": " a  b "}], *STRATEGIES, "repeat_state")]
        some += [add([*one, {"before": "Let us see. Oh!  So "}], *["repeat_state"] * 6, *STRATEGIES)]
        some += [
            add([*one, {"answer": wrong}], "self_verification", *STRATEGIES) for wrong in ("-3", " Yes\n", "zzzz ")
        ]
        yield {"name": f"added, {dataset}", "added": some}
    several = "Is Anna here? She has 3 {answer}. Who has  more? Tell me."
    others = [("arithmetic", several, "So there are 3 + 4 = 7.  Then 7 - 2 = 5", "\t5 "), ODD, untidy]
    others += [("coin", "Is it 12, or is it so?", "The coin is tails up. The coin is heads up.", "yes")]
    others += [("letter", "Tell  me\thow", 'It is "a". Then it is "b".', "ab"), ("coin", "Is it so now?", "So.", "no")]
    yield {"name": "added to others", "added": [add(one, *STRATEGIES, "repeat_state", "think_word") for one in others]}
    yield {"name": "no strategies", "added": [add(ODD, "read_question", name) for name in ("think_words", "", "Coin")]}

    def compress(demo, times, *replies):
        return {"demo": demo, "times": times, "replies": list(replies), "seed": rng.randrange(10**9)}

    kinds = ("good", "two", "none", "longer", "equal", "shorter", "bare", "untidy", "more", "first", "second", "asks")
    kinds += ("ahead", "behind")
    for kind in kinds:
        given = [[rng.choice(DATASETS), rng.randrange(10**6)] for _ in range(2)]
        yield {"name": f"merged, {kind}", "merged": [compress(one, 4, kind, "good") for one in given]}
    long = ["long arithmetic", rng.randrange(10**6)]
    some = [compress(long, times, "good", "none") for times in (0, 1, 2, 5, 20)]
    some += [compress(one, 3, "good", "bare") for one in (ODD, untidy, ("coin", "Is it?", " \n", "no"))]
    some += [compress(("coin", "Is it?", "It is 12.  It is so", "no"), times, "good") for times in (0, 4)]
    some += [compress(("coin", "Is it?", "It is {second} 12. It is {first} or so.", "no"), 2, "none", "good")]
    yield {"name": "merged, otherwise", "merged": some}

    numbers = [rng.randrange(10, 999) for _ in range(4)]
    tails = [" 12.", " -7 or 5.", " so 3", " yes or no.", " No, yes.", "abc De fg.", " X", "", f"\n{numbers[0]}"]
    texts = [f"There are {number}. {DIRECT}{tail}" for number in numbers[:2] for tail in tails]
    texts += [
        f"{DIRECT} 4. {DIRECT} 9.",
        f"{numbers[2]} apples, no.",
        "yes",
        "",
        f"12. {DIRECT}",
        f"a {DIRECT} yesno no",
    ]
    yield {"name": "answers", "answers": texts}
    for method in METHODS:
        replies = [rng.choice(["", "So. "]) + f"{DIRECT} {rng.choice(numbers)}." for _ in range(3)]
        given = {"dataset": rng.choice(DATASETS), "seed": rng.randrange(10**6), "demos": drawn(2), "replies": replies}
        yield {"name": f"a dataset, {method}", "run": given | {"method": method, "cot": rng.choice([None, "Go on"])}}


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

    method, found = case["name"].removeprefix("prompts, "), []
    for one in case["prompts"]:
        demos = [built(demo) for demo in one["demos"]]
        kept = list(demos)
        found.append([get_sentence(demos, one["x"], method, one["cot"], one["direct"]), demos == kept])
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
        demo, names = built(one["demo"]), list(one["strategies"])
        try:
            found.append([fields(add_steps(demo, names)), names])
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
