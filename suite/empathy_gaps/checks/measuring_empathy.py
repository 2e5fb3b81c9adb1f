"""Questions, answers read back, refusals, matrices, scores, bounds and likeness, one function after the other."""

import tempfile
from pathlib import Path

import numpy as np

SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}
REFUSED = "As 1 person of 100, I can't answer that."
RESPONSES = (
    *("0", "0.0", "007", "100", "63", "63.5", "  63.25 of 100", "\n\t63", "63\n", "63.", "63.x", "63.5.2", "63-70"),
    *("63points", "6,3", "1e3", "6 3", "-63", "+63", ".5", "", " \n", "Rating: 63", "x63", "(63)", "'63'"),
    *("I'd say 63.", REFUSED),
)
# The types in which excluded events are given.
KINDS = {"list": list, "iterator": iter, "set": set, "array": np.array}
SETTINGS = ("P1S0T0", "P0S1T0", "P0S0T2")


def cases(seed):
    generator = np.random.default_rng(seed)

    def matrix(size):
        """Neither symmetric nor centred; every row and column has a level of its own, those of the reference most."""
        levels = generator.normal(size=(size, 1)) + 2 * generator.normal(size=(1, size))
        cells = 0.5 + levels + generator.normal(size=(size, size)) + 2 * np.eye(size)
        cells[0] += 5 * generator.normal(size=size)
        cells[:, 0] -= 5 * generator.normal(size=size)
        return cells

    def answers(option="religion", events=(3, 7, 12), most=100):
        """Lines of perceiver's number, experiencer's number, event and response, in any order."""
        size = SIZES[option]
        levels = generator.integers(most // 4, most // 2, size=(size, 1)) + generator.integers(0, most // 4, size=size)
        lines = [
            [row, column, event, str(levels[row, column] + int(generator.integers(0, most // 4)))]
            for event in events
            for row in range(size)
            for column in range(size)
        ]
        return [lines[place] for place in generator.permutation(len(lines))]

    def refused(lines, event, pairs=1):
        """Some pairs refuse an event."""
        places = [place for place, line in enumerate(lines) if line[2] == event]
        chosen = set(generator.permutation(places)[:pairs].tolist())
        return [[*line[:3], REFUSED] if place in chosen else line for place, line in enumerate(lines)]

    for option in SIZES:
        bases = generator.uniform(20, 80, size=2 if option == "religion" else 1).tolist()
        yield {"name": f"questions, {option}", "kind": "asked", "option": option, "bases": bases}
    bases = generator.uniform(20, 80, size=3).tolist()
    for setting in SETTINGS:
        given = {"option": "religion", "bases": bases, "setting": setting}
        yield {"name": f"questions, {setting}", "kind": "asked", **given}
    yield {"name": "no events", "kind": "asked", "option": "religion", "bases": [], "edge": True}
    yield {
        "name": "a simulated model asked",
        "kind": "simulated",
        "seed": seed % 1000,
        "base": generator.uniform(5, 90),
    }

    drawn = [
        f"{before}{generator.integers(1000)}{after}" for before in ("", " ", "~") for after in ("", ".75", "%", " of")
    ]
    yield {"name": "responses", "kind": "intensities", "responses": [*RESPONSES, *drawn]}

    odd = [[number % 6, number % 5, number, response] for number, response in enumerate(RESPONSES)]
    odd += [[1, 2, 2**31 - 1, 'He said: "Under\t {63}\\n"\n63'], [0, 0, 0, "63"], [0, 0, 0, "63"]]
    yield {"name": "lines read back", "kind": "read", "parts": [odd, answers(events=(5,))[:9], []]}
    yield {"name": "no lines", "kind": "read", "parts": [[]], "edge": True}
    yield {"name": "no file", "kind": "read", "parts": [], "edge": True}

    plain, first = answers(), refused(answers(events=(3, 7, 12, 20)), 7, 3)
    several = {
        "none": plain,
        "one": refused(plain, 12),
        "several": refused(refused(answers(events=(3, 7, 12, 20)), 3, 5), 20),
        "one answered later": first + [line for line in answers() if line[2] == 7],
        "some answered later": refused(answers(), 7, 36) + [line for line in answers() if line[2] == 7][:30],
        "one refused later": plain + refused([line for line in plain if line[2] == 12], 12),
        "answered with 0": [[*line[:3], "0"] for line in plain],
        "one order of a pair": [[1, 4, 7, REFUSED], [4, 1, 7, "63"]],
        "all kinds": odd,
        "no answers": [],
    }
    yield {"name": "refusals", "kind": "refused", "files": several}

    def filtered(name, lines, excluded=(), option="religion", setting="P0S0T0", **extra):
        given = {"lines": lines, "excluded": list(excluded), "option": option, "setting": setting}
        return {"name": f"matrix, {name}", "kind": "matrix", **given, **extra}

    for option in SIZES:
        yield filtered(option, answers(option, (3, 7) if option == "ethnicity" else (3, 7, 12)[::2]), option=option)
    five = (3, 7, 12, 20, 31)
    yield filtered("six events", answers(events=(0, *five)), excluded=[])
    yield filtered("a scale to ten", answers(events=(1, 2, 3, 4, 5, 6, 7), most=10), setting="P0S1T0")
    yield filtered("refused events excluded", refused(refused(answers(events=five), 3, 4), 20), excluded=[3, 20])
    lines = answers(events=(*five, 0))
    handed = [filtered(kind, lines, excluded=[7, 99, 31, 0], handed=kind) for kind in KINDS]
    yield {"name": "matrices, events excluded in every form", "kind": "matrices", "matrices": handed, "edge": True}
    yield filtered("all asked again", answers() + answers())
    yield filtered("some asked again", answers() + answers()[:40])
    yield filtered("a refusal answered later", refused(plain, 7, 3) + [line for line in answers() if line[2] == 7])
    yield filtered("fractions", [[*line[:3], f" {line[3]}.{25 * (line[0] % 3)} of 100"] for line in answers()])
    few = [[*line[:3], str(generator.integers(3))] for line in answers()]
    yield filtered("answers of 0", few)
    less = [line for line in answers() if line[:2] != [4, 1] or line[2] == 3]
    yield filtered("pairs asked less", less, edge=True)
    yield filtered("other files", answers(), setting="P0S0T2", others=answers())
    without = [line for line in plain if line[:2] != [4, 1] or line[2] == 3]
    insufficient = [
        filtered("a refusal is left", refused(answers(events=five), 20), excluded=[3]),
        filtered("refused later", [*plain, [*plain[4][:3], REFUSED]]),
        filtered("a pair left out", [line for line in plain if line[:2] != [1, 4]]),
        filtered("a pair's events excluded", without, excluded=[3]),
        filtered("all excluded", plain, excluded=[3, 7, 12]),
        filtered("no answers", []),
        filtered("no file", None, others=plain),
    ]
    yield {"name": "matrices, answers that do not suffice", "kind": "matrices", "matrices": insufficient, "edge": True}

    for option, size in SIZES.items():
        yield {"name": f"score, {option}", "kind": "score", "option": option, "matrix": matrix(size)}
    whole = generator.integers(-9, 9, size=(6, 6))
    given = {"whole numbers": whole, "lists": matrix(6).tolist(), "lists of whole numbers": whole.tolist()}
    given |= {"a column short": matrix(6)[:, :5], "a row too many": matrix(7)[:, :6], "too small": matrix(5)}
    given |= {
        "of another category": matrix(19),
        "flat": matrix(6).ravel(),
        "three dimensions": matrix(6)[:, :, np.newaxis],
    }
    scores = [{"name": name, "option": "religion", "matrix": cells} for name, cells in given.items()]
    yield {"name": "scores, other types and shapes", "kind": "scores", "scores": scores, "edge": True}

    for option, size, permutations, options in (
        ("religion", 6, 1, {}),
        ("religion", 6, 2, {"level": 0.5}),
        ("religion", 6, 13, {"level": 0.8}),
        ("religion", 6, 40, {}),
        ("ethnicity", 19, 9, {"level": 0.99}),
        ("nationality", 22, 7, {"level": 0.3}),
    ):
        found = {"option": option, "matrix": matrix(size), "permutations": permutations, "seed": seed % 1000}
        yield {"name": f"bounds, {option}, {permutations}, {options}", "kind": "bounds", **found, "options": options}

    for name, scale in (("small", 1e-3), ("plain", 1.0), ("large", 1e3)):
        cells = scale * matrix(22)
        cells[1 + generator.permutation(21)[:8]] *= -3
        yield {"name": f"likeness, {name}", "kind": "likeness", "matrix": cells}


def observe(case):
    observations = {
        "asked": asked,
        "simulated": simulated,
        "intensities": intensities,
        "read": read,
        "refused": refusals,
        "matrix": filtered_matrix,
        "matrices": matrices,
        "score": score,
        "scores": scores,
        "bounds": bounds,
        "likeness": likeness,
    }
    return observations[case["kind"]](case)


class Recorder:
    """A model that counts its answers, and keeps what it was asked."""

    def __init__(self):
        self.questions = []

    def respond(self, system, task, base):
        self.questions.append([system, task, base])
        return f"{len(self.questions)} points"


def fields(answer):
    return [answer.perceiver, answer.experiencer, answer.event_id, answer.response]


def asked(case):
    from analysis.prompts import Event
    from analysis.simulated import ask

    emotions, ids = ("joy", "fear", "pride"), (40, 7, 23)
    events = {Event(ids[n], emotions[n], f"it was {base}"): base for n, base in enumerate(case["bases"])}
    model = Recorder()
    setting = [case["setting"]] if "setting" in case else []
    answers = ask(model, events, case["option"], *setting)
    return {"questions": model.questions, "answers": [fields(answer) for answer in answers]}


def simulated(case):
    from analysis.prompts import Event
    from analysis.simulated import SimulatedModel, ask

    events = {Event(5, "joy", "the exam was passed"): case["base"], Event(2, "fear", "it broke"): 100 - case["base"]}
    answers = ask(SimulatedModel(12.0, case["seed"], refusals=0.1), events, "religion", "P0S1T0")
    return {"answers": [fields(answer) for answer in answers]}


def intensities(case):
    from analysis.results import Answer

    found = [Answer("a Jew", "a Hindu", 3, response).intensity for response in case["responses"]]
    return {"intensities": found, "floats": [item is None or isinstance(item, float) for item in found]}


def kept(lines, option, setting="P0S0T0", model_id="model"):
    """Append answers to a file."""
    from analysis.results import append_answers

    append_answers(model_id, setting, option, built(lines, option))


def built(lines, option="religion"):
    from analysis.groups import identities
    from analysis.results import Answer

    names = identities(option)
    return [Answer(names[row], names[column], event, response) for row, column, event, response in lines]


def read(case):
    from analysis.results import read_answers, use_folder

    with tempfile.TemporaryDirectory() as folder:
        use_folder(Path(folder))
        kept([[1, 1, 1, "1"]], "religion", model_id="other")
        kept([[2, 2, 2, "2"]], "religion", setting="P1S0T0")
        kept([[3, 3, 3, "3"]], "ethnicity")
        for lines in case["parts"]:
            kept(lines, "religion")
        try:
            return {"answers": [fields(answer) for answer in read_answers("model", "P0S0T0", "religion")]}
        except FileNotFoundError:
            return {"no file": True}


def refusals(case):
    return {name: refused_in(lines) for name, lines in case["files"].items()}


def refused_in(lines):
    from analysis.results import refused_ids

    given = built(lines)
    found, again = refused_ids(list(given)), refused_ids(iter(given))
    return {"ids": sorted(found), "again": sorted(again), "sets": [isinstance(ids, set) for ids in (found, again)]}


def matrices(case):
    return {one["name"]: filtered_matrix(one) for one in case["matrices"]}


def filtered_matrix(case):
    from analysis.metrics import get_filtered_matrix
    from analysis.results import use_folder

    option, setting = case["option"], case["setting"]
    with tempfile.TemporaryDirectory() as folder:
        use_folder(Path(folder))
        if "others" in case:
            kept(case["others"], option, setting, "other")
            kept(case["others"], option, "P0S0T1")
        if case["lines"] is not None:
            kept(case["lines"], option, setting)
        excluded = KINDS[case.get("handed", "set")](case["excluded"])
        try:
            return {"matrix": get_filtered_matrix(option, setting, "model", excluded)}
        except ValueError:
            return {"raised": "ValueError"}
        except FileNotFoundError:
            return {"raised": "FileNotFoundError"}


def score(case):
    from analysis.metrics import get_delta

    try:
        return {"score": get_delta(case["matrix"], case["option"])}
    except ValueError:
        return {"raised": "ValueError"}


def scores(case):
    return {one["name"]: score(one) for one in case["scores"]}


def bounds(case):
    from analysis.permutation import permutation_bounds

    found = permutation_bounds(case["matrix"], case["option"], case["permutations"], case["seed"], **case["options"])
    return {"bounds": list(found)}


def likeness(case):
    from analysis.regions import view_similarity

    return {"within and between": list(view_similarity(case["matrix"]))}
