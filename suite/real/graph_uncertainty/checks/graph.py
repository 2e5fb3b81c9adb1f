"""Jaccard similarities, then the measures over sizes, graphs, settings and precisions; then the experiment."""

import copy

import numpy as np

KEYS = ("semantic_matrix_entail", "semantic_matrix_contra")
WORDS = ("a", "A", "the", "The", "cat", "cat.", "sat", "SAT", "\u00e9", "\u00c9", "on", "mat", "2", "-")


def cases(seed):
    generator = np.random.default_rng(seed)

    def text(least=1, most=7):
        blanks = (" ", " ", "  ", "\t", "\n")
        words = generator.choice(WORDS, size=generator.integers(least, most + 1))
        return "".join(str(word) + blanks[generator.integers(len(blanks))] for word in words)

    def graph(size, kind):
        """Similarities of responses, neither symmetric nor with ones on the diagonal."""
        noise = generator.random((size, size))
        sides = np.arange(size) % 2
        if kind == "even":
            return 0.1 + 0.8 * noise
        if kind == "sure":
            return np.clip(2 * noise - 0.5, 0, 1)
        if kind == "faint":
            return (0.5 + noise) / 10 + 0.1 * np.eye(size)
        if kind == "hollow":
            # Halves that are like each other, but not like themselves: eigenvalues above 1.
            return np.where(sides[:, None] != sides, 0.2 + 0.8 * noise, 0.05 * noise)
        if kind == "one way":
            return np.triu(noise, 1) + 0.1 * np.eye(size)
        groups = generator.integers(0, 4, size)
        return np.where(groups[:, None] == groups, 0.6 + 0.4 * noise, 0.3 * noise)

    def case(name, size=6, kind="groups", questions=1, dtype="float64", texts=None, sizes=(), **settings):
        settings = {"similarity_score": "NLI_score", "affinity": "entail", "thres": 0.9, **settings}
        while True:
            matrices = {key: np.stack([graph(size, kind) for _ in range(questions)]).astype(dtype) for key in KEYS}
            if settings["affinity"] == "contra":
                matrices[KEYS[1]] = 1 - matrices[KEYS[1]]
            given = texts or [[text() for _ in range(count)] for count in sizes or [size] * questions]
            if _is_clear(matrices, given, settings, 2e-2 if dtype == "float32" else 1e-3):
                return {"name": name, "texts": given, **matrices, "settings": settings, "single": dtype == "float32"}

    yield {"name": "strings", "strings": [[text() for _ in range(size)] for size in (2, 3, 6, 12)]}
    yield {"name": "many strings", "strings": [[text(1, 12) for _ in range(20)]]}
    words = [f"w{place}" for place in generator.permutation(60)]
    yield {"name": "many words", "strings": [[" ".join(words[:50]), " ".join(words[10:]), " ".join(words[:2])]]}

    for size in (2, 3, 7, 12, 20):
        yield case(f"{size} responses", size)
        yield case(f"{size} responses, contradictions", size, affinity="contra")
    for thres in (0.3, 0.5, 0.75, 1.0, 1.3):
        yield case(f"a threshold of {thres}", 9, thres=thres, affinity="contra" if thres > 0.6 else "entail")
    for kind in ("even", "sure", "faint", "hollow", "one way"):
        for affinity in ("entail", "contra"):
            yield case(f"{kind}, {affinity}", 8, kind, affinity=affinity, thres=0.95)
    yield case("hollow, all that are kept", 8, "hollow", thres=2.5)
    yield case("several questions", 5, questions=4)
    yield case("several questions, contradictions", 6, "even", questions=3, affinity="contra")
    yield case("texts", 7, similarity_score="Jaccard_score", thres=0.85)
    yield case("texts, all eigenvectors", 7, similarity_score="Jaccard_score", thres=2.5)
    yield case("texts, contradictions play no part", 6, similarity_score="Jaccard_score", affinity="contra", thres=0.6)
    yield case("texts, as many as there are", sizes=(3, 5, 2, 4), similarity_score="Jaccard_score", thres=0.7)
    for affinity in ("entail", "contra"):
        yield case(f"single precision, {affinity}", 7, dtype="float32", affinity=affinity)
        yield case(f"single precision, even, {affinity}", 12, "even", dtype="float32", affinity=affinity, thres=2.5)
    yield {"name": "experiment", "seed": seed % 1000}

    strings = [text(0, 2) for _ in range(5)]
    yield {"name": "strings without words", "strings": [["", *strings, " ", "\n"], [""]], "edge": True}
    yield case("one response", 1) | {"edge": True}
    given = case("all alike and all apart", 5, questions=2, thres=0.5)
    yield given | {KEYS[0]: np.stack([np.ones((5, 5)), np.eye(5)]), "edge": True}
    # The matrix of a setting that changes may be one of another, too.
    later = ({"affinity": "contra"}, {"affinity": "contra", "thres": 0.4}, {"similarity_score": "Jaccard_score"})
    while True:
        given = case("settings that change", 6, "even", thres=0.8)
        if all(_is_clear(given, given["texts"], {**given["settings"], **changes}, 1e-3) for changes in later):
            break
    yield given | {"later": list(later), "edge": True}


