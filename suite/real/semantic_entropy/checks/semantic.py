"""Clusterings, step by step and at once; entropies over settings, sizes, layouts and weights; the experiment."""

import copy

import numpy as np

SETTINGS = [
    (probability, unique, entropy)
    for probability in ("sum", "frequency")
    for unique in (False, True)
    for entropy in ("mean", "direct")
]
WORDS = ("Paris", "paris", "Paris ", " Paris", "", "Par\u00eds", "Pari\u0301s", "1", "1.0", "It is Paris.")


def cases(seed):
    generator = np.random.default_rng(seed)

    def relation(questions, samples, share):
        return generator.random((questions, samples, samples)) < share

    def classes(name, sizes, share=0.6, entail=None, extra=0):
        if entail is None:
            entail = relation(len(sizes), max(sizes, default=0) + extra, share)
        return {"name": f"classes, {name}", "sizes": list(sizes), "entail": entail}

    yield classes("one question", (6,))
    yield classes("a few questions", (5, 5, 5, 5))
    yield classes("questions of different sizes", (4, 1, 7, 2))
    yield classes("one sample", (1,))
    yield classes("one sample each", (1, 1, 1))
    yield classes("two samples", (2, 2, 2, 2))
    yield classes("no question", ())
    yield classes("many samples", (60, 45), 0.4)
    yield classes("many questions", tuple(generator.integers(1, 9, size=50).tolist()), 0.5)
    yield classes("more than is used", (5, 3), extra=4)
    for share in (0.0, 0.2, 0.4, 0.75, 0.9, 1.0):
        yield classes(f"entailment of {share}", (9, 9, 12), share)
    # An equivalence.
    of = generator.integers(4, size=(3, 10))
    yield classes("an equivalence", (10, 10, 10), entail=of[:, :, None] == of[:, None, :])
    yield classes(
        "an equivalence with other diagonals",
        (10,),
        entail=(of[:1, :, None] == of[:1, None, :]) ^ np.eye(10, dtype=bool),
    )
    # One direction alone, of either kind.
    yield classes("downwards alone", (6,), entail=np.tril(np.ones((1, 6, 6), dtype=bool)))
    yield classes("upwards alone", (6,), entail=np.triu(np.ones((1, 6, 6), dtype=bool)))
    # A chain: each is the same as its neighbours, and as no others.
    near = np.abs(np.arange(9)[:, None] - np.arange(9)[None, :])
    yield classes("a chain", (9,), entail=(near <= 1)[None])
    yield classes("a chain of two", (9,), entail=(near <= 2)[None])
    # The last sample is the same as all, and classes are many.
    star = np.eye(7, dtype=bool)
    star[-1] = star[:, -1] = True
    yield classes("the last is like all", (7,), entail=star[None])
    # Like the members of a class, but not like the one that began it.
    odd = np.ones((1, 5, 5), dtype=bool)
    odd[0, 4, 0] = False
    yield classes("unlike the first alone", (5,), entail=odd)
    # Like the first alone.
    odd = np.zeros((1, 5, 5), dtype=bool)
    odd[0, 0] = odd[0, :, 0] = True
    yield classes("like the first alone", (5,), entail=odd)
    # Likes two classes, and more of the second.
    odd = np.zeros((1, 6, 6), dtype=bool)
    for a, b in ((1, 2), (1, 3), (2, 3), (5, 0), (5, 1), (5, 2), (5, 3)):
        odd[0, a, b] = odd[0, b, a] = True
    yield classes("like two classes", (6,), entail=odd)
    for layout in ("columns", "strided"):
        yield classes(f"laid out by {layout}", (6, 6, 6)) | {"layout": layout}

    def entropies(name, sizes, groups=3, low=0.05, high=12.0, words=WORDS, shuffled=False, kind="list", weights=None):
        texts, logps, members, weighted = [], [], [], []
        for size in sizes:
            of = generator.integers(groups, size=size)
            lists = [np.flatnonzero(of == group).tolist() for group in range(groups)]
            lists = sorted((row for row in lists if row), key=lambda row: row[0])
            if shuffled:
                lists = [generator.permutation(row).tolist() for row in lists]
                lists = [lists[place] for place in generator.permutation(len(lists))]
            members.append(lists)
            texts.append([words[place] for place in generator.integers(len(words), size=size)])
            logps.append((-generator.uniform(low, high, size=size)).tolist())
            weighted.append(generator.uniform(*(weights or (-1.0, 1.0)), size=size).tolist())
        return {
            "name": f"entropies, {name}",
            "texts": texts,
            "logps": logps,
            "members": members,
            "weights": weighted,
            "kind": kind,
            "shuffled": shuffled,
        }

    yield entropies("a few questions", (6, 6, 6))
    yield entropies("questions of different sizes", (4, 1, 9, 2))
    yield entropies("one question", (8,))
    yield entropies("one sample", (1,), groups=1)
    yield entropies("one sample each", (1, 1), groups=1)
    yield entropies("no question", ())
    yield entropies("many samples", (60, 60), groups=6, words=tuple(f"answer {number}" for number in range(40)))
    yield entropies("many questions", tuple(generator.integers(1, 12, size=50).tolist()))
    yield entropies("one class", (7, 5), groups=1)
    yield entropies("a class for each", (6,), groups=1) | {"members": [[[place] for place in range(6)]]}
    yield entropies("classes in any order", (9, 12, 10), shuffled=True)
    yield entropies("one text", (7, 8), words=("the same",))
    yield entropies("texts all different", (7,), words=tuple("abcdefg")) | {"texts": [list("gfedcba")]}
    # Words with the same hash where 31 is the base, and an invisible character at the start.
    alike = ["Aa", "BB", "\ufeffAa", "AaBB", "BBAa", "Aa\ufeff", "\ufeff", "Aa", ""]
    yield entropies("texts that are nearly the same", (9,), groups=1) | {"texts": [alike]}
    yield entropies("one text in all classes", (9,), words=("the same", "another"), shuffled=True)
    long = ["x" * 199 + "y", "x" * 200, "x" * 199, "x" * 200, "x" * 199 + "y", "y" + "x" * 199]
    wide = [text.replace("x", "\U0001f600") for text in long]
    yield entropies("long texts", (6, 6)) | {"texts": [long, wide], "members": [[list(range(6))]] * 2}
    yield entropies("likely samples", (6, 9), low=0.0, high=1e-3)
    yield entropies("samples that are sure", (5,)) | {"logps": [[0.0, -1.0, 0.0, 0.0, -3.0]]}
    yield entropies("sums above one", (9, 20), groups=2, low=0.0, high=0.5)
    yield entropies("unlikely samples", (6, 9), low=200.0, high=1000.0)
    yield entropies("the ends of the range", (6,), groups=2) | {"logps": [[0.0, -1000.0, -1000.0, 0.0, -999.0, -1e-12]]}
    yield entropies("a class far below the others", (6, 5)) | {
        "logps": [[-1.0, -950.0, -1000.0, 0.0, -800.0, -2.0], [-999.0, -998.5, 0.0, -1000.0, -900.0]],
        "members": [[[0, 3], [1, 2], [4], [5]], [[0, 1, 3], [2], [4]]],
    }
    # Each is little beside the first, and all of them are not.
    little = [[0.0, *generator.uniform(-27.0, -23.0, size=59).tolist()], [-26.8] * 60]
    numbers = [f"answer {number}" for number in range(60)]
    yield entropies("samples that count little", (60, 60), groups=1) | {
        "texts": [numbers, numbers],
        "logps": little,
        "members": [[list(range(60))], [[place] for place in range(60)]],
    }
    yield entropies("few in common", (8,), low=700.0, high=800.0, words=("a", "b"))
    yield entropies("arrays", (7, 5), kind="array")
    yield entropies("strided arrays", (7, 5), kind="strided", shuffled=True)
    yield entropies("small weights", (7, 4), weights=(-20.0, -10.0))
    yield entropies("large weights", (7, 4), weights=(2.0, 5.0))
    yield entropies("weights at the ends of the range", (4, 3)) | {
        "weights": [[5.0, -20.0, 4.9, 5.0], [5.0, 5.0, -20.0]]
    }
    yield entropies("weights of one", (7, 4)) | {"weights": [[0.0] * 7, [0.0] * 4]}
    for name in ("", "median", "Mean"):
        yield entropies(f"an estimate called {name!r}", (4, 3)) | {"wrong": name}
    yield entropies("an unknown estimate of no question", ()) | {"wrong": "median"}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _classes(case) if "entail" in case else _entropies(case)


