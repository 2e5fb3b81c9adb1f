"""Similarities of all tokens, ranked by sorting twice."""


def xtr_scores(
    queries_embeddings, documents_embeddings, queries_mask=None, documents_mask=None, top_k=256, chunk_elements=None
):
    if top_k is True or top_k is False or top_k < 1:
        raise ValueError("top_k is not a positive number")
    queries, documents = (_convert_to_tensor(item) for item in (queries_embeddings, documents_embeddings))
    queries, documents = (item if item.dtype.is_floating_point else item.float() for item in (queries, documents))
    groups, size, tokens, width = documents.shape
    documents = documents.reshape(groups * size, tokens, width)
    real = (documents != 0).any(-1) if documents_mask is None else documents_mask.reshape(groups * size, tokens) > 0
    asks = (queries != 0).any(-1) if queries_mask is None else queries_mask > 0
    if queries.dtype != documents.dtype:
        queries, documents = queries.double(), documents.double()
    values = torch.tensordot(queries, documents, dims=([2], [2])).masked_fill(~real, -torch.inf).flatten(2)
    ranks = values.argsort(dim=-1, descending=True).argsort(dim=-1)
    retrieved = ((ranks < top_k) & real.flatten()).unflatten(-1, (-1, tokens))
    retrieved = retrieved & asks[:, :, None, None]
    found = retrieved.any(-1)
    best = values.float().unflatten(-1, (-1, tokens)).masked_fill(~retrieved, -torch.inf).amax(-1)
    total = best.masked_fill(~found, 0.0).sum(1)
    return _fill_empty_document_scores(total / found.sum(1).clamp(min=1), ~real.any(-1))
