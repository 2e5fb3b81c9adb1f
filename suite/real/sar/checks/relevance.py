"""Scores of tokens, answers, samples and claims over sizes, precisions and temperatures; the experiment."""

import copy
from types import SimpleNamespace

import numpy as np

SAMPLED = ("sample_log_likelihoods", "sample_token_similarity", "sample_log_probs", "sample_sentence_similarity")


def cases(seed):
    generator = np.random.default_rng(seed)

    def tokens(length, dtype="float64", depth=3.0, low=0.0, high=1.0):
        """Log-likelihoods and similarities of one answer."""
        likelihoods = np.maximum(-depth * generator.exponential(size=length), -100).tolist()
        return likelihoods, generator.uniform(low, high, size=length).astype(dtype)

    def greedy(name, lengths, **more):
        answers = [tokens(length, **more) for length in lengths]
        claims = [
            [generator.permutation(length)[:size].tolist() for size in generator.integers(1, 6, size=3)]
            if length
            else []
            for length in lengths
        ]
        return {
            "name": f"greedy, {name}",
            "likelihoods": [likelihoods for likelihoods, _ in answers],
            "similarities": [similarities for _, similarities in answers],
            "claims": claims,
            "single": more.get("dtype") == "float32",
        }

    def sampled(name, sizes, lengths=(1, 9), dtype="float64", sentences="float64", t=0.001, **more):
        likelihoods, similarities, probabilities, matrices = [], [], [], []
        for size in sizes:
            drawn = [tokens(generator.integers(lengths[0], lengths[1] + 1), dtype, **more) for _ in range(size)]
            likelihoods.append([item for item, _ in drawn])
            similarities.append([item for _, item in drawn])
            probabilities.append([float(max(sum(item), -600.0)) for item, _ in drawn])
            matrices.append(generator.random((size, size)).astype(sentences))
        stats = dict(zip(SAMPLED, (likelihoods, similarities, probabilities, matrices), strict=True))
        return {"name": f"sampled, {name}", "stats": stats, "t": t, "single": dtype == "float32"}

    yield greedy("a few answers", (5, 1, 8, 3))
    yield greedy("one answer", (6,))
    yield greedy("one token each", (1, 1, 1))
    yield greedy("two tokens each", (2, 2, 2))
    yield greedy("many tokens", (60, 40))
    yield greedy("many questions", generator.integers(1, 12, size=20).tolist())
    yield greedy("unlikely tokens", (7, 9), depth=40.0)
    yield greedy("likely tokens", (7, 9), depth=1e-3)
    yield greedy("little relevance", (6, 40), low=0.98, high=0.9999)
    yield greedy("great relevance", (6, 5), high=0.02)
    yield greedy("arrays", (4, 6)) | {"arrays": True}
    for length in (1, 7, 40):
        yield greedy(f"single precision, {length} tokens", (length, 3), dtype="float32")
    given = greedy("tokens without relevance", (6, 5))
    given["similarities"] = [generator.permutation([1.0, 0.3, 1.0, 0.9, 0.0, 0.6]), np.array([1.0, 1.0, 0.4, 1.0, 0.0])]
    yield given
    given = greedy("tokens that are sure", (5, 6))
    for likelihoods in given["likelihoods"]:
        likelihoods[generator.integers(5)] = likelihoods[0] = 0.0
    yield given
    yield greedy("no question", ()) | {"edge": True}
    yield greedy("answers without tokens", (0, 4, 0)) | {"edge": True}
    yield greedy("a second call", (5, 4)) | {"again": True, "edge": True}

    yield sampled("a few questions", (4, 4, 4))
    yield sampled("different numbers of samples", (3, 7, 2, 1))
    yield sampled("one question", (5,))
    yield sampled("one sample each", (1, 1))
    yield sampled("two samples", (2, 2))
    yield sampled("many samples", (20, 12), lengths=(1, 6))
    yield sampled("long samples", (5, 4), lengths=(40, 60), depth=4.0)
    yield sampled("unlikely samples", (5, 4), lengths=(20, 30), depth=20.0, t=0.5)
    yield sampled("likely samples", (5, 4), depth=1e-4)
    yield sampled("likely samples, large t", (6, 4), depth=1e-2, t=8.0)
    yield sampled("little relevance", (5, 4), low=0.98, high=0.9999)
    yield sampled("arrays", (4, 4)) | {"arrays": True}
    yield sampled("single precision of tokens", (4, 6), dtype="float32")
    yield sampled("single precision of samples", (4, 6), sentences="float32", t=0.05)
    yield sampled("single precision of both", (4, 4), dtype="float32", sentences="float32")
    for t in (1e-5, 0.02, 1.0, 3):
        yield sampled(f"t of {t}", (4, 5), t=t)
    given = sampled("nothing in common", (5, 3), t=0.02)
    for matrix in given["stats"][SAMPLED[3]]:
        matrix[:] = np.eye(len(matrix))
    yield given
    given = sampled("diagonals of 0 and of 1", (5, 5), t=2.0)
    for place, matrix in enumerate(given["stats"][SAMPLED[3]]):
        np.fill_diagonal(matrix, float(place))
    yield given
    # Similar in one direction alone.
    given = sampled("one way", (4, 6), depth=8.0)
    for matrix in given["stats"][SAMPLED[3]]:
        matrix[:] = np.triu(matrix, 1)
    yield given
    yield sampled("no question", ()) | {"edge": True}
    yield sampled("samples without tokens", (4, 3), lengths=(0, 2)) | {"edge": True}
    yield sampled("another t, then other questions", (5, 4), t=0.3) | {"again": True, "edge": True}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    found = _greedy(case) if "claims" in case else _sampled(case)
    return {"single" if case["single"] else "observed": found}


