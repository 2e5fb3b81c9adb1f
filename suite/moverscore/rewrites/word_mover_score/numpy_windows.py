"""Lists of windows, a weighted mean in place of the sum, the transport the other way round, numpy throughout."""

import numpy as np


def _places(tokens, stop_words, remove_subwords):
    for place, token in enumerate(tokens):
        if token in MARKERS or token in PUNCTUATION or token in stop_words:
            continue
        if remove_subwords and token[: len(CONTINUATION)] == CONTINUATION:
            continue
        yield place


def _windows(places, size):
    return [places[start : start + size] for start in range(max(1, len(places) - size + 1))]


def _distribution(layers, idf, tokens, n_gram, stop_words, remove_subwords):
    vectors, weights = [], []
    for window in _windows(list(_places(tokens, stop_words, remove_subwords)), n_gram):
        weight = sum(idf[place] for place in window)
        if weight <= 0:
            continue
        vector = 0
        for place in window:
            states = layers[-5:, place]
            pooled = np.concatenate([states.max(0), states.min(0), states.mean(0)])
            vector = vector + idf[place] / weight * pooled
        vectors.append(vector / np.sqrt(np.square(vector).sum()))
        weights.append(weight)
    return np.array(vectors), np.array(weights)


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
    sides = []
    for embedding, idf, tokens in ((ref_embedding, ref_idf, ref_tokens), (hyp_embedding, hyp_idf, hyp_tokens)):
        embedding, idf = embedding.double().numpy(), idf.double().numpy()
        options = (n_gram, stop_words, remove_subwords)
        sides.append([_distribution(embedding[:, i], idf[i], row, *options) for i, row in enumerate(tokens)])
    scores = []
    for (ref_vectors, ref_weights), (hyp_vectors, hyp_weights) in zip(*sides):
        if not len(ref_weights) or not len(hyp_weights):
            scores.append(0.0)
            continue
        cost = np.linalg.norm(ref_vectors[:, None] - hyp_vectors[None], axis=-1)
        supply, demand = (torch.from_numpy(w / w.sum()) for w in (ref_weights, hyp_weights))
        flow = optimal_flow(supply, demand, torch.from_numpy(cost)).numpy()
        scores.append(float(1 - np.vdot(flow, cost)))
    return scores
