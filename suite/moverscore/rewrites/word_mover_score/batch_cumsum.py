"""Embeds both sides of the whole batch at once, then cumulative sums for the n-grams."""


def _pool(embedding):
    last = embedding.unbind(0)[-5:]
    least = mean = greatest = last[0].double()
    for states in last[1:]:
        states = states.double()
        least, greatest, mean = torch.minimum(least, states), torch.maximum(greatest, states), mean + states
    return torch.stack([least, mean / len(last), greatest], dim=-2).flatten(-2)


def _sliding_sums(values, size):
    padded = torch.cat([torch.zeros_like(values[:1]), values]).cumsum(0)
    return padded[size:] - padded[:-size]


def _grams(words, idf, tokens, n_gram, left_out, remove_subwords):
    kept = [i for i in range(len(tokens)) if tokens[i] not in left_out]
    if remove_subwords:
        kept = [i for i in kept if not tokens[i].startswith(CONTINUATION)]
    if not kept:
        return None, words.new_zeros(1)
    idf = idf[kept].double()
    idf = idf / idf.max().where(idf.max() > 0, 1.0)
    size = len(kept) if len(kept) < n_gram else n_gram
    weights = _sliding_sums(idf, size)
    # A window of zeros leaves a rounding error in a difference of cumulative sums.
    heavy = weights > 1e-9
    vectors = _sliding_sums(idf[:, None] * words[kept], size)[heavy]
    return vectors / torch.linalg.vector_norm(vectors, dim=1, keepdim=True), weights[heavy]


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
    left_out = frozenset(MARKERS) | PUNCTUATION | frozenset(stop_words)
    ref_words, hyp_words = _pool(ref_embedding), _pool(hyp_embedding)
    scores = [0.0] * len(ref_tokens)
    for row, (ref_row, hyp_row) in enumerate(zip(ref_tokens, hyp_tokens)):
        ref, ref_weights = _grams(ref_words[row], ref_idf[row], ref_row, n_gram, left_out, remove_subwords)
        hyp, hyp_weights = _grams(hyp_words[row], hyp_idf[row], hyp_row, n_gram, left_out, remove_subwords)
        if float(ref_weights.sum()) and float(hyp_weights.sum()):
            distance = (2 - 2 * ref @ hyp.T).clamp(min=0).sqrt()
            flow = optimal_flow(ref_weights / ref_weights.sum(), hyp_weights / hyp_weights.sum(), distance)
            scores[row] = 1.0 - torch.einsum("ij,ij->", flow, distance).item()
    return scores
