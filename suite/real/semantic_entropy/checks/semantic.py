"""Clusterings by relations of entailment; entropies over settings, sizes and weights; the experiment."""

import copy

import numpy as np

WORDS = ("Paris", "paris", "Paris ", "Par\u00eds", "Pari\u0301s", "1", "1.0", "It is Paris.")


def cases(seed):
    generator = np.random.default_rng(seed)

    def classes(name, sizes, share=0.6, entail=None):
        largest = max(sizes, default=0)
        if entail is None:
            entail = generator.random((len(sizes), largest, largest)) < share
        return {"name": f"classes, {name}", "sizes": list(sizes), "entail": entail}

    yield classes("one question", (8,))
    yield classes("questions of different sizes", (4, 1, 7, 2))
    yield classes("many samples", (20, 16), 0.4)
    yield classes("many questions", generator.integers(1, 9, size=20).tolist(), 0.5)
    for share in (0.2, 0.4, 0.75, 0.9):
        yield classes(f"a share of {share} is entailed", (9, 9, 12), share)
    meanings = generator.integers(4, size=(3, 10))
    yield classes("an equivalence", (10, 10, 10), entail=meanings[:, :, None] == meanings[:, None, :])
    # Some directions alone are missing from an equivalence.
    flips = generator.random((3, 10, 10)) < 0.2
    yield classes("nearly an equivalence", (10, 10, 10), entail=(meanings[:, :, None] == meanings[:, None, :]) ^ flips)
    # A chain in a random order: each sample means the same as its neighbours alone.
    places = generator.permutation(9)
    yield classes("a chain", (9,), entail=(np.abs(places[:, None] - places[None, :]) <= 1)[None])
    # One sample is like all others, and these differ.
    star, centre = np.eye(7, dtype=bool), generator.integers(2, 7)
    star[centre] = star[:, centre] = True
    yield classes("one is like all", (7,), entail=star[None])
    yield classes("fewer questions in the second call", (5, 6, 4)) | {"twice": True, "edge": True}
    yield classes("one sample", (1,)) | {"edge": True}
    yield classes("no question", ()) | {"edge": True}

    def entropies(name, sizes, groups=3, low=0.05, high=12.0, words=WORDS, weights=(-1.0, 1.0)):
        texts, logps, members, weighted = [], [], [], []
        for size in sizes:
            of = generator.integers(groups, size=size)
            lists = [np.flatnonzero(of == group).tolist() for group in range(groups)]
            members.append(sorted(row for row in lists if row))
            texts.append([words[place] for place in generator.integers(len(words), size=size)])
            logps.append((-generator.uniform(low, high, size=size)).tolist())
            weighted.append(generator.uniform(*weights, size=size).tolist())
        return {
            "name": f"entropies, {name}",
            "texts": texts,
            "logps": logps,
            "members": members,
            "weights": weighted,
            "settings": ["sum", "unique", "frequency", "unique, frequency"],
        }

    yield entropies("one question", (8,))
    yield entropies("a few questions", (6, 6, 6))
    yield entropies("questions of different sizes", (4, 1, 9, 2))
    yield entropies("many samples", (20, 20), groups=6, words=tuple(f"answer {number}" for number in range(12)))
    yield entropies("many questions", generator.integers(1, 12, size=20).tolist())
    yield entropies("one class", (7, 5), groups=1)
    yield entropies("one text", (7, 8), words=("the same",))
    yield entropies("two texts in all classes", (9, 8), words=("the same", "another"))
    yield entropies("likely samples", (6, 9), low=0.0, high=1e-3)
    yield entropies("sums above one", (9, 20), groups=2, low=0.0, high=0.5)
    yield entropies("long samples", (6, 9), low=200.0, high=1000.0)
    yield entropies("long samples and short ones", (9, 9), low=0.5, high=900.0)
    given = entropies("a class far below the others", (8, 8), groups=2)
    for row, members in zip(given["logps"], given["members"], strict=True):
        for sample in members[0]:
            row[sample] -= 900.0
    yield given
    # Each of the others is little beside the first, and all of them together are not.
    given = entropies(
        "samples that count little", (20,), groups=1, low=10.0, high=12.0, words=tuple(map(str, range(99)))
    )
    given["logps"][0][0] = -0.5
    yield given
    yield entropies("small weights", (7, 4), weights=(-9.0, -4.0))
    yield entropies("large weights", (7, 4), weights=(2.0, 5.0))
    yield entropies("arrays", (7, 5)) | {"arrays": True}
    for size in (4, 7):
        given = entropies(f"the direct estimate of {size} classes", (size, size))
        yield given | {"members": [[[place] for place in range(size)]] * 2, "settings": ["direct", "direct, frequency"]}
    yield entropies("no question", ()) | {"edge": True}
    yield entropies("one sample", (1,), groups=1) | {"edge": True}
    yield entropies("frequencies without log-probabilities", (5, 6)) | {"settings": ["frequency alone"], "edge": True}
    yield entropies("settings that change", (5, 6)) | {
        "settings": ["unique", "frequency", "sum", "unique"],
        "kept": True,
        "edge": True,
    }
    yield entropies("estimates that change", (4, 4)) | {
        "members": [[[place] for place in range(4)]] * 2,
        "settings": ["sum", "direct", "frequency", "direct"],
        "kept": True,
        "edge": True,
    }
    yield entropies("an unknown estimate", (4, 3)) | {"settings": ["unknown"], "edge": True}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _classes(case) if "entail" in case else _entropies(case)


