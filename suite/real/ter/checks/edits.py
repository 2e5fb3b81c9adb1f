"""TER of sacrebleu: matrices, alignments, shifts, edits and rates; then the experiment."""

import itertools
import random


def cases(seed):
    chance = random.Random(seed)

    def words(size, kinds):
        return [f"w{chance.randrange(kinds)}" for _ in range(size)]

    def spoilt(given, share, kinds):
        kept = [chance.choice(words(1, kinds)) if chance.random() < share else word for word in given]
        return [word for word in kept if chance.random() > share / 2]

    def shifted(given, times):
        given = list(given)
        for _ in range(times):
            size = chance.randint(1, min(4, len(given)))
            start = chance.randint(0, len(given) - size)
            block, rest = given[start : start + size], given[:start] + given[start + size :]
            place = chance.randint(0, len(rest))
            given = rest[:place] + block + rest[place:]
        return given

    small = []
    for n, m in itertools.product((0, 1, 2, 3, 6, 9), repeat=2):
        small += [[words(n, kinds), words(m, kinds)] for kinds in (2, 5)]
    yield {"name": "small matrices", "matrices": small, "whole": True}
    yield {
        "name": "small matrices from the middle",
        "matrices": [pair for pair in small if len(pair[0]) > 1],
        "whole": True,
        "from": 1,
    }
    yield {
        "name": "matrices that are all given",
        "matrices": [p for p in small if len(p[0]) > 2],
        "whole": True,
        "from": -1,
    }
    yield {"name": "matrices that are nearly given", "matrices": small[::5], "whole": True, "from": -2}
    # Given rows are taken as they are, though another hypothesis of that length has made them.
    others = [[*one, other[0]] for one, other in zip(small[::2], small[1::2], strict=True) if len(one[0]) > 1]
    for first in (1, 2, -2, -1):
        yield {"name": f"rows of another sentence, {first}", "matrices": others, "from": first}
    pairs = []
    for _ in range(6):
        given = words(chance.randint(6, 14), 12)
        pairs.append([spoilt(shifted(given, 1), 0.2, 12), given])
    yield {"name": "matrices of spoilt sentences", "matrices": pairs, "whole": True}
    for n, m in ((61, 61), (60, 70), (75, 60), (55, 56), (56, 55), (53, 80)):
        given = words(max(n, m), 15)
        yield {
            "name": f"beam, {n} words and {m}",
            "matrices": [[given[:n], given[-m:]]] if n % 2 else [[words(n, 3), words(m, 3)]],
            "whole": True,
        }
    for n, m in (
        (1, 80),
        (2, 110),
        (3, 170),
        (2, 99),
        (2, 101),
        (1, 50),
        (1, 51),
        (1, 52),
        (2, 103),
        (4, 250),
        (100, 2),
        (70, 1),
        # The rounded quotient puts the last diagonal one place lower.
        (11, 30),
        (7, 61),
        (300, 3),
    ):
        yield {"name": f"beam, {n} words and {m}", "matrices": [[words(n, 4), words(m, 4)]], "whole": True}
    given = [f"u{number}" for number in range(70)]
    for far in (22, 24, 25, 26, 30):
        other = [f"v{number}" for number in range(far)]
        yield {"name": f"beam, equal words {far} apart", "matrices": [[given + other, other + given]], "whole": True}
    far = [f"v{number}" for number in range(120)]
    given = [far[10:100], far[30:], far[25:115]]
    yield {"name": "rows of another sentence in a beam", "matrices": [given], "from": 40}
    yield {"name": "rows of a tree", "tree": [words(4, 3), [words(5, 3) for _ in range(12)]]}

    traces = ["", " ", "s", "i", "d", "ii dd", "ddi s", "d i s", "is ids dd i"]
    traces += ["".join(chance.choice("  sid") for _ in range(size)) for size in (2, 5, 9, 20, 60, 500)]
    yield {"name": "alignments", "traces": traces}
    yield {"name": "alignments of no operations", "traces": ["x", " x", "sI", "id-", "D", "  \t"]}

    moves = []
    for size in (1, 2, 5, 6):
        for start in range(size):
            for length in range(1, size - start + 1):
                moves += [[size, start, length, target] for target in range(size + 1)]
    yield {"name": "moves", "moves": moves}
    yield {"name": "moves in long lists", "moves": [[40, 12, 9, target] for target in range(41)]}

    found = [
        [words(n, kinds), words(m, kinds)]
        for n, m in ((0, 0), (0, 3), (3, 0), (1, 1), (5, 7), (9, 4))
        for kinds in (1, 2, 5)
    ]
    yield {"name": "equal sequences", "equal": found}
    # Other words that are the same once they are joined, or whose letters look alike.
    glued = [[[f"a{glue}a", "a"], ["a", f"a{glue}a"]] for glue in ("", ",", "-", "_", "|")]
    alike = [("The", "the"), ("\u00e9", "e\u0301"), ("\uff11", "1"), ("\ufb01", "fi")]
    glued += [[[one, other], [other, "x", one]] for one, other in alike]
    glued += [[[one], [other]] for pair in alike for one, other in itertools.permutations(pair)]
    yield {"name": "matrices of equal letters", "matrices": glued, "whole": True}
    yield {"name": "equal letters of other words", "equal": glued}
    yield {"name": "shifts of equal letters", "shifts": glued, "count": 0}
    yield {"name": "edits of equal letters", "rates": glued}
    yield {"name": "references of equal letters", "references": [[" ".join(one), [other]] for one, other in glued]}
    same = [f"u{number}" for number in range(14)]
    yield {
        "name": "long equal sequences",
        "equal": [[same, same], [same, ["x", *same]], [same[:10], same[:10]], [same[:11], same]],
    }
    for distance in (49, 50, 51, 52, 70):
        block = [f"b{number}" for number in range(3)]
        given = [[*block, *far[:distance]], [*far[60 : 60 + distance], *block]]
        yield {"name": f"equal sequences {distance} apart", "equal": [given, given[::-1]]}

    for name, kinds, sizes in (
        ("of two words", 2, (5, 8)),
        ("of few words", 4, (6, 10)),
        ("of many words", 20, (8, 14)),
    ):
        given = []
        for _ in range(10):
            reference = words(chance.randint(*sizes), kinds)
            given.append([spoilt(shifted(reference, 2), 0.2, kinds), reference])
        given += [[words(chance.randint(*sizes), kinds), words(chance.randint(*sizes), kinds)] for _ in range(6)]
        yield {"name": f"shifts {name}", "shifts": given, "count": 0}
    plain = [
        ["b a", "a b"],
        ["a b c d", "c d a b"],
        ["d a b c", "a b c d"],
        ["a b c", "a b c"],
        ["x y z", "a b c"],
        ["a a b b", "b b a a"],
        ["c a b", "a b x c"],
        ["a x b", "b a"],
        ["", "a"],
        ["a", "a"],
        ["a b a b x", "x a b a b"],
        ["p q a b c r", "a b c p s q"],
        ["a a a", "a"],
        ["b", "a a b a"],
        ["x a b", "a b a b"],
        ["c x b a", "a b c"],
        ["x x y", "x y y"],
    ]
    plain = [[side.split() for side in pair] for pair in plain]
    yield {"name": "shifts of letters", "shifts": plain, "count": 0}
    crowd = [[shifted(list("abcabcdab"), 2), list("abcabcdab")] for _ in range(4)]
    for count in (1, 950, 990, 997, 998, 999, 1000, 4000):
        yield {"name": f"shifts after {count} candidates", "shifts": crowd + plain[:6], "count": count}

    for name, kinds, sizes, share in (
        ("of two words", 2, (5, 9), 0.2),
        ("of few words", 4, (8, 12), 0.1),
        ("of many words", 15, (10, 16), 0.15),
        ("that are shifted alone", 30, (10, 20), 0.0),
    ):
        given = []
        for times in (0, 1, 2, 3, 4):
            for _ in range(3):
                reference = words(chance.randint(*sizes), kinds)
                given.append([spoilt(shifted(reference, times), share, kinds), reference])
        yield {"name": f"edits of sentences {name}", "rates": given}
    yield {"name": "edits of letters", "rates": plain}
    yield {
        "name": "edits of empty sentences",
        "rates": [[[], []], [["a"], []], [[], ["a", "b"]], [["a", "b", "a"], []]],
    }
    # The same words one after the other, parted elsewhere.
    given = [[["a", "b"], ["a", "b"]], [["a"], ["b", "a", "b"]], [["a", "b", "a"], ["b"]]]
    yield {"name": "edits of one row of words", "rates": given}
    yield {"name": "references of one row of words", "references": [[" ".join(one), [other]] for one, other in given]}
    # Rows of a short hypothesis are of no use for a long one that begins with it, nor the other way round.
    given = [[hypothesis, far[:60]] for hypothesis in (far[:30], far[:30] + far[60:], far[:30])]
    yield {"name": "edits of one reference", "rates": given}
    yield {"name": "one reference", "references": [[" ".join(one), [other]] for one, other in given]}
    # The candidates run out in the first search for a shift, in the second one, or not at all.
    crowds = []
    for k, z in ((7, 0), (8, 0), (9, 0), (7, 3), (8, 3), (8, 4), (8, 5)):
        letters = [chance.choice("mnop") + letter for letter in "abcd"]
        a, b, c, d = ([letter] * size for letter, size in zip(letters, (k, k, z, z), strict=True))
        crowds.append([b + a + d + c, a + b + c + d])
    # The first search counts 1000 candidates, no less and no more.
    crowds.append([["b"] * 8 + ["a"] * 7 + list("ddcee"), ["a"] * 7 + ["b"] * 8 + list("cddf")])
    # Both searches together count 999 candidates, so that the second shift is made.
    crowds.append([["a"] * 10 + ["b"] * 7 + list("gccdce"), list("ddd") + ["b"] * 7 + ["g"] + ["a"] * 10])
    yield {"name": "edits with many candidates", "rates": crowds}
    yield {"name": "shifts with many candidates", "shifts": crowds, "count": 0}
    given = [f"u{number % 13}" for number in range(26)]
    yield {
        "name": "edits of sentences with repetitions",
        "rates": [[shifted(given, 5), given], [given[13:] + given[:12], given]],
    }
    swapped = [far[number ^ 1] for number in range(16)]
    yield {"name": "edits of eight shifts", "rates": [[swapped, far[:16]], [swapped + far[17:20], far[:20]]]}
    block = [f"b{number}" for number in range(12)]
    yield {
        "name": "edits, a long block",
        "rates": [[far[:9] + block, block + far[:9]], [far[:20] + block[:10], block[:10] + far[:20]]],
    }
    for distance in (48, 52):
        given = far[:distance]
        yield {"name": f"edits, a block far away, {distance}", "rates": [[given + block[:2], block[:2] + given]]}
    yield {"name": "edits, one word against many", "rates": [[["u3"], far[:60]], [far[:60], ["v3"]], [["v70"], far]]}

    groups = []
    for count in (1, 2, 3, 10):
        reference = words(9, 9)
        groups.append(
            [" ".join(spoilt(reference, 0.3, 9)), [spoilt(shifted(reference, 1), 0.1, 9) for _ in range(count)]]
        )
    groups += [
        ["", [["a"], ["a", "b"]]],
        [" a\tb  c ", [["a", "b", "c"], ["c"]]],
        ["a b", [[]]],
        ["a b c", [[], ["a"]]],
        ["", [[]]],
        ["", [[], ["a", "b", "c"]]],
        ["a b c", [["x", "y", "z", "a"], ["a", "b"]]],
        ["c a b", [["a", "b", "c"], ["a", "b", "c"]]],
        ["a b", [["b"], ["a", "b", "c", "d", "e"]]],
        ["a\u3000b\u00a0c\nd", [["a", "b", "c"]]],
        ["a b", [["b"], [], [], []]],
    ]
    yield {"name": "references", "references": groups}
    stats = [
        [3, 7.5],
        [0, 4.0],
        [12, 5.0],
        [1, 0],
        [0, 0],
        [7, 0.0],
        [0, 0.0],
        [2, 1 / 3],
        [100000, 3e5],
        [5, 1e-3],
        [2, 1],
        [2.0, 9.0],
    ]
    yield {"name": "rates", "stats": stats}

    def sentence(size=9):
        marks = ["", "", ",", ".", "-x"]
        return " ".join(
            chance.choice(["The", "house", "is", "small", "and", "OLD", "3.5", "it's"]) + chance.choice(marks)
            for _ in range(size)
        )

    hypotheses = [sentence(chance.randint(0, 9)) for _ in range(4)]
    settings = [
        {},
        {"normalized": True},
        {"no_punct": True},
        {"case_sensitive": True},
        {"normalized": True, "asian_support": True},
    ]
    yield {
        "name": "whole rates",
        "hypotheses": hypotheses,
        "texts": [[sentence() for _ in hypotheses] for _ in range(3)],
        "settings": settings,
    }
    yield {
        "name": "whole rates of empty texts",
        "hypotheses": ["", "a b"],
        "texts": [["", ""]],
        "settings": settings[:2],
    }
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "hypotheses" in case:
        return _whole(case)
    from sacrebleu.metrics import lib_ter

    # The same two lists hold other words at each call.
    given = [], []
    if "matrices" in case:
        return {"matrices": [_matrix(lib_ter, case.get("from", 0), *words) for words in case["matrices"]]}
    if "tree" in case:
        reference, hypotheses = case["tree"]
        distance = lib_ter.BeamEditDistance(reference)
        return {"tree": [[list(distance(list(words))) for words in hypotheses] for _ in range(2)]}
    if "traces" in case:
        return {"alignments": [_alignment(lib_ter, trace) for trace in case["traces"]]}
    if "moves" in case:
        return {"moved": [_move(lib_ter, *move) for move in case["moves"]]}
    if "equal" in case:
        return {"equal": [_equal(lib_ter, *pair) for pair in case["equal"]]}
    if "shifts" in case:
        return {"shifts": [_shift(lib_ter, given, *pair, case["count"]) for pair in case["shifts"]]}
    if "rates" in case:
        return {"rates": [_rate(lib_ter, given, *pair) for pair in case["rates"]]}
    return _metric(case)


