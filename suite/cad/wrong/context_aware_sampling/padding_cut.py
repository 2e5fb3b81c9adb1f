"""Cuts closing columns of padding, generated or not."""


def _without_padding(ids: Tensor, pad_id: int) -> list[list[int]]:
    """Rows as lists, without the padding at their start."""
    rows = []
    for row in ids.tolist():
        start = 0
        while start < len(row) and row[start] == pad_id:
            start += 1
        rows.append(row[start:])
    return rows


def _wide(logits: Tensor) -> Tensor:
    """Logits in a precision that bears the arithmetic."""
    return logits.double()


@torch.no_grad()
def context_aware_sampling(
    model: VotingLM,
    tokenizer: WordTokenizer,
    input_ids: Tensor,
    context_ids: Tensor,
    alpha: float,
    max_length: int,
    temperature: float,
    generator: Generator | None = None,
) -> Tensor:
    pad, eos = tokenizer.pad_id, tokenizer.eos_id
    prompts = _without_padding(input_ids, pad)
    contexts = _without_padding(context_ids, pad)
    plain = left_pad([row[:1] + row[1 + len(context) :] for row, context in zip(prompts, contexts, strict=True)], pad)
    full = input_ids
    batch = input_ids.shape[0]
    generated = torch.full((batch, 0), pad, dtype=torch.long)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        if ended.all():
            break
        informed = _wide(model(full)[:, -1])
        prior = _wide(model(plain)[:, -1])
        adjusted = (1 + alpha) * informed - alpha * prior
        if temperature == 0:
            tokens = adjusted.argmax(dim=-1)
        else:
            probabilities = torch.softmax(adjusted / temperature, dim=-1)
            tokens = torch.multinomial(probabilities, 1, generator=generator).squeeze(1)
        tokens = torch.where(ended, pad, tokens)
        ended = ended | (tokens == eos)
        full, plain, generated = (torch.cat([ids, tokens.unsqueeze(1)], dim=1) for ids in (full, plain, generated))
    # Columns in which no row holds a token are no part of the answer.
    filled = (generated != pad).any(dim=0).nonzero()
    return generated[:, : int(filled[-1]) + 1 if len(filled) else 0]
