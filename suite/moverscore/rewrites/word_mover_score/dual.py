"""The dual programme in place of the primal: potentials of origins and destinations, by an interior point method."""

import numpy as np
from scipy.optimize import linprog


def _side(layers, idf, tokens, n_gram, stop_words, remove_subwords):
    dropped = set(MARKERS) | set(PUNCTUATION) | set(stop_words)
    mask = torch.tensor(
        [t not in dropped and not (remove_subwords and t.startswith(CONTINUATION)) for t in tokens], dtype=torch.bool
    )
    layers, idf = layers[:, : len(tokens)][:, mask].double(), idf[: len(tokens)][mask].double()
    layers = layers[max(0, len(layers) - 5) :]
    count = len(idf)
    grams = max(1, count - n_gram + 1)
    offset = torch.arange(count)[None] - torch.arange(grams)[:, None]
    membership = ((offset >= 0) & (offset < n_gram)).double()
    pooled = torch.cat([layers.max(0).values, layers.sum(0) / len(layers), -(-layers).max(0).values], 1)
    vectors = torch.einsum("gw,w,wd->gd", membership, idf, pooled)
    lengths = vectors.norm(dim=1, keepdim=True)
    return (vectors / lengths.where(lengths > 0, 1.0)).numpy(), (membership @ idf).numpy()


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
    scores = []
    for row in range(len(ref_tokens)):
        a, supply = _side(ref_embedding[:, row], ref_idf[row], ref_tokens[row], n_gram, stop_words, remove_subwords)
        b, demand = _side(hyp_embedding[:, row], hyp_idf[row], hyp_tokens[row], n_gram, stop_words, remove_subwords)
        if not supply.any() or not demand.any():
            scores.append(0.0)
            continue
        supply, demand = supply / supply.sum(), demand / demand.sum()
        cost = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
        n, m = cost.shape
        # Potentials u, v with u_i + v_j <= C_ij; their value at the best is the least cost. u_0 is fixed at 0.
        constraints = np.hstack([np.kron(np.eye(n), np.ones((m, 1))), np.kron(np.ones((n, 1)), np.eye(m))])
        bounds = [(0, 0)] + [(None, None)] * (n + m - 1)
        dual = linprog(
            -np.concatenate([supply, demand]), A_ub=constraints, b_ub=cost.ravel(), bounds=bounds, method="highs-ipm"
        )
        scores.append(float(1 + dual.fun))
    return scores
