"""One step after the other, without any chunk."""


def delta_rule_chunkwise(q, k, v, beta, chunk_size=32):
    assert k.shape[2] % chunk_size == 0
    memory = k.new_zeros(*k.shape[:2], k.shape[3], v.shape[3])
    outputs = []
    for query, key, value, strength in zip(*(item.unbind(2) for item in (q, k, v, beta))):
        error = value - torch.einsum("bhk,bhkv->bhv", key, memory)
        memory = memory + torch.einsum("bh,bhk,bhv->bhkv", strength, key, error)
        outputs.append(torch.einsum("bhk,bhkv->bhv", query, memory))
    return torch.stack(outputs, dim=2) / k.shape[3] ** 0.5, memory
