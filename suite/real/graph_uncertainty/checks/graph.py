"""Jaccard similarities, then the measures over sizes, graphs, settings, dtypes and layouts; then the experiment."""

import numpy as np

CLEAR = 1e-3
CLEAR_SINGLE = 2e-2
KEYS = ("semantic_matrix_entail", "semantic_matrix_contra")
WORDS = ("a", "A", "the", "The", "cat", "cat.", "sat", "SAT", "é", "É", "ß", "on", "mat", "2", "-")


def cases(seed):
    generator = np.random.default_rng(seed)

    def text(least=0, most=7):
        blanks = (" ", "  ", "\t", "\n", "\u00a0")
        words = generator.choice(WORDS, size=generator.integers(least, most + 1))
        return "".join(str(word) + blanks[generator.integers(len(blanks))] for word in words)

    def graph(size, kind="groups"):
        """Similarities of responses, neither symmetric nor with ones on the diagonal."""
        noise = generator.random((size, size))
        if kind == "even":
            return 0.1 + 0.8 * noise
        if kind == "sure":
            return np.clip(2 * noise - 0.5, 0, 1)
        if kind == "faint":
            return 0.06 / size + 0.02 / size * noise
        if kind == "halves":
            # Halves that are like nothing but each other, whose largest eigenvalue is 2.
            sides = np.arange(size) % 2
            return np.where(sides[:, None] != sides, 0.2 + 0.8 * noise, 0)
        if kind == "hollow":
            # Halves that are like each other, but not like themselves: eigenvalues above 1.
            sides = np.arange(size) % 2
            return np.where(sides[:, None] != sides, 0.2 + 0.8 * noise, 0.05 * noise)
        if kind == "loose":
            # Two groups of unlike weights that hardly touch: two eigenvalues that are close to each other.
            sides = np.arange(size) % 2
            within = np.where(sides[:, None] == 0, 0.9, 0.05)
            return np.where(sides[:, None] == sides, within, 1.2e-4) * (0.9 + 0.1 * noise)
        if kind == "one way":
            return np.triu(noise, 1) + 0.1 * np.eye(size)
        groups = generator.integers(0, 4, size)
        return np.where(groups[:, None] == groups, 0.6 + 0.4 * noise, 0.3 * noise)

    def case(name, size=6, kind="groups", questions=1, dtype="float64", texts=None, sizes=(), later=(), **settings):
        settings = {"similarity_score": "NLI_score", "affinity": "entail", "thres": 0.9, **settings}
        while True:
            matrices = {key: np.stack([graph(size, kind) for _ in range(questions)]).astype(dtype) for key in KEYS}
            if kind == "faint":
                matrices[KEYS[1]] = 1 - matrices[KEYS[1]]
            given = texts or [[text(1) for _ in range(count)] for count in sizes or [size] * questions]
            simple = [
                [_simple(matrices, given, place, {**settings, **dict(entry)}, dtype) for place in range(len(given))]
                for entry in ({}, *later)
            ]
            if all(flags is not None for row in simple for flags in row):
                break
        return {
            "name": name,
            "texts": given,
            **matrices,
            "settings": settings,
            "later": list(later),
            "simple": simple,
            "layout": "rows",
            "single": dtype == "float32",
            "all": False,
        }

    yield {"name": "strings", "strings": [[text() for _ in range(size)] for size in (2, 3, 6, 12)]}
    yield {"name": "one string", "strings": [["a b"], [""], [" \t"]]}
    yield {
        "name": "strings without words",
        "strings": [["", ""], ["", "a"], [" ", "\n", "a", "A "], ["", "x", "", "x", ""]],
    }
    yield {
        "name": "words that are alike",
        "strings": [
            ["the cat", "The CAT"],
            ["a a a b", "a b"],
            ["a a b", "b b a c"],
            ["cat", "cat."],
            ["ab", "a b"],
            ["STRASSE É", "straße é"],
            ["b a", "a b", "a\tb\n", " a\u2003b "],
            ["a-b", "a - b"],
            ["a\0", "a", "\0a b", "a\0 b"],
            ["\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2", "\u03bf\u03b4\u03bf\u03c3"],
        ],
    }
    words = [chr(0x4E00 + place) for place in range(320)]
    yield {"name": "many words", "strings": [[" ".join(words[:300]), " ".join(words[20:]), " ".join(words[:2])]]}
    yield {"name": "many strings", "strings": [[text(0, 12) for _ in range(60)]]}
    for size in (1, 2, 3, 4, 7, 12, 25, 60):
        yield case(f"{size} responses", size)
        yield case(f"{size} responses, contradictions", size, affinity="contra")
    yield case("60 responses, all that are kept", 60, thres=2.9)
    for size in (6, 8, 10):
        yield case(f"loose, {size} responses", size, "loose", thres=0.5)
    for thres in (0.001 + 2e-3, 0.3, 0.5, 0.75, 1.0, 1.3, 2.1, 2.9):
        yield case(f"a threshold of {thres}", 9, thres=thres)
    for kind in ("even", "sure", "faint", "hollow", "one way"):
        for affinity in ("entail", "contra"):
            yield case(f"{kind}, {affinity}", 8, kind, affinity=affinity, thres=0.95)
    yield case("hollow, all that are kept", 8, "hollow", thres=2.5)
    yield case("halves, all that are kept", 6, "halves", thres=2.5)
    yield case("hollow, of an odd number", 7, "hollow", thres=1.5)
    yield case("several questions", 5, questions=4)
    yield case("several questions, contradictions", 6, "even", questions=3, affinity="contra")
    kinds = [("alike", np.ones((size, size))) for size in (2, 3, 5, 6, 7, 10, 13)] + [("apart", np.eye(5))]
    for name, value in kinds:
        size = len(value)
        for affinity in ("entail", "contra"):
            for thres in (0.5, 2.5) if size == 5 else (0.5,):
                given = case(f"all {size} {name}, {affinity}, {thres}", size, affinity=affinity, thres=thres)
                matrices = {KEYS[0]: value[None].copy(), KEYS[1]: 1 - value[None]}
                flags = [[_simple(matrices, given["texts"], 0, given["settings"], "float64")]]
                yield given | matrices | {"simple": flags}
    given = case("nearly alike", 6, thres=0.5)
    matrices = {KEYS[0]: 1 - 1e-6 * generator.random((1, 6, 6)), KEYS[1]: given[KEYS[1]]}
    yield given | matrices | {"simple": [[_simple(matrices, given["texts"], 0, given["settings"], "float64")]]}
    for thres in (0.4, 2.5):
        given = case(f"groups of equals, {thres}", 6, thres=thres)
        groups = np.array([0, 0, 0, 1, 1, 2])
        matrices = {KEYS[0]: (groups[:, None] == groups)[None].astype(float), KEYS[1]: given[KEYS[1]]}
        yield given | matrices | {"simple": [[_simple(matrices, given["texts"], 0, given["settings"], "float64")]]}
    yield case("texts", 7, similarity_score="Jaccard_score", thres=0.85)
    yield case("texts, all eigenvectors", 7, similarity_score="Jaccard_score", thres=2.5)
    yield case("texts, contradictions play no part", 6, similarity_score="Jaccard_score", affinity="contra", thres=0.6)
    yield case("texts, several questions", 5, questions=3, similarity_score="Jaccard_score", thres=0.7)
    yield case("texts, as many as there are", sizes=(3, 5, 1, 4), similarity_score="Jaccard_score", thres=0.7)
    given = case("texts beside arrays", 6, dtype="float32", similarity_score="Jaccard_score", thres=0.7)
    yield given | {"single": False, "all": True}
    empty = [["", "a b", "", "b", "A B", "c"]]
    yield case("texts without words", 6, texts=empty, similarity_score="Jaccard_score", thres=0.87)
    yield case("one text", 1, texts=[["a b"]], similarity_score="Jaccard_score")
    yield case("an empty text", 1, texts=[[""]], similarity_score="Jaccard_score", thres=0.5)
    for layout in ("columns", "transposed", "strided", "reversed"):
        for affinity in ("entail", "contra"):
            yield case(f"laid out by {layout}, {affinity}", 7, questions=2, affinity=affinity) | {"layout": layout}
    for affinity in ("entail", "contra"):
        yield case(f"single precision, {affinity}", 7, dtype="float32", affinity=affinity)
        yield case(f"single precision, even, {affinity}", 12, "even", dtype="float32", affinity=affinity, thres=2.5)
    later = (
        (("affinity", "contra"),),
        (("thres", 0.4),),
        (("thres", 2.5),),
        (("similarity_score", "Jaccard_score"), ("thres", 0.8)),
    )
    yield case("settings that change", 6, later=later)
    yield {"name": "experiment", "seed": seed % 1000}