def _plain(samples, members):
    return [[dict(sorted(samples[key].items())) for key in sorted(samples)], [members[key] for key in sorted(members)]]


def _items(result):
    samples, members = _plain(*result)
    pairs = [[[int(sample), int(number)] for sample, number in row.items()] for row in samples]
    return [pairs, [[[int(sample) for sample in row] for row in rows] for rows in members]]


def _classes(case):
    from lm_polygraph.stat_calculators.semantic_classes import SemanticClassesCalculator

    texts = [[f"sample {place}" for place in range(size)] for size in case["sizes"]]
    calculator = SemanticClassesCalculator()
    calculator._is_entailment = case["entail"].copy()
    returned = _items(calculator.get_classes(texts))
    found = [returned, _items((calculator._sample_to_class, calculator._class_to_sample))]
    if case.get("twice"):
        found.append(_items(calculator.get_classes(texts[:1])))
    # By the package's own call, with labels, after another batch.
    labels = np.where(case["entail"], 2, 0)[::-1].transpose(0, 2, 1)
    dependencies = {"sample_texts": texts[::-1], "semantic_matrix_classes": labels, "entailment_id": 2}
    called = calculator(dependencies, [], None)["semantic_classes_entail"]
    found.append(_items((called["sample_to_class"], called["class_to_sample"])))
    # Sample by sample, where questions take turns.
    calculator = SemanticClassesCalculator()
    calculator._is_entailment = case["entail"].copy()
    calculator._sample_to_class, calculator._class_to_sample = {}, {}
    turns = [
        (idx, i) for i in range(max(case["sizes"], default=0)) for idx, size in enumerate(case["sizes"]) if i < size
    ]
    found.append([int(calculator._determine_class(idx, i)) for idx, i in turns])
    found.append(_items((calculator._sample_to_class, calculator._class_to_sample)))
    return {"found": found}


def _entropies(case):
    from lm_polygraph.estimators.semantic_entropy import SemanticEntropy

    estimator = None
    found = []
    for turn, setting in enumerate(case["settings"]):
        texts, logps, weights, members = (copy.deepcopy(case[key]) for key in ("texts", "logps", "weights", "members"))
        if case.get("kept") and turn % 2:
            for questions in (texts, logps, weights, members):
                questions.reverse()
        if case.get("arrays"):
            logps, weights = [np.array(row) for row in logps], [np.array(row) for row in weights]
        if estimator is None or not case.get("kept"):
            estimator = SemanticEntropy()
        estimator._class_to_sample = dict(enumerate(members))
        estimator._sample_to_class = {
            question: {sample: number for number, row in enumerate(rows) for sample in row}
            for question, rows in estimator._class_to_sample.items()
        }
        estimator.class_probability_estimation = "frequency" if "frequency" in setting else "sum"
        estimator.use_unique_responses = "unique" in setting
        estimator.entropy_estimation = "direct" if "direct" in setting else "mean"
        if setting == "unknown":
            estimator.entropy_estimation = "median"
            try:
                estimator.batched_call(texts, logps)
            except ValueError:
                found.append("ValueError")
            continue
        if setting == "frequency alone":
            logps = None
        before = copy.deepcopy((texts, logps, weights, estimator._class_to_sample, estimator._sample_to_class))
        for question in range(len(texts)):
            places = estimator.get_unique_hypos_by_class(question, texts)
            found.append([sorted(np.asarray(item).tolist()) for item in places])
        results = [estimator.batched_call(texts, logps)]
        if estimator.entropy_estimation == "mean":
            results.append(estimator.batched_call(texts, logps, weights))
        found += [np.array(result) for result in results]
        if case.get("kept"):
            after = (texts, logps, weights, estimator._class_to_sample, estimator._sample_to_class)
            found += [result.dtype == np.float64 for result in results] + [after == before]
    return {"found": found}
