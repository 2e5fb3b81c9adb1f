"""Lists of windows in numpy; the flow from the prices of the dual programme."""

import numpy as np
from scipy.optimize import linprog


class WordPieceTokenizer:
    def _split(self, word, mark=""):
        for end in range(len(word), 0, -1):
            if mark + word[:end] in self.vocabulary:
                return [mark + word[:end], *self._split(word[end:], CONTINUATION)]
        return []


class IdfWeights:
    def __init__(self, texts):
        self.sets = [frozenset(tokens) for tokens in texts]
        self.found = {}

    def __call__(self, token):
        if token not in self.found:
            share = (1 + sum(token in tokens for tokens in self.sets)) / (1 + len(self.sets))
            self.found[token] = -math.log(share)
        return self.found[token]


def collate(sentences, encoder, weight):
    states, length = encoder.encode(list(sentences)), max(len(tokens) for tokens in sentences)
    idf = states.new_zeros(len(sentences), length)
    for row, tokens in enumerate(sentences):
        for place, token in enumerate(tokens):
            idf[row, place] = weight(token)
    return Batch(states, idf, list(sentences))


def optimal_flow(supply, demand, cost):
    if abs(float(supply.sum() - demand.sum())) > 1e-5:
        raise ValueError("totals differ")
    demand = demand * float(supply.sum()) / float(demand.sum())
    n, m = cost.shape
    # Prices u, v with u_i + v_j <= C_ij, u_0 = 0: how much each of these bounds costs is what flows there.
    bounded = np.hstack([np.kron(np.eye(n), np.ones((m, 1))), np.kron(np.ones((n, 1)), np.eye(m))])
    found = linprog(
        -np.concatenate([supply.numpy(), demand.numpy()]),
        A_ub=bounded,
        b_ub=cost.numpy().ravel(),
        bounds=[(0, 0)] + [(None, None)] * (n + m - 1),
        method="highs-ds",
    )
    return torch.from_numpy(-found.ineqlin.marginals.copy()).reshape(n, m).clamp(min=0.0)


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


def score_texts(references, hypotheses, tokenizer, encoder, config, static=False):
    ref_tokens, hyp_tokens = (list(map(tokenizer.tokenize, texts)) for texts in (references, hypotheses))
    ref_weight, hyp_weight = IdfWeights(ref_tokens), IdfWeights(hyp_tokens)
    scores = []
    for pair in zip(ref_tokens, hyp_tokens, strict=True):
        inputs = []
        for tokens, weight in zip(pair, (ref_weight, hyp_weight), strict=True):
            embedding, idf, kept = collate([tokens], encoder, weight)
            inputs += [embedding[:1] if static else embedding, idf, kept]
        scores += word_mover_score(*inputs, config.n_gram, config.stop_words, config.remove_subwords)
    return scores


def pearson(scores, judgements):
    count = len(scores)
    means = sum(scores) / count, sum(judgements) / count
    pairs = [(one - means[0], other - means[1]) for one, other in zip(scores, judgements, strict=True)]
    squares = sum(one * one for one, _ in pairs) * sum(other * other for _, other in pairs)
    return sum(one * other for one, other in pairs) / squares**0.5