def _plain(result):
    """Dictionaries as lists of pairs, so that the order of keys shows."""
    samples, members = result
    return [
        [[question, list(map(list, row.items()))] for question, row in samples.items()],
        [[question, [list(row) for row in rows]] for question, rows in members.items()],
    ]


def _integers(result):
    samples, members = result
    found = isinstance(samples, dict) and isinstance(members, dict)
    found = found and all(type(item) is int for row in samples.values() for pair in row.items() for item in pair)
    found = found and all(isinstance(row, dict) for row in samples.values())
    found = found and all(
        isinstance(rows, list) and all(isinstance(row, list) for row in rows) for rows in members.values()
    )
    return found and all(type(item) is int for rows in members.values() for row in rows for item in row)


def _classes(case):
    from lm_polygraph.stat_calculators.semantic_classes import SemanticClassesCalculator

    entail = case["entail"].copy()
    if case.get("layout") == "columns":
        entail = np.asfortranarray(entail)
    if case.get("layout") == "strided":
        entail = np.repeat(entail, 2, axis=2)[:, :, ::2]
    sizes = case["sizes"]
    texts = [[f"sample {place % 2}" for place in range(size)] for size in sizes]
    calculator = SemanticClassesCalculator()
    calculator._is_entailment = entail
    kept_attributes = set(vars(calculator))
    first = calculator.get_classes(texts)
    found = [_plain(first)]
    facts = [first[0] is calculator._sample_to_class, first[1] is calculator._class_to_sample]
    facts += [_integers(first), _plain((calculator._sample_to_class, calculator._class_to_sample)) == found[0]]
    facts.append(sorted(set(vars(calculator)) - kept_attributes))
    facts.append(texts == [[f"sample {place % 2}" for place in range(size)] for size in sizes])
    # Another relation, and fewer questions: nothing is left of the first.
    calculator._is_entailment = entail[::-1].transpose(0, 2, 1)[:, ::-1, ::-1]
    turned = texts[::-1][: max(1, len(texts) - 1)]
    second = calculator.get_classes(turned)
    found.append(_plain(second))
    facts += [_integers(second), _plain(first) == found[0], _plain(calculator.get_classes(turned)) == found[1]]
    # By the package's own call, with labels.
    labels = np.where(entail, 2, 0)
    dependencies = {"sample_texts": texts, "semantic_matrix_classes": labels, "entailment_id": 2}
    called = calculator(dependencies, [], None)["semantic_classes_entail"]
    found.append(_plain((called["sample_to_class"], called["class_to_sample"])))
    facts.append(
        [bool(np.array_equal(entail, case["entail"])), bool(np.array_equal(labels, np.where(case["entail"], 2, 0)))]
    )
    facts.append(len(dependencies))
    # Step by step, in dictionaries that are there and have other questions; questions take turns.
    calculator = SemanticClassesCalculator()
    calculator._is_entailment = entail
    samples, members = {77: {0: 0}}, {77: [[0]]}
    if sizes:
        samples[0], members[0] = {0: 0, 1: 1, 2: 0}, [[0, 2], [1]]
    calculator._sample_to_class, calculator._class_to_sample = samples, members
    returned = []
    for i in range(max(sizes, default=0)):
        for idx, size in enumerate(sizes):
            if i < size:
                returned.append(calculator._determine_class(idx, i))
    facts.append([type(item) is int for item in returned])
    facts += [calculator._sample_to_class is samples, calculator._class_to_sample is members]
    facts.append(_integers((samples, members)))
    found += [returned, _plain((dict(sorted(samples.items())), dict(sorted(members.items()))))]
    # What is said of the samples before need not be what this relation says.
    if sizes and sizes[0] > 3:
        samples, members = {0: {2: 1, 0: 0, 1: 1}}, {0: [[0], [1, 2]]}
        row, rows = samples[0], members[0]
        calculator._sample_to_class, calculator._class_to_sample = samples, members
        returned = [calculator._determine_class(0, i) for i in range(3, sizes[0])]
        found += [returned, _plain((samples, members))]
        facts.append([samples[0] is row, members[0] is rows])
        # The question begins anew.
        found += [calculator._determine_class(0, 0), _plain((samples, members))]
    facts.append(bool(np.array_equal(entail, case["entail"])))
    return {"found": found, "facts": facts}