def _int(*numbers):
    return all(type(number) is int for number in numbers)


def _matrix(module, first, hypothesis, reference, other=None):
    distance = module.BeamEditDistance(list(reference))
    start = 0
    rows = [list(distance._initial_row)]
    if first:
        # Rows that the function itself has made for the same sentence, or another one of its length.
        start = max(0, first if first > 0 else len(hypothesis) + first + 1)
        _, made, _ = distance._edit_distance(list(other or hypothesis), 0, [list(distance._initial_row)])
        rows += [list(row) for row in made[:start]]
    words, cache = list(hypothesis), [list(row) for row in rows]
    before, attributes = (distance._cache_size, dict(distance._cache)), sorted(vars(distance))
    cost, made, trace = distance._edit_distance(words, start, cache)
    called = (cost, trace) if len(words) > 20 else module.BeamEditDistance(list(reference))(list(hypothesis))
    return {
        "cost": [cost, called[0]],
        "trace": [trace, called[1]],
        "rows": [" ".join(f"{cell[0]}{cell[1]}" for cell in row) for row in made],
        "kinds": [
            _int(cost, *(cell[0] for row in made for cell in row)),
            isinstance(made, list),
            isinstance(trace, str),
        ],
        "tuples": all(isinstance(cell, tuple) and len(cell) == 2 for row in made for cell in row),
        "unchanged": [
            words == hypothesis,
            cache == rows,
            distance._words_ref == reference,
            distance._n_words_ref == len(reference),
            sorted(vars(distance)) == attributes,
            before == (distance._cache_size, distance._cache),
            all(cell == (10**16, "x") for cell in distance._empty_row),
        ],
    }


