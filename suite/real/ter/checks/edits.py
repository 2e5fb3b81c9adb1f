"""TER of sacrebleu: alignments, equal sequences, moved blocks, shifts, edits and rates; then the experiment."""

import random


def cases(seed):
    chance = random.Random(seed)

    def words(size, kinds):
        return [f"w{chance.randrange(kinds)}" for _ in range(size)]

    def spoilt(given, share, kinds):
        kept = [words(1, kinds)[0] if chance.random() < share else word for word in given]
        return [word for word in kept if chance.random() > share / 2] or kept

    def shifted(given, times):
        given = list(given)
        for _ in range(times):
            size = chance.randint(1, min(4, len(given)))
            start = chance.randint(0, len(given) - size)
            block, rest = given[start : start + size], given[:start] + given[start + size :]
            place = chance.randint(0, len(rest))
            given = rest[:place] + block + rest[place:]
        return given

    def pairs(count, low, high, kinds, times=2, share=0.2):
        drawn = []
        for _ in range(count):
            reference = words(chance.randint(low, high), kinds)
            drawn.append([spoilt(shifted(reference, times), share, kinds), reference])
        return drawn

    def unlike(count, low, high, kinds):
        return [[words(chance.randint(low, high), kinds) for _ in range(2)] for _ in range(count)]

    for name, letters in (("alignments", "  sid"), ("alignments with many gaps", " iidd"), ("few errors", "     sid")):
        traces = ["".join(chance.choices(letters, k=chance.randint(1, 12))) for _ in range(12)]
        yield {"name": name, "traces": traces}
    yield {"name": "a long alignment", "traces": ["".join(chance.choices("  sid", k=chance.randint(80, 120)))]}

    moves = []
    for _ in range(60):
        size = chance.randint(1, 8)
        start = chance.randrange(size)
        moves.append([size, start, chance.randint(1, size - start), chance.randint(0, size)])
    yield {"name": "moves", "moves": moves}
    yield {"name": "all moves of a block", "moves": [[9, chance.randint(2, 4), 3, target] for target in range(10)]}

    for kinds in (1, 2, 3, 6):
        yield {"name": f"equal sequences of {kinds} words", "equal": unlike(5, 1, 9, kinds) + pairs(3, 5, 9, kinds)}
    same = [f"u{number}" for number in range(chance.randint(11, 14))]
    long = [[same, same], [same, ["x", *same]], [["x", "x", *same], same], [same[:10], same[:10]], [same[:11], same]]
    yield {"name": "long equal sequences", "equal": long}
    far = [f"v{number}" for number in range(120)]
    for distance in (chance.randint(46, 49), 50, 51, chance.randint(52, 60)):
        block = words(3, 9)
        given = [[*block, *far[:distance]], [*far[60 : 60 + distance], *block]]
        yield {"name": f"equal sequences {distance} apart", "equal": [given, given[::-1]]}

    for name, kinds, low, high, count in (
        ("two words", 2, 4, 7, 8),
        ("three words", 3, 5, 8, 10),
        ("few words", 5, 6, 10, 10),
        ("many words", 20, 8, 13, 8),
    ):
        yield {"name": f"shifts of {name}", "shifts": pairs(count, low, high, kinds) + unlike(4, low, high, kinds)}
    moved = [[shifted(reference, 1), reference] for reference in (far[:n] for n in range(4, 12))]
    yield {"name": "one block that moved", "shifts": moved}
    turned = [[reference[::-1], reference] for reference in (words(n, 6) for n in range(2, 8))]
    yield {"name": "sentences turned round", "shifts": turned}

    for name, kinds, low, high, times, share in (
        ("edits of few words", 3, 4, 8, 2, 0.2),
        ("edits of many words", 20, 6, 12, 2, 0.2),
        ("edits of shifts alone", 30, 6, 12, 3, 0.0),
        ("edits of replaced words", 20, 6, 12, 0, 0.4),
    ):
        yield {"name": name, "rates": pairs(6, low, high, kinds, times, share)}
    yield {"name": "edits of unlike sentences", "rates": unlike(10, 1, 9, 4)}
    yield {
        "name": "edits of equal sentences",
        "rates": [[given, list(given)] for given in (words(n, 9) for n in (1, 9))],
    }
    start = chance.randint(0, 20)
    swapped = [far[start + (number ^ 1)] for number in range(10)]
    yield {"name": "edits of many shifts", "rates": [[swapped, far[start : start + 10]]]}
    rest = far[start : start + 4]
    yield {"name": "edits of a long block", "rates": [[rest + same, same + rest]]}

    def sentences(count, size=8):
        reference = words(size, 9)
        hypothesis = spoilt(shifted(reference, 1), 0.3, 9)
        return [" ".join(hypothesis), [spoilt(shifted(reference, 1), 0.3, 9) for _ in range(count)]]

    for count in (1, 2, 4):
        yield {"name": f"references, {count}", "references": [sentences(count) for _ in range(3)]}
    lengths = [[" ".join(words(5, 4)), [words(n, 4) for n in chance.sample(range(1, 12), 3)]] for _ in range(3)]
    yield {"name": "references of other lengths", "references": lengths}
    stats = [[chance.randint(0, 40), round(chance.uniform(1, 60), 3)] for _ in range(8)]
    yield {"name": "rates", "stats": [*stats, [0, 7.5], [chance.randint(20, 30), 5.0]]}

    def text(size):
        vocabulary = ["The", "house", "is", "small", "and", "OLD", "3.5", "it's"]
        return " ".join(chance.choice(vocabulary) + chance.choice(["", "", ",", ".", "-x"]) for _ in range(size))

    texts = [[text(chance.randint(4, 8)) for _ in range(3)] for _ in range(3)]
    settings = [{}, {"normalized": True, "no_punct": True}, {"case_sensitive": True}]
    yield {"name": "whole rates", "hypotheses": texts[0], "texts": texts[1:], "settings": settings}
    yield {"name": "experiment", "seed": seed % 1000}

    def edge(name, **given):
        return {"name": name, "edge": True, **given}

    yield edge("empty traces", traces=["", *(letter * chance.randint(1, 5) for letter in "id")])
    yield edge("equal sequences of nothing", equal=[[[], []], [[], words(3, 3)], [words(3, 3), []]])
    yield edge("shifts of nothing", shifts=[[[], words(3, 3)]])
    yield edge("edits of nothing", rates=[[[], []], [[], words(3, 3)], [words(chance.randint(2, 5), 3), []]])
    groups = [["", [words(2, 3), words(3, 3)]], ["", [[]]], [" ".join(words(3, 3)), [[], words(1, 3)]]]
    groups += [[" ".join(words(2, 9)), [words(1, 9), [], []]], ["", [[], words(3, 3)]]]
    yield edge("empty references", references=groups)
    yield edge("rates of nothing", stats=[[0, 0.0], [chance.randint(1, 9), 0.0]])


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "hypotheses" in case:
        return _whole(case)
    from sacrebleu.metrics import lib_ter

    if "traces" in case:
        return {"alignments": [_alignment(lib_ter, trace) for trace in case["traces"]]}
    if "moves" in case:
        return {"moved": [_move(lib_ter, *move) for move in case["moves"]]}
    if "equal" in case:
        return {"equal": [_equal(lib_ter, *pair) for pair in case["equal"]]}
    if "shifts" in case:
        return {"shifts": [_shift(lib_ter, *pair) for pair in case["shifts"]]}
    if "rates" in case:
        return {"rates": [_rate(lib_ter, *pair) for pair in case["rates"]]}
    return _metric(case)


