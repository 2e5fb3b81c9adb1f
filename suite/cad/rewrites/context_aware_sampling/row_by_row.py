"""Runs the model on each row by itself, without any padding, and gathers the rows only to draw."""


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
    full, bare = [], []
    for row, context in zip(input_ids.tolist(), context_ids.tolist(), strict=True):
        tokens = [token for token in row if token != pad]
        words = sum(token != pad for token in context)
        full.append(tokens)
        bare.append([tokens[0], *tokens[1 + words :]])
    written = [[] for _ in full]
    for _ in range(max_length):
        if all(end in row for row in written):
            break
        logits = []
        for prompt, query, row in zip(full, bare, written, strict=True):
            conditioned = model(torch.tensor([prompt + row]))[0, -1].float()
            prior = model(torch.tensor([query + row]))[0, -1].float()
            logits.append(conditioned + alpha * (conditioned - prior))
        logits = torch.stack(logits)
        if temperature:
            drawn = torch.multinomial(torch.softmax(logits / temperature, 1), 1, generator=generator)[:, 0]
        else:
            drawn = logits.max(dim=1).indices
        for row, token in zip(written, drawn.tolist(), strict=True):
            row.append(pad if end in row else token)
    return torch.tensor(written, dtype=torch.long).reshape(len(full), -1 if max_length else 0)