def _alignment(module, trace):
    try:
        align, reference, hypothesis = module.trace_to_alignment(trace)
    except NotImplementedError:
        raise
    except Exception:
        return "refused"
    return {
        "align": [[key, align[key]] for key in sorted(align)],
        "reference": list(reference),
        "hypothesis": list(hypothesis),
        "kinds": [isinstance(align, dict), isinstance(reference, list), isinstance(hypothesis, list)],
        "ints": _int(*align, *align.values(), *reference, *hypothesis),
    }


def _move(module, size, start, length, target):
    words = [f"w{number}" for number in range(size)]
    given = list(words)
    found = module._perform_shift(given, start, length, target)
    return [list(found), isinstance(found, list), given == words, found is not given]


def _equal(module, hypothesis, reference):
    given = list(hypothesis), list(reference)
    found = module._find_shifted_pairs(*given)
    lazy = iter(found) is found
    found = list(found)
    kinds = all(isinstance(item, tuple) and _int(*item) for item in found)
    return [[list(item) for item in found], lazy, kinds, given == (hypothesis, reference)]


def _shift(module, given, hypothesis, reference, count):
    given[0][:], given[1][:] = hypothesis, reference
    gain, words, checked = module._shift(*given, module.BeamEditDistance(list(reference)), count)

    def plain(words):
        return module.BeamEditDistance(list(reference))(list(words))

    # Any callable will do.
    distance = plain if len(hypothesis) < 13 else module.BeamEditDistance(list(reference))
    again = module._shift(list(hypothesis), list(reference), distance, count)
    return [[gain, list(words), checked], list(again), _int(gain, checked), given == (hypothesis, reference)]


