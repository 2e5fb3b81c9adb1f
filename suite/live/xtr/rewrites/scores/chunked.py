"""Chunks of documents always, and the smallest retrieved similarity as a threshold for each query token."""


def xtr_scores(
    queries_embeddings, documents_embeddings, queries_mask=None, documents_mask=None, top_k=256, chunk_elements=None
):
    if isinstance(top_k, bool):
        raise ValueError("top_k is a boolean")
    if top_k <= 0:
        raise ValueError("top_k must be above 0")
    queries, documents = _convert_to_tensor(queries_embeddings), _convert_to_tensor(documents_embeddings)
    queries = queries + 0.0 if queries.is_floating_point() else queries.float()
    documents = documents + 0.0 if documents.is_floating_point() else documents.float()
    documents = documents.reshape(-1, *documents.shape[2:])
    count, tokens, width = documents.shape
    real = _zero_row_mask(documents) if documents_mask is None else documents_mask.reshape(count, tokens)
    asked = _zero_row_mask(queries) if queries_mask is None else queries_mask
    real, asked = real.bool(), asked.bool()
    budget = chunk_elements or 40
    parts = []
    for start, end in _chunk_ranges([tokens] * count, queries.shape[0] * queries.shape[1] + width, budget):
        part = torch.einsum("qth,dsh->qtds", queries, documents[start:end])
        parts.append(part.masked_fill(~real[start:end], torch.finfo(part.dtype).min))
    similarities = torch.cat(parts, dim=2)
    number = min(top_k, count * tokens)
    threshold = similarities.detach().flatten(2).topk(number).values[..., -1]
    retrieved = (similarities >= threshold[..., None, None]) & real
    best = torch.where(retrieved, similarities, torch.finfo(similarities.dtype).min).amax(-1).float()
    some = retrieved.any(-1) & asked[:, :, None]
    total = torch.where(some, best, torch.zeros_like(best)).sum(1)
    return _fill_empty_document_scores(total / some.sum(1).clamp(min=1), ~real.any(1))
