"""get_filtered_matrix: matrices from files of answers, with reruns and excluded events; then the experiment."""

import tempfile
from pathlib import Path

import numpy as np

SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}
REFUSED = "As 1 person of 100, I can't answer that."
# The types in which excluded events are given.
KINDS = {"list": list, "iterator": iter, "set": set, "array": np.array}


def cases(seed):
    generator = np.random.default_rng(seed)

    def ids(count):
        """Ids of events, in any order."""
        return generator.choice(1000, size=count, replace=False).tolist()

    def answers(events, option="religion", most=100):
        """Lines of perceiver's number, experiencer's number, event and response, in any order."""
        size = SIZES[option]
        levels = generator.integers(most // 4, most // 2, size=(size, 1)) + generator.integers(0, most // 4, size=size)
        lines = [
            [row, column, event, str(levels[row, column] + int(generator.integers(0, most // 4)))]
            for event in events
            for row in range(size)
            for column in range(size)
        ]
        return shuffled(lines)

    def shuffled(lines):
        return [lines[place] for place in generator.permutation(len(lines))]

    def refused(lines, event, pairs=1):
        """Some pairs refuse an event."""
        places = [place for place, line in enumerate(lines) if line[2] == event]
        chosen = set(generator.permutation(places)[:pairs].tolist())
        return [[*line[:3], REFUSED] if place in chosen else line for place, line in enumerate(lines)]

    def case(name, lines, excluded=(), option="religion", setting="P0S0T0", **more):
        given = {"group_option": option, "prompt_variation": setting, "lines": lines, "excluded": list(excluded)}
        return {"name": name, **given, **more}

    for option in SIZES:
        yield case(f"every answer, {option}", answers(ids(3 if option == "religion" else 2), option), option=option)
    yield case("one event", answers(ids(1)))
    for setting, most in (("P2S0T0", 100), ("P0S1T0", 10), ("P0S0T2", 100)):
        yield case(f"setting {setting}", answers(ids(6), most=most), setting=setting)
    for kind in ("list", "set"):
        events = ids(5)
        yield case(f"excluded events in a {kind}", answers(events), events[1:3], kind=kind)
    yield case("event 0 left", answers([0, 5, 8]), [8], kind="set")
    yield case("event 0 excluded", answers([0, 5, 8]), [0], kind="set")
    events = ids(5)
    lines = refused(refused(answers(events), events[0], 4), events[3])
    yield case("refusals excluded", lines, [events[0], events[3]], kind="set")
    events = ids(3)
    yield case("words behind numbers", [[*line[:3], f"  {line[3]}.5 of 100"] for line in answers(events)])
    yield case("decimal places", [[*line[:3], f"{line[3]}.{generator.integers(10)}"] for line in answers(ids(3))])
    yield case("answers of 0", [[*line[:3], str(generator.integers(3))] for line in answers(events)], setting="P0S1T0")
    yield case("beyond the scale", answers(ids(3), most=300))
    yield case("all asked again", answers(events) + answers(events))
    yield case("some asked again", answers(events) + answers(events)[:40])
    rerun = [line for line in answers(events) if line[2] == events[1]]
    yield case("refusals answered later", refused(answers(events), events[1], 3) + rerun)
    events = ids(4)
    yield case("asked again, then excluded", answers(events) + answers(events[1:3]), [events[1]], kind="set")
    yield case("another model and setting", answers(events), setting="P0S0T2", others=answers(events))
    for number in range(4):
        option = ("religion", "religion", "ethnicity", "nationality")[number]
        events = ids(5 if option == "religion" else 3)
        lines = refused(answers(events, option), events[0], int(generator.integers(1, 9)))
        again = shuffled(answers(events, option))[: int(generator.integers(20, 60))]
        again = [
            [*line[:3], f" {line[3]}.{2 * generator.integers(5)} points"] for line in again if line[2] != events[0]
        ]
        found = {"setting": ("P0S0T0", "P3S0T0")[number % 2], "kind": ("set", "list")[number // 2], "option": option}
        yield case(f"combined {number}", lines + again, events[: 1 + number % 2], **found, others=answers(events))
    yield {"name": "experiment", "seed": seed % 1000}

    for kind in ("iterator", "array"):
        events = ids(4)
        given = [events[2], 1001, events[0]]
        yield case(f"excluded events in an {kind}", answers(events), given, kind=kind, edge=True)
    events = ids(3)
    later = answers([*events, 1001]), [events[1]]
    yield case("more answers later", answers(events), [events[0]], later=later, edge=True)
    near = [[*line[:3], "50.01" if line[:2] == [2, 5] else "50"] for line in answers(ids(1))]
    yield case("averages nearly equal", near, edge=True)
    pair = generator.integers(6, size=2).tolist()
    few = [line for line in answers(events) if line[:2] != pair or line[2] == events[0]]
    yield case("a pair asked less", few, edge=True)
    yield case("a pair's events excluded", few, [events[0]], edge=True)
    for name, place in {
        "any pair": pair,
        "the reference": [0, 0],
        "a perceiver and the reference": [pair[0], 0],
    }.items():
        yield case(f"{name} not asked", [line for line in answers(events) if line[:2] != place], edge=True)
    yield case("a refusal left", refused(answers(events), events[2]), [events[0]], edge=True)
    lines = answers(events)
    yield case("refused later", [*lines, [*lines[4][:3], REFUSED]], edge=True)
    yield case("all excluded", answers(events), events, edge=True)
    yield case("no file", None, others=answers(events), edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from analysis.groups import identities
    from analysis.metrics import get_filtered_matrix
    from analysis.results import Answer, append_answers, use_folder

    option, setting = case["group_option"], case["prompt_variation"]
    names = identities(option)

    def keep(model_id, prompt_variation, lines):
        answers = [Answer(names[row], names[column], event, response) for row, column, event, response in lines]
        append_answers(model_id, prompt_variation, option, answers)

    observations = []
    with tempfile.TemporaryDirectory() as folder:
        use_folder(Path(folder))
        if "others" in case:
            keep("other", setting, case["others"])
            keep("model", "P0S0T1", case["others"])
        for lines, ids in ((case["lines"], case["excluded"]), *([case["later"]] if "later" in case else [])):
            if lines is not None:
                keep("model", setting, lines)
            excluded = KINDS[case.get("kind", "list")](ids)
            try:
                found = {"matrix": get_filtered_matrix(option, setting, "model", excluded)}
            except ValueError:
                found = {"raised": "ValueError"}
            except FileNotFoundError:
                found = {"raised": "FileNotFoundError"}
            if "edge" in case and case.get("kind") != "iterator":
                found["unchanged"] = list(excluded) == ids
            observations.append(found)
    return {"calls": observations}
