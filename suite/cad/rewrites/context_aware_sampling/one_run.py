"""Runs both halves as one batch of twice the size, with the context blanked out by padding."""


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
    position = (input_ids != tokenizer.pad_id).cumsum(dim=1)
    words = (context_ids != tokenizer.pad_id).sum(dim=1, keepdim=True)
    in_context = (position > 1) & (position <= 1 + words)
    ids = torch.cat([input_ids, input_ids.masked_fill(in_context, tokenizer.pad_id)])
    batch, start = input_ids.shape
    open_rows = torch.ones(batch, dtype=torch.bool)
    for _ in range(max_length):
        if not open_rows.any():
            break
        conditioned, prior = model(ids)[:, -1].double().split(batch)
        scores = torch.lerp(prior, conditioned, 1 + alpha)
        if temperature > 0:
            weights = torch.exp(torch.log_softmax(scores / temperature, dim=-1))
            token = torch.multinomial(weights, num_samples=1, generator=generator)
        else:
            token = torch.argmax(scores, dim=-1, keepdim=True)
        token = torch.where(open_rows.unsqueeze(1), token, torch.full_like(token, tokenizer.pad_id))
        open_rows = open_rows & (token[:, 0] != tokenizer.eos_id)
        ids = torch.cat([ids, token.repeat(2, 1)], dim=1)
    return ids[:batch, start:]