def _numbers(kind, row):
    if kind == "list":
        return list(row)
    return np.array(row, dtype=np.float64) if kind == "array" else np.repeat(np.array(row, dtype=np.float64), 2)[::2]


def _entropies(case):
    from lm_polygraph.estimators.semantic_entropy import SemanticEntropy

    texts = copy.deepcopy(case["texts"])
    members = dict(enumerate(copy.deepcopy(case["members"])))
    samples = {}
    for question, rows in members.items():
        of = {sample: number for number, row in enumerate(rows) for sample in row}
        samples[question] = {sample: of[sample] for sample in (of if case["shuffled"] else sorted(of))}
    logps = [_numbers(case["kind"], row) for row in case["logps"]]
    weights = [_numbers(case["kind"], row) for row in case["weights"]]
    estimator = SemanticEntropy()
    estimator._class_to_sample, estimator._sample_to_class = members, samples
    if "wrong" in case:
        raised = []
        for probability in ("sum", "frequency"):
            estimator.class_probability_estimation = probability
            estimator.entropy_estimation = case["wrong"]
            try:
                estimator.batched_call(texts, logps)
            except ValueError:
                raised.append("ValueError")
            estimator.entropy_estimation = "mean"
            raised.append(np.array(estimator.batched_call(texts, logps)))
        return {"raised": raised}

    before = copy.deepcopy(
        (texts, members, samples, [np.array(row) for row in logps], [np.array(row) for row in weights])
    )
    found, facts = [], []
    for question in range(len(texts)):
        places = estimator.get_unique_hypos_by_class(question, texts)
        facts.append([isinstance(places, list), all(isinstance(item, np.ndarray) for item in places)])
        facts.append([np.issubdtype(item.dtype, np.integer) and item.ndim == 1 for item in places])
        found.append([sorted(item.tolist()) for item in places])
    for setting in (*SETTINGS, *SETTINGS[::3]):
        estimator.class_probability_estimation, estimator.use_unique_responses, estimator.entropy_estimation = setting
        attributes = copy.deepcopy(vars(estimator))
        given = logps if setting[0] == "sum" or len(found) % 2 else None
        results = [
            estimator.batched_call(texts, given),
            estimator.batched_call(texts, given, weights),
            estimator.batched_call(hyps_list=texts, loglikelihoods_list=given, log_weights=None),
        ]
        stats = {
            "sample_texts": texts,
            "sample_log_probs": logps,
            "semantic_classes_entail": {"class_to_sample": members, "sample_to_class": samples},
        }
        results.append(estimator(stats))
        for result in results:
            found.append(np.array(result))
            facts.append([isinstance(result, np.ndarray), str(result.dtype), list(result.shape)])
        for result in results:
            result[...] = 7
        facts.append([vars(estimator) == attributes, len(stats), len(stats["semantic_classes_entail"])])
    # Other questions with the same object.
    if len(texts) > 1:
        estimator.class_probability_estimation, estimator.use_unique_responses = "sum", True
        estimator.entropy_estimation = "mean"
        count = len(texts)
        estimator._class_to_sample = {place: members[count - 1 - place] for place in range(count)}
        estimator._sample_to_class = {place: samples[count - 1 - place] for place in range(count)}
        found.append(np.array(estimator.batched_call(texts[::-1], logps[::-1], weights[::-1])))
    after = (texts, members, samples, [np.array(row) for row in logps], [np.array(row) for row in weights])
    facts.append(
        [after[:3] == before[:3], [list(row) for row in samples.values()] == [list(row) for row in before[2].values()]]
    )
    facts.append(
        [
            bool(np.array_equal(one, other))
            for place in (3, 4)
            for one, other in zip(after[place], before[place], strict=True)
        ]
    )
    return {"found": found, "facts": facts}
