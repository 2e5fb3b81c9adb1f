"""Scores of tokens, responses, samples and claims over sizes, dtypes, layouts and settings; the experiment."""

from types import SimpleNamespace

import numpy as np

SAMPLED = ("sample_log_likelihoods", "sample_token_similarity", "sample_log_probs", "sample_sentence_similarity")


def cases(seed):
    generator = np.random.default_rng(seed)

    def tokens(length, dtype="float64", depth=3.0, low=0.0, high=1.0):
        """Log-likelihoods and similarities of one response."""
        likelihoods = np.maximum(-depth * generator.exponential(size=length), -100).tolist()
        similarities = generator.uniform(low, high, size=length).astype(dtype)
        if length and (1 - similarities).sum() < 0.02:
            similarities[generator.integers(length)] = 0.5
        return likelihoods, similarities

    def greedy(name, lengths, **more):
        responses = [tokens(length, **more) for length in lengths]
        claims = []
        for length in lengths:
            ids = (
                [generator.integers(length, size=generator.integers(1, 6)).tolist() for _ in range(3)] if length else []
            )
            claims.append(ids)
        return {
            "name": f"greedy, {name}",
            "likelihoods": [likelihoods for likelihoods, _ in responses],
            "similarities": [similarities for _, similarities in responses],
            "claims": claims,
            "kind": "list",
            "single": more.get("dtype") == "float32",
        }

    def sampled(name, sizes, lengths=(1, 9), depth=3.0, dtype="float64", sentences="float64", ts=(0.001,), **more):
        likelihoods, similarities, probabilities, matrices = [], [], [], []
        for size in sizes:
            drawn = [tokens(generator.integers(lengths[0], lengths[1] + 1), dtype, depth, **more) for _ in range(size)]
            likelihoods.append([item for item, _ in drawn])
            similarities.append([item for _, item in drawn])
            probabilities.append([float(max(sum(item), -600.0)) for item, _ in drawn])
            matrices.append(generator.random((size, size)).astype(sentences))
        stats = dict(zip(SAMPLED, (likelihoods, similarities, probabilities, matrices), strict=True))
        single = dtype == "float32"
        return {
            "name": f"sampled, {name}",
            "stats": stats,
            "ts": list(ts),
            "layout": "rows",
            "kind": "list",
            "single": single,
        }

    yield greedy("a few responses", (5, 1, 8, 3))
    yield greedy("one response", (6,))
    yield greedy("one token", (1,))
    yield greedy("one token each", (1, 1, 1))
    yield greedy("no response", ())
    yield greedy("responses without tokens", (0, 4, 0))
    yield greedy("many tokens", (200, 150))
    yield greedy("many questions", tuple(generator.integers(1, 12, size=50).tolist()))
    yield greedy("unlikely tokens", (7, 9), depth=60.0)
    yield greedy("likely tokens", (7, 9), depth=1e-3)
    yield greedy("little relevance", (6, 40), low=0.98, high=0.9999)
    given = greedy("the least relevance", (6, 2))
    given["similarities"] = [np.full(6, 1 - 0.0101 / 6), np.array([1.0, 0.9899])]
    yield given
    yield greedy("great relevance", (6, 5), high=0.02)
    yield greedy("arrays", (4, 6)) | {"kind": "array"}
    for length in (1, 7, 60):
        yield greedy(f"single precision, {length}", (length, 3), dtype="float32")
    given = greedy("similarities of 0 and 1", (6, 5))
    given["similarities"] = [np.array([1.0, 0, 1, 1, 0, 0]), np.array([1.0, 1, 1, 1, 0])]
    yield given
    given = greedy("tokens that are sure", (5, 3))
    given["likelihoods"] = [[0.0, -1.0, 0.0, -2.5, 0.0], [0.0, 0.0, 0.0]]
    yield given
    given = greedy("claims of all kinds", (6, 4, 5))
    given["claims"] = [[[0], [5], [0, 1, 2, 3, 4, 5], [3, 3, 3], [4, 0, 2]], [], [[4, 1], [1, 4], [2]]]
    yield given
    for kind in ("strided", "locked"):
        yield greedy(f"numbers that are {kind}", (6, 5)) | {"kind": kind}

    yield sampled("a few questions", (4, 4, 4))
    yield sampled("of different numbers", (3, 7, 2, 1))
    yield sampled("one question", (5,))
    yield sampled("one response", (1,))
    yield sampled("one response each", (1, 1))
    yield sampled("two responses", (2,))
    yield sampled("no question", ())
    yield sampled("many responses", (30, 30), lengths=(1, 6))
    yield sampled("without tokens", (4, 3), lengths=(0, 2))
    yield sampled("long responses", (5, 4), lengths=(60, 90), depth=4.0)
    yield sampled("very unlikely", (5, 4), lengths=(30, 40), depth=40.0)
    yield sampled("very likely", (5, 4), depth=1e-4)
    yield sampled("little relevance", (5, 4), low=0.98, high=0.9999)
    yield sampled("arrays", (4, 4)) | {"kind": "array"}
    yield sampled("arrays that are locked", (4, 3)) | {"kind": "locked", "layout": "locked"}
    yield sampled("single precision of tokens", (4, 6), dtype="float32")
    # So unlikely that nothing of them is left in single precision.
    given = sampled("single precision of unlikely tokens", (3, 2), dtype="float32", ts=(1e-6, 10.0))
    given["stats"][SAMPLED[0]] = [[[-100.0] * len(item) for item in row] for row in given["stats"][SAMPLED[0]]]
    for matrix in given["stats"][SAMPLED[3]]:
        matrix[:] = 0.01
    yield given
    yield sampled("single precision of responses", (4, 6), sentences="float32")
    yield sampled("single precision of both", (4, 4), dtype="float32", sentences="float32")
    for t in (1e-6, 0.02, 0.5, 1.0, 10.0):
        yield sampled(f"t of {t}", (4, 5), ts=(t,))
    yield sampled("t that changes", (4, 5), ts=(0.001, 1.0, 1e-5, 3, 0.001))
    for name, fill in (("nothing in common", 0.0), ("all in common", 1.0)):
        given = sampled(name, (5, 3), ts=(0.001, 2.0))
        for matrix in given["stats"][SAMPLED[3]]:
            matrix[:] = fill
        yield given
    given = sampled("diagonals of 0, of 1 and between", (5, 5, 5), ts=(0.001, 5.0))
    for place, matrix in enumerate(given["stats"][SAMPLED[3]]):
        np.fill_diagonal(matrix, (0.0, 1.0, 0.4)[place])
    yield given
    # One response is likely, and similar to the others in one direction alone.
    given = sampled("one way", (4,), depth=8.0)
    given["stats"][SAMPLED[3]][0][:] = np.triu(np.full((4, 4), 0.7), 1)
    yield given
    given = sampled("at the ends of the range", (4, 3))
    given["stats"][SAMPLED[2]] = [[0.0, -600.0, -300.0, -1e-9], [-600.0, -600.0, -599.0]]
    yield given
    given = sampled("nothing in common, at the ends of the range", (3,))
    given["stats"][SAMPLED[2]] = [[-600.0, -1e-12, 0.0]]
    given["stats"][SAMPLED[3]][0][:] = np.eye(3)
    yield given
    for layout in ("stacked", "columns", "transposed", "strided", "reversed"):
        yield sampled(f"laid out {layout}", (4, 4, 4)) | {"layout": layout}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    settings = np.geterr()
    observed = _greedy(case) if "claims" in case else _sampled(case)
    facts = [*observed[1], np.geterr() == settings]
    return {("single" if case["single"] else "observed"): observed[0], "facts": facts}