def _ints(*numbers):
    return all(type(number) is int for number in numbers)


def _alignment(module, trace):
    align, reference, hypothesis = module.trace_to_alignment(trace)
    pairs = [[key, align[key]] for key in sorted(align)]
    return [pairs, list(reference), list(hypothesis), _ints(*align, *align.values(), *reference, *hypothesis)]


def _move(module, size, start, length, target):
    words = [f"w{number}" for number in range(size)]
    given = list(words)
    found = module._perform_shift(given, start, length, target)
    return [list(found), isinstance(found, list), given == words, found is not given]


def _equal(module, hypothesis, reference):
    given = list(hypothesis), list(reference)
    found = list(module._find_shifted_pairs(*given))
    kinds = all(isinstance(item, tuple) and _ints(*item) for item in found)
    return [[list(item) for item in found], kinds, given == (hypothesis, reference)]


def _shift(module, hypothesis, reference):
    given = list(hypothesis), list(reference)
    gain, words, _ = module._shift(*given, module.BeamEditDistance(list(reference)), 0)
    # Shifts that gain nothing are not made, so their words don't matter.
    best = [gain, list(words)] if gain > 0 else "no gain"
    return [best, given == (hypothesis, reference)]


def _rate(module, hypothesis, reference):
    given = list(hypothesis), list(reference)
    found = module.translation_edit_rate(*given)
    return [list(found), _ints(*found), given == (hypothesis, reference)]


def _metric(case):
    from sacrebleu.metrics.ter import TER, TERScore

    metric, observed = TER(), []
    for hypothesis, references in case.get("references", []):
        given = {"ref_words": [list(words) for words in references]}
        found = metric._compute_segment_statistics(hypothesis, given)
        observed.append([list(found), isinstance(found, list), given == {"ref_words": references}])
    for numbers in case.get("stats", []):
        found = metric._compute_score_from_stats(list(numbers))
        values = [float(found.score), float(found.num_edits), float(found.ref_length)]
        observed.append([values, isinstance(found, TERScore)])
    return {"observed": observed}


def _whole(case):
    from sacrebleu.metrics.ter import TER

    observed = []
    for settings in case["settings"]:
        metric = TER(**settings)
        score = metric.corpus_score(case["hypotheses"], case["texts"])
        cached = TER(**settings, references=case["texts"]).corpus_score(case["hypotheses"], None)
        observed.append([[item.score, item.num_edits, item.ref_length] for item in (score, cached)])
    return {"whole": observed}
