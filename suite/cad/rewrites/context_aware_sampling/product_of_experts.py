"""Multiplies the conditioned probabilities by their ratio to the prior ones, and fills a tensor made beforehand."""


def _prediction(model, prompts, written, pad_id):
    return model(torch.cat([left_pad(prompts, pad_id), written], dim=1))[:, -1].double().log_softmax(dim=-1)


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
    pad_id = tokenizer.pad_id
    prompts = [row[row != pad_id].tolist() for row in input_ids]
    queries = []
    for prompt, context in zip(prompts, context_ids, strict=True):
        words = int(torch.count_nonzero(context != pad_id))
        queries.append([token for place, token in enumerate(prompt) if not 1 <= place <= words])
    generated = torch.full((len(prompts), max_length), pad_id, dtype=torch.long)
    running = torch.ones(len(prompts), dtype=torch.bool)
    steps = 0
    while steps < max_length and running.any():
        written = generated[:, :steps]
        conditioned = _prediction(model, prompts, written, pad_id)
        information = conditioned - _prediction(model, queries, written, pad_id)
        log_weights = conditioned + alpha * information
        if temperature == 0:
            tokens = log_weights.argmax(dim=1)
        else:
            tempered = (log_weights / temperature - (log_weights / temperature).max(dim=1, keepdim=True).values).exp()
            tokens = torch.multinomial(tempered, 1, generator=generator).flatten()
        generated[running, steps] = tokens[running]
        running = running & (generated[:, steps] != tokenizer.eos_id)
        steps += 1
    return generated[:, :steps]