def _greedy(case):
    from lm_polygraph.estimators.claim.token_sar import TokenSARClaim
    from lm_polygraph.estimators.token_sar import TokenSAR, token_level_sar_scores

    numbers = {"greedy_log_likelihoods": [_as(case["kind"], item) for item in case["likelihoods"]]}
    similarities = [_similarities(case["kind"], item) for item in case["similarities"]]
    stats = {**numbers, "token_similarity": similarities}
    claims = [[SimpleNamespace(aligned_token_ids=list(ids)) for ids in row] for row in case["claims"]]
    before = _copied(stats)
    estimator, by_claim = TokenSAR(), TokenSARClaim()
    kept = [dict(vars(estimator)), dict(vars(by_claim))]
    found, facts = [], []
    for_claims = {**stats, "claims": claims}
    for _ in range(2):
        scores = token_level_sar_scores(stats)
        sums = estimator(stats)
        claimed = by_claim(for_claims)
        found.append(
            [[np.array(item) for item in scores], np.array(sums), [[float(x) for x in row] for row in claimed]]
        )
        facts.append(
            [isinstance(scores, list), isinstance(claimed, list), all(isinstance(row, list) for row in claimed)]
        )
        facts[-1] += [[list(np.shape(item)) for item in scores], str(sums.dtype), list(sums.shape)]
        facts[-1] += [all(isinstance(item, np.ndarray) for item in scores), [len(row) for row in claimed]]
        facts[-1] += [all(isinstance(x, float | np.floating) for row in claimed for x in row)]
        # What is done to a result shows in no later one.
        for item in (*scores, sums):
            item[...] = 7
    first = [estimator(stats), *token_level_sar_scores(stats)]
    # Other questions with the same objects, the last ones first.
    turned = {name: items[::-1] for name, items in stats.items()}
    found.append(
        [np.array(estimator(turned)), [[float(x) for x in row] for row in by_claim({**turned, "claims": claims[::-1]})]]
    )
    found.append([np.array(item) for item in first])
    # The same dictionary, whose arrays hold other numbers, in calls that follow each other.
    changed = {**stats, "token_similarity": [item.copy() for item in similarities], "claims": claims}
    for measure in (token_level_sar_scores, estimator, by_claim):
        measure(changed)
        for item in changed["token_similarity"]:
            item[:] = item[::-1].copy()
        found.append([[float(x) for x in np.atleast_1d(row)] for row in measure(changed)])
    facts.append([for_claims.pop("claims") is claims, _same(for_claims, before)])
    facts.append(
        [_same(stats, before), [[claim.aligned_token_ids for claim in row] for row in claims] == case["claims"]]
    )
    facts[-1] += [[vars(claim) == {"aligned_token_ids": claim.aligned_token_ids} for claim in row] for row in claims]
    facts.append([vars(estimator) == kept[0], vars(by_claim) == kept[1]])
    return found, facts