def _greedy(case):
    from lm_polygraph.estimators.claim.token_sar import TokenSARClaim
    from lm_polygraph.estimators.token_sar import TokenSAR, token_level_sar_scores

    stats = {
        "greedy_log_likelihoods": _numbers(case, case["likelihoods"]),
        "token_similarity": [item.copy() for item in case["similarities"]],
        "claims": [[SimpleNamespace(aligned_token_ids=list(ids)) for ids in row] for row in case["claims"]],
    }
    before = copy.deepcopy(stats)
    estimator, by_claim = TokenSAR(), TokenSARClaim()

    def measured():
        scores = [np.array(item) for item in token_level_sar_scores(stats)]
        return [scores, np.array(estimator(stats)), [[float(value) for value in row] for row in by_claim(stats)]]

    found = measured()
    if case.get("again"):
        found += [_same(stats[key], before[key]) for key in ("greedy_log_likelihoods", "token_similarity")]
        found.append(stats["claims"] == before["claims"])
        for key in stats:
            stats[key] = stats[key][::-1]
        found += measured()
    return found


def _sampled(case):
    from lm_polygraph.estimators.sar import SAR
    from lm_polygraph.estimators.sentence_sar import SentenceSAR

    likelihoods, similarities, probabilities, matrices = copy.deepcopy([case["stats"][key] for key in SAMPLED])
    likelihoods = [_numbers(case, row) for row in likelihoods]
    stats = dict(zip(SAMPLED, (likelihoods, similarities, _numbers(case, probabilities), matrices), strict=True))
    before = copy.deepcopy(stats)
    found = []
    for estimator, keys in ((SentenceSAR(), SAMPLED[2:]), (SAR(), (*SAMPLED[:2], SAMPLED[3]))):
        given = {key: stats[key] for key in keys}
        if case["t"] != estimator.t:
            estimator.t = case["t"]
        found.append(np.array(estimator(given)))
        if case.get("again"):
            estimator.t = 0.01
            found += [
                np.array(estimator(given)),
                np.array(estimator({key: item[::-1] for key, item in given.items()})),
                estimator.t,
                _same(list(given.values()), [before[key] for key in keys]),
            ]
    return found


def _numbers(case, rows):
    return [np.array(row) if case.get("arrays") else list(row) for row in rows]


def _same(item, other):
    if isinstance(item, list):
        return len(item) == len(other) and all(_same(*pair) for pair in zip(item, other, strict=True))
    return bool(np.array_equal(item, other))
