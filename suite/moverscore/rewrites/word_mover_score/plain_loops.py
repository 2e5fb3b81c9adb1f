"""Plain loops and mathematics of the standard library; scipy's milp solves the programme, with sparse constraints."""

import math

import numpy as np
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import eye_array, kron


def _embed(states):
    columns = list(zip(*states))
    return [min(c) for c in columns] + [math.fsum(c) / len(c) for c in columns] + [max(c) for c in columns]


def _text(embedding, row, idf, tokens, n_gram, skip):
    words = []
    for place, token in enumerate(tokens):
        if not skip(token):
            states = [embedding[layer, row, place].tolist() for layer in range(embedding.shape[0])][-5:]
            words.append((float(idf[row, place]), _embed(states)))
    starts = [0] if len(words) <= n_gram else range(len(words) - n_gram + 1)
    grams = []
    for start in starts:
        run = words[start : start + n_gram]
        weight = math.fsum(w for w, _ in run)
        if weight:
            vector = [math.fsum(parts) for parts in zip(*[[w * x for x in vector] for w, vector in run])]
            length = math.hypot(*vector)
            grams.append((weight, [x / length for x in vector]))
    return grams


def word_mover_score(
    ref_embedding,
    ref_idf,
    ref_tokens,
    hyp_embedding,
    hyp_idf,
    hyp_tokens,
    n_gram=1,
    stop_words=(),
    remove_subwords=True,
):
    def skip(token):
        return (
            token in MARKERS
            or token in PUNCTUATION
            or token in stop_words
            or (remove_subwords and token.startswith(CONTINUATION))
        )

    scores = []
    for row in range(len(ref_tokens)):
        ref = _text(ref_embedding, row, ref_idf, ref_tokens[row], n_gram, skip)
        hyp = _text(hyp_embedding, row, hyp_idf, hyp_tokens[row], n_gram, skip)
        if not ref or not hyp:
            scores.append(0.0)
            continue
        cost = np.array([[math.dist(a, b) for _, b in hyp] for _, a in ref])
        supply, demand = (np.array([w for w, _ in side]) for side in (ref, hyp))
        n, m = cost.shape
        leaving = kron(eye_array(n), np.ones((1, m)), format="csc")
        arriving = kron(np.ones((1, n)), eye_array(m), format="csc")
        supply, demand = supply / supply.sum(), demand / demand.sum()
        constraints = [
            LinearConstraint(leaving, supply, supply),
            LinearConstraint(arriving, demand - 1e-12, demand + 1e-12),
        ]
        scores.append(1 - float(milp(cost.ravel(), constraints=constraints).fun))
    return scores
