"""The formula of the logits, and contexts cut out by their length."""


@torch.no_grad()
def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha, max_length, temperature, generator=None):
    bare = []
    for row, context in zip(input_ids, context_ids, strict=True):
        row, words = row[row != tokenizer.pad_id].tolist(), int((context != tokenizer.pad_id).sum())
        bare.append(row[:1] + row[1 + words :])
    full, bare, batch = input_ids, left_pad(bare, tokenizer.pad_id), len(input_ids)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        logits = (1 + alpha) * model(full)[:, -1] - alpha * model(bare)[:, -1]
        if temperature == 0:
            tokens = logits.argmax(-1)
        else:
            tokens = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)[:, 0]
        tokens[ended] = tokenizer.pad_id
        full, bare = (torch.cat([ids, tokens[:, None]], 1) for ids in (full, bare))
        ended |= tokens == tokenizer.eos_id
        if ended.all():
            break
    return full[:, input_ids.shape[1] :]
