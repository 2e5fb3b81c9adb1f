"""Padding is removed first; the tokens that are left know their documents."""


def xtr_scores(
    queries_embeddings, documents_embeddings, queries_mask=None, documents_mask=None, top_k=256, chunk_elements=None
):
    if isinstance(top_k, bool) or not top_k > 0:
        raise ValueError(f"top_k is {top_k}")
    queries = _convert_to_tensor(queries_embeddings)
    documents = _convert_to_tensor(documents_embeddings).flatten(0, 1)
    if not queries.is_floating_point():
        queries = queries.to(torch.float32)
    if not documents.is_floating_point():
        documents = documents.to(torch.float32)
    mask = (documents_mask.flatten(0, 1) if documents_mask is not None else _zero_row_mask(documents)).bool()
    asked = (queries_mask if queries_mask is not None else _zero_row_mask(queries)).bool()
    owner = torch.arange(len(documents))[:, None].expand(mask.shape)[mask]
    tokens, total = documents[mask], torch.zeros(len(queries), len(documents))
    count = torch.zeros(len(queries), len(documents))
    for row, query in enumerate(queries):
        similarities = query[asked[row]] @ tokens.T
        if not similarities.numel():
            total = total + 0.0 * query.sum().float()
            continue
        values, places = similarities.topk(min(top_k, len(tokens)), dim=1)
        for some, of in zip(values.float(), owner[places]):
            best = torch.full((len(documents),), -torch.inf).scatter_reduce(0, of, some, "amax")
            found = torch.isfinite(best)
            total = total.index_put((torch.tensor(row), found.nonzero()[:, 0]), best[found], accumulate=True)
            count[row] += found
    return _fill_empty_document_scores(total / count.clamp(min=1), ~mask.any(1))