def _is_clear(matrices, texts, settings, least):
    """Tell whether no eigenvalue is near the threshold."""
    for place, answers in enumerate(texts):
        if settings["similarity_score"] == "NLI_score":
            matrix = matrices[KEYS[settings["affinity"] == "contra"]][place].astype("float64")
            matrix = matrix if settings["affinity"] == "entail" else 1 - matrix
        else:
            bags = [set(item.lower().split()) for item in answers]
            matrix = np.array([[len(a & b) / max(1, len(a | b)) for b in bags] for a in bags])
            np.fill_diagonal(matrix, 1)
        matrix = matrix + matrix.T
        roots = matrix.sum(axis=0) ** 0.5
        if (roots**2 < 0.11).any():
            return False
        values = np.linalg.eigvalsh(np.eye(len(matrix)) - matrix / np.outer(roots, roots))
        if (np.abs(values - settings["thres"]) < 1.2 * least).any():
            return False
    return True


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "strings" in case:
        from lm_polygraph.estimators.common import _compute_Jaccard_score

        return {"similarities": [np.array(_compute_Jaccard_score(list(strings))) for strings in case["strings"]]}
    from lm_polygraph.estimators.deg_mat import DegMat
    from lm_polygraph.estimators.eccentricity import Eccentricity
    from lm_polygraph.estimators.eig_val_laplacian import EigValLaplacian

    settings = dict(case["settings"])
    thres = settings.pop("thres")
    estimators = (DegMat(**settings), EigValLaplacian(**settings), Eccentricity(**settings, thres=thres))
    found = []
    for changes in ({}, *case.get("later", ())):
        for name, value in changes.items():
            for estimator in estimators[2 if name == "thres" else 0 :]:
                setattr(estimator, name, value)
        stats = {"sample_texts": [list(texts) for texts in case["texts"]]}
        if estimators[2].similarity_score == "NLI_score":
            key = KEYS[estimators[2].affinity == "contra"]
            stats[key] = case[key].copy()
        before = copy.deepcopy(stats)
        for place in range(len(case["texts"])):
            numbers = [estimators[0].U_DegMat(place, stats), estimators[1].U_EigVal_Laplacian(place, stats)]
            found.append([float(number) for number in (*numbers, estimators[2].U_Eccentricity(place, stats)[0])])
        found.append([np.asarray(estimator(stats), dtype=np.float64) for estimator in estimators])
        if case.get("later"):
            found.append([bool(np.array_equal(stats[name], item)) for name, item in before.items()])
    return {("single" if case["single"] else "observed"): found}
