"""The formulas of the paper in the precision of the inputs."""


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
    left_out = {*MARKERS, *PUNCTUATION, *stop_words}

    def n_grams(embedding, idf, tokens):
        kept = [
            place
            for place, token in enumerate(tokens)
            if token not in left_out and not (remove_subwords and token.startswith(CONTINUATION))
        ]
        layers, idf = embedding[-5:, kept], idf[kept]
        words = torch.cat([layers.amin(0), layers.mean(0), layers.amax(0)], dim=-1) * idf[:, None]
        size = min(n_gram, len(kept))
        starts = range(len(kept) - size + 1)
        vectors = torch.stack([words[start : start + size].sum(0) for start in starts])
        weights = torch.stack([idf[start : start + size].sum() for start in starts])
        return F.normalize(vectors, dim=-1), weights / weights.sum()

    scores = []
    for row, (ref, hyp) in enumerate(zip(ref_tokens, hyp_tokens)):
        ref_vectors, ref_weights = n_grams(ref_embedding[:, row], ref_idf[row], ref)
        hyp_vectors, hyp_weights = n_grams(hyp_embedding[:, row], hyp_idf[row], hyp)
        cost = (hyp_vectors[:, None] - ref_vectors).norm(dim=-1)
        scores.append(1 - float((cost * optimal_flow(hyp_weights, ref_weights, cost)).sum()))
    return scores