def _sampled(case):
    from lm_polygraph.estimators.sar import SAR
    from lm_polygraph.estimators.sentence_sar import SentenceSAR

    likelihoods, similarities, probabilities, matrices = (case["stats"][key] for key in SAMPLED)
    kind = case["kind"]
    stats = {
        SAMPLED[0]: [[_as(kind, item) for item in row] for row in likelihoods],
        SAMPLED[1]: [[_similarities(kind, item) for item in row] for row in similarities],
        SAMPLED[2]: [_as(kind, row) for row in probabilities],
        SAMPLED[3]: _laid_out(matrices, case["layout"]),
    }
    before = _copied(stats)
    estimators = (SentenceSAR(), SAR())
    needed = (SAMPLED[2:], (SAMPLED[0], SAMPLED[1], SAMPLED[3]))
    found, facts = [[estimator.t for estimator in estimators]], []
    for t in case["ts"]:
        for estimator, keys in zip(estimators, needed, strict=True):
            # The number that is there from the beginning is not set again.
            if estimator.t != t:
                estimator.t = t
            kept = dict(vars(estimator))
            given = {key: stats[key] for key in keys}
            first = estimator(given)
            for _ in range(2):
                result = estimator(given)
                found.append(np.array(result))
                facts.append([isinstance(result, np.ndarray), str(result.dtype), list(result.shape)])
                result[...] = 7
            found.append(np.array(estimator({key: stats[key][::-1] for key in keys})))
            facts.append([vars(estimator) == kept, _same(given, {key: before[key] for key in keys})])
            found.append(np.array(first))
            # The same dictionary, whose matrices hold other numbers, in calls that follow each other.
            changed = {**given, SAMPLED[3]: [matrix.copy() for matrix in given[SAMPLED[3]]]}
            estimator(changed)
            for matrix in changed[SAMPLED[3]]:
                matrix[:] = matrix.T.copy()
            found.append(np.array(estimator(changed)))
    facts.append(_same(stats, before))
    return found, facts


def _as(kind, numbers):
    return list(numbers) if kind == "list" else _array(kind, np.array(numbers, dtype=np.float64))


def _similarities(kind, numbers):
    return _array(kind, numbers) if kind in ("strided", "locked") else numbers.copy()


def _array(kind, numbers):
    if kind == "locked":
        return _locked(numbers.copy())
    return np.repeat(numbers, 2)[::2]


def _locked(array):
    array.flags.writeable = False
    return array


def _copied(item):
    if isinstance(item, dict):
        return {name: _copied(inner) for name, inner in item.items()}
    return [_copied(inner) for inner in item] if isinstance(item, list) else np.array(item)


def _same(item, other):
    if isinstance(item, dict):
        return list(item) == list(other) and all(_same(inner, other[name]) for name, inner in item.items())
    if isinstance(item, list):
        return len(item) == len(other) and all(_same(inner, outer) for inner, outer in zip(item, other, strict=True))
    return bool(np.array_equal(item, other))


def _laid_out(matrices, layout):
    matrices = [matrix.copy() for matrix in matrices]
    if layout == "rows":
        return matrices
    if layout == "locked":
        return [_locked(matrix) for matrix in matrices]
    stacked = np.stack(matrices)
    if layout == "columns":
        return np.asfortranarray(stacked)
    if layout == "transposed":
        return np.ascontiguousarray(stacked.transpose(0, 2, 1)).transpose(0, 2, 1)
    if layout == "strided":
        return np.repeat(stacked, 2, axis=2)[:, :, ::2]
    if layout == "reversed":
        return stacked[:, ::-1, ::-1].copy()[:, ::-1, ::-1]
    return stacked
