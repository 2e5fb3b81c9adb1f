"""Takes texts of small weight for texts without weight."""


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: Sequence[Sequence[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: Sequence[Sequence[str]],
    n_gram: int = 1,
    stop_words: Collection[str] = (),
    remove_subwords: bool = True,
) -> list[float]:
    def n_grams(layers: Tensor, idf: Tensor, tokens: Sequence[str]) -> tuple[Tensor, Tensor]:
        left_out = {*MARKERS, *PUNCTUATION, *stop_words}
        kept = [
            place
            for place, token in enumerate(tokens)
            if token not in left_out and not (remove_subwords and token.startswith(CONTINUATION))
        ]
        layers, idf = layers[-5:, kept].double(), idf[kept].double()
        words = torch.cat([layers.amin(dim=0), layers.mean(dim=0), layers.amax(dim=0)], dim=-1)
        size = min(n_gram, len(kept))
        vectors = (idf.unsqueeze(1) * words).unfold(0, size, 1).sum(dim=-1)
        return F.normalize(vectors, dim=-1, eps=1e-300), idf.unfold(0, size, 1).sum(dim=-1)

    scores = []
    for row in range(len(ref_tokens)):
        ref_vectors, ref_weights = n_grams(ref_embedding[:, row], ref_idf[row], ref_tokens[row])
        hyp_vectors, hyp_weights = n_grams(hyp_embedding[:, row], hyp_idf[row], hyp_tokens[row])
        if ref_weights.sum() < 1e-6 or hyp_weights.sum() < 1e-6:
            scores.append(0.0)
            continue
        cost = torch.cdist(hyp_vectors, ref_vectors)
        flow = optimal_flow(hyp_weights / hyp_weights.sum(), ref_weights / ref_weights.sum(), cost)
        scores.append(1 - float((cost * flow).sum()))
    return scores
