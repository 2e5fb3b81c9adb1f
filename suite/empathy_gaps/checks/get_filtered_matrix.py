"""get_filtered_matrix: the matrix of many files of answers, and what it refuses; then the experiment."""

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}
REFUSED = "As 1 person of 100, I can't answer that."
# How the excluded events are handed over.
KINDS = {"list": list, "iterator": iter, "set": set, "array": np.array} | {
    f"array of {name}": partial(np.array, dtype=name)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64")
}


def cases(seed):
    generator = np.random.default_rng(seed)

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

    def case(name, lines, excluded=(), option="religion", setting="P0S0T0", **extra):
        return {
            "name": name,
            "group_option": option,
            "prompt_variation": setting,
            "lines": lines,
            "excluded": list(excluded),
            **extra,
        }

    def refuse(lines, event, pairs=1):
        """Some pairs refuse an event."""
        places = [place for place, line in enumerate(lines) if line[2] == event]
        for place in generator.permutation(places)[:pairs]:
            lines[place] = [*lines[place][:3], REFUSED]
        return lines

    for option in SIZES:
        yield case(f"every answer, {option}", answers(option), option=option)
    yield case("one event", answers(events=(5,)))
    yield case("a scale to ten", answers(events=(1, 2, 3, 4, 5, 6, 7), most=10), setting="P0S1T0")
    yield case("events excluded", answers(events=(3, 7, 12, 20, 31)), excluded=[7, 31])
    yield case("excluded twice, and some that are not there", answers(events=(3, 7, 12, 20)), excluded=[7, 7, 99, 0])
    yield case("excluded, handed over once", answers(events=(3, 7, 12, 20)), excluded=[12], kind="iterator")
    yield case("refusals excluded", refuse(refuse(answers(events=(3, 7, 12, 20, 31)), 3, 4), 20), excluded=[3, 20])
    wordy = [[*line[:3], f"  {line[3]}.5 of 100"] if line[0] == 2 else line for line in answers()]
    yield case("numbers among words", wordy)
    ends = {3: " or 99", 7: "-99", 12: "points"}
    yield case("numbers before marks and letters", [[*line[:3], line[3] + ends[line[2]]] for line in answers()])
    lines = answers()
    yield case("a mark before a number", [*lines[:4], [*lines[4][:3], f"-{lines[4][3]}"], *lines[5:]])
    decimals = [[*line[:3], f"{line[3]}.{generator.integers(10)}"] for line in answers(events=(3, 7, 12, 20, 31))]
    yield case("decimal fractions", decimals)
    for setting, most in (("P0S0T0", 300), ("P0S1T0", 30)):
        yield case(f"answers beyond the scale, {setting}", answers(most=most), setting=setting)
    few = [[*line[:3], str(generator.integers(3))] for line in answers()]
    yield case("answers of 0", few, setting="P0S1T0")
    yield case(
        "nearly all alike", [[*line[:3], "0.01" if line[:2] == [2, 5] else "0"] for line in answers(events=(5,))]
    )
    yield case("an event numbered 0", answers(events=(0, 3, 7)))
    yield case("the event numbered 0 excluded", answers(events=(0, 3, 7)), excluded=[0])
    near = [[*line[:3], "99.1" if line[:2] == [2, 5] else "99"] for line in answers(events=(5,))]
    yield case("nearly all alike, far from 0", near)
    places = {3: ".006", 7: ".006", 12: ".0"}
    yield case("fractions of three places", [[*line[:3], line[3] + places[line[2]]] for line in answers()])
    for kind in ("set", "array"):
        yield case(f"excluded, as {kind}", answers(events=(3, 7, 12, 20)), excluded=[12, 99, 7], kind=kind)
    yield case("the event numbered 0 excluded, as an array", answers(events=(0, 3, 7)), excluded=[0], kind="array")
    for bits in (8, 16, 32):
        for kind in (f"array of int{bits}", f"array of uint{bits}"):
            # Beside the event that is excluded stand others whose lower bits are the same.
            near = tuple(5 + 2**power for power in range(bits, 31, 8))
            yield case(f"excluded, as {kind}", answers(events=(3, 5, *near)), excluded=[5], kind=kind)
    yield case("excluded, as array of uint64", answers(events=(3, 5, 2**31 - 2)), excluded=[5, 2**31 - 2])
    large = (5, 11, 1000011, 5 + 2**30, 2**31 - 1)
    yield case("large numbers of events", answers(events=large))
    for first in (2**24, 2**31 - 2):
        yield case(f"neighbours: {first}", answers(events=(3, first, first + 1)), excluded=[first + 1])
    yield case("events of large numbers excluded", answers(events=large), excluded=[5 + 2**30, 1000011])
    for base, powers in ((10, range(2, 8)), (2, (8, 10, 12, 16, 20, 24))):
        events = (7, *(7 + base**power for power in powers))
        yield case(f"numbers of events that powers of {base} tell apart", answers(events=events), excluded=[events[3]])
    more = [*answers(events=(7, 12, 20)), *answers(events=(7,))]
    yield case("called again after more answers", answers(), excluded=[3], later=(more, [12]))
    yield case("a folder emptied and filled again", answers(), excluded=[3], later=(answers(), [3]), emptied=True)
    first = answers(events=(3, 7, 12))
    yield case("all asked again", first + answers(events=(3, 7, 12)))
    yield case("some asked again", first + answers(events=(3, 7, 12))[:40])
    mended = refuse(answers(), 7, 3)
    yield case("a refusal answered later", mended + [line for line in answers() if line[2] == 7])
    yield case("asked again, then excluded", answers(events=(1, 2, 3, 4)) + answers(events=(2, 3)), excluded=[2])
    yield case("another model's file", answers(), other_model=answers())
    yield case("another setting's file", answers(), setting="P0S0T2", other_setting=answers())
    yield case("a refusal is left", refuse(answers(events=(3, 7, 12, 20)), 20), excluded=[3])
    answered = answers()
    yield case("an answer refused later", [*answered, [*answered[4][:3], REFUSED]])
    for pair in ([1, 4], [0, 0], [0, 3], [2, 0], [5, 5]):
        yield case(f"a pair left out: {pair}", [line for line in answers() if line[:2] != pair])
        yield case(
            f"a pair refused: {pair}", [[*line[:3], REFUSED] if line[:2] == pair else line for line in answers()]
        )
    yield case(
        "a pair without an event that is left",
        [line for line in answers() if line[:2] != [4, 1] or line[2] == 3],
        excluded=[3],
    )
    yield case("pairs asked less", [line for line in answers() if line[:2] != [4, 1] or line[2] == 3])
    yield case("all excluded", answers(), excluded=[3, 7, 12])
    yield case("no answers in the file", [])
    yield case("no file", None, other_model=answers())
    yield {"name": "experiment", "seed": seed % 1000}


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

    results = []
    with tempfile.TemporaryDirectory() as folder:
        use_folder(Path(folder))
        for name, variation, lines in (
            ("other", setting, case.get("other_model", [])),
            ("model", "P0S0T1", case.get("other_setting", [])),
        ):
            keep(name, variation, lines)
        for lines, ids in ((case["lines"], case["excluded"]), *([case["later"]] if "later" in case else [])):
            if case.get("emptied"):
                shutil.rmtree(folder)
                Path(folder).mkdir()
            if lines is not None:
                keep("model", setting, lines)
            files = {path: path.read_bytes() for path in Path(folder).rglob("*.jsonl")}
            kind = case.get("kind", "list")
            excluded = KINDS[kind](ids)
            try:
                matrix = get_filtered_matrix(option, setting, "model", excluded)
            except ValueError:
                result = "refused"
            except FileNotFoundError:
                result = "no file"
            else:
                result = matrix
            kept = {path: path.read_bytes() for path in Path(folder).rglob("*.jsonl")} == files
            unchanged = isinstance(excluded, Iterator) or list(excluded) == list(KINDS[kind](ids))
            results.append({"matrix": result, "files_kept": kept, "excluded_unchanged": unchanged})
    return {"results": results}