def _rate(module, given, hypothesis, reference):
    given[0][:], given[1][:] = hypothesis, reference
    found = module.translation_edit_rate(*given)
    return [list(found), isinstance(found, tuple), _int(*found), given == (hypothesis, reference)]


def _metric(case):
    import numpy as np
    from sacrebleu.metrics.ter import TER, TERScore

    metric = TER()
    before = dict(vars(metric))
    observed, given = [], {}
    for hypothesis, references in case.get("references", []):
        given["ref_words"] = [list(words) for words in references]
        found = metric._compute_segment_statistics(hypothesis, given)
        kinds = [isinstance(found, list), type(found[0]) is int, isinstance(found[1], float)]
        observed.append([list(found), kinds, given == {"ref_words": references}])
    for numbers in case.get("stats", []):
        for given in (list(numbers), np.array(numbers, dtype=np.float64)):
            found = metric._compute_score_from_stats(given)
            same = list(given) == numbers
            observed.append(
                [float(found.score), found.num_edits, float(found.ref_length), isinstance(found, TERScore), same]
            )
    return {"observed": observed, "settings kept": dict(vars(metric)) == before}


def _whole(case):
    from sacrebleu.metrics.ter import TER

    observed = []
    for settings in case["settings"]:
        metric = TER(**settings)
        score = metric.corpus_score(case["hypotheses"], case["texts"])
        cached = TER(**settings, references=case["texts"]).corpus_score(case["hypotheses"], None)
        alone = [
            metric.sentence_score(text, list(side))
            for text, *side in zip(case["hypotheses"], *case["texts"], strict=True)
        ]
        observed.append([[item.score, item.num_edits, item.ref_length] for item in (score, cached, *alone)])
    return {"whole": observed}
