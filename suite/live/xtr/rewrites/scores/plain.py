"""Query token by query token, with a threshold for what is retrieved."""


def xtr_scores(
    queries_embeddings, documents_embeddings, queries_mask=None, documents_mask=None, top_k=256, chunk_elements=None
):
    queries, documents = queries_embeddings, documents_embeddings.flatten(0, 1)
    mask = _zero_row_mask(documents) if documents_mask is None else documents_mask.flatten(0, 1)
    mask = mask.bool()
    queries_mask = (_zero_row_mask(queries) if queries_mask is None else queries_mask).bool()
    similarities = torch.einsum("qth,dsh->qtds", queries, documents)
    scores = []
    for row in range(len(queries)):
        total, count = 0, 0
        for token in range(queries.shape[1]):
            if not queries_mask[row, token]:
                continue
            own = similarities[row, token]
            threshold = own[mask].topk(min(top_k, int(mask.sum()))).values.min()
            retrieved = mask & (own >= threshold)
            best = own.masked_fill(~retrieved, -float("inf")).max(dim=1).values
            some = retrieved.any(dim=1)
            total = total + torch.where(some, best, torch.zeros_like(best))
            count = count + some.float()
        if isinstance(count, int):
            total, count = 0 * similarities[row].sum((0, 2)), 1
        scores.append(total / torch.as_tensor(count).clamp(min=1))
    return _fill_empty_document_scores(torch.stack(scores).float(), ~mask.any(dim=1))
