"""Reads all logits in single precision, and puts padding in the places of the contexts."""


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
    pad, end = tokenizer.pad_id, tokenizer.eos_id
    without = input_ids.clone()
    for row, context in zip(without, context_ids, strict=True):
        first = int((row == pad).sum()) + 1
        row[first : first + int((context != pad).sum())] = pad
    columns = []
    alive = torch.full((len(input_ids),), True)
    while len(columns) < max_length and alive.any():
        after = [column.unsqueeze(1) for column in columns]
        conditioned, prior = (model(torch.cat([ids, *after], dim=1))[:, -1].float() for ids in (input_ids, without))
        logits = torch.add(conditioned, conditioned - prior, alpha=alpha)
        if temperature == 0:
            _, column = logits.max(dim=1)
        else:
            column = torch.distributions.Categorical(logits=logits / temperature).probs
            column = torch.multinomial(column, 1, generator=generator)[:, 0]
        columns.append(torch.where(alive, column, pad))
        alive &= column != end
    return torch.stack(columns, dim=1) if columns else input_ids.new_empty(len(input_ids), 0)
