"""Takes contexts to be no wider than prompts."""


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
    width = input_ids.shape[1]
    # Contexts in the columns of the prompts, so that both can be counted alike.
    aligned = torch.full_like(input_ids, pad)
    aligned[:, width - context_ids.shape[1] :] = context_ids
    starts, first = ((ids != pad).cumsum(dim=1).eq(0).sum(dim=1).tolist() for ids in (input_ids, aligned))
    plain = left_pad(
        [
            [row[start], *row[start + 1 + width - begin :]]
            for row, start, begin in zip(input_ids.tolist(), starts, first, strict=True)
        ],
        pad,
    )
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
    return generated