def _simple(matrices, texts, place, settings, dtype):
    """Which of the kept eigenvalues are far from all others; None where the threshold is too close to one."""
    if settings["similarity_score"] == "NLI_score":
        matrix = matrices[KEYS[settings["affinity"] == "contra"]][place].astype("float64")
        matrix = matrix if settings["affinity"] == "entail" else 1 - matrix
    else:
        bags = [set(item.lower().split()) for item in texts[place]]
        matrix = np.array([[len(a & b) / max(1, len(a | b)) for b in bags] for a in bags])
        np.fill_diagonal(matrix, 1)
    matrix = matrix + matrix.T
    roots = matrix.sum(axis=0) ** 0.5
    if (roots**2 < 0.11).any():
        return None
    values = np.linalg.eigvalsh(np.eye(len(matrix)) - matrix / np.outer(roots, roots))
    thres, least = settings["thres"], CLEAR_SINGLE if dtype == "float32" else CLEAR
    if (np.abs(values - thres) < 1.2 * least).any():
        return None
    gaps = np.abs(values[:, None] - values) + 9 * np.eye(len(values))
    return [bool(gap > 1.5 * least) for gap, value in zip(gaps.min(axis=1), values, strict=False) if value < thres]


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "strings" in case:
        return {"similarities": [_similarities(strings) for strings in case["strings"]]}
    from lm_polygraph.estimators.deg_mat import DegMat
    from lm_polygraph.estimators.eccentricity import Eccentricity
    from lm_polygraph.estimators.eig_val_laplacian import EigValLaplacian

    settings = dict(case["settings"])
    thres = settings.pop("thres")
    estimators = (DegMat(**settings), EigValLaplacian(**settings), Eccentricity(**settings, thres=thres))
    found, facts = [], []
    for flags, changes in zip(case["simple"], ({}, *case["later"]), strict=True):
        for name, value in dict(changes).items():
            for estimator in estimators[2 if name == "thres" else 0 :]:
                setattr(estimator, name, value)
        kept = [dict(vars(estimator)) for estimator in estimators]
        stats = {"sample_texts": [list(texts) for texts in case["texts"]]}
        last = estimators[2]
        if last.similarity_score == "NLI_score":
            key = KEYS[last.affinity == "contra"]
            stats[key] = _laid_out(case[key], case["layout"])
        elif case["all"]:
            stats |= {key: case[key].copy() for key in KEYS}
        before = {name: item.copy() for name, item in stats.items()}
        places = [*range(len(case["texts"])), 0]
        for place in places:
            numbers = [estimators[0].U_DegMat(place, stats), estimators[1].U_EigVal_Laplacian(place, stats)]
            result = estimators[2].U_Eccentricity(place, stats)
            uncertainty, entries = result
            numbers.append(uncertainty)
            entries = np.asarray(entries, dtype=np.float64)
            simple = flags[place]
            shown = entries[np.array(simple, dtype=bool)] if entries.shape == (len(simple),) else None
            found.append([[float(number) for number in numbers], shown, float((entries**2).sum())])
            facts.append(
                [isinstance(number, int | float | np.floating | np.integer) for number in numbers]
                + [isinstance(result, tuple), isinstance(result[1], np.ndarray), list(entries.shape)]
            )
        found.append([np.asarray(estimator(stats), dtype=np.float64) for estimator in estimators])
        facts.append([np.asarray(stats[name] == item).all() for name, item in before.items()])
        facts[-1] = [bool(item) for item in facts[-1]] + [list(stats) == list(before)]
        # The same dictionary and arrays with other contents: the questions in reverse order.
        for item in stats.values():
            item[:] = item[::-1].copy()
        for place in reversed(range(len(case["texts"]))):
            numbers = [estimators[0].U_DegMat(place, stats), estimators[1].U_EigVal_Laplacian(place, stats)]
            found.append([float(number) for number in (*numbers, last.U_Eccentricity(place, stats)[0])])
        facts.append([vars(estimator) == item for estimator, item in zip(estimators, kept, strict=True)])
    return {("single" if case["single"] else "observed"): found, "facts": facts}


def _similarities(strings):
    from lm_polygraph.estimators.common import _compute_Jaccard_score, compute_sim_score

    given = list(strings)
    found = _compute_Jaccard_score(given)
    first = found.copy()
    found[:] = -1
    again = _compute_Jaccard_score(given)
    other = compute_sim_score(answers=given, affinity="entail", similarity_score="Jaccard_score")
    return [first, again, other, str(first.dtype), given == strings, isinstance(found, np.ndarray)]


def _laid_out(matrices, layout):
    matrices = matrices.copy()
    if layout == "columns":
        return np.asfortranarray(matrices)
    if layout == "transposed":
        return np.ascontiguousarray(matrices.transpose(0, 2, 1)).transpose(0, 2, 1)
    if layout == "strided":
        return np.repeat(matrices, 2, axis=2)[:, :, ::2]
    if layout == "reversed":
        return matrices[:, ::-1, ::-1].copy()[:, ::-1, ::-1]
    return matrices
