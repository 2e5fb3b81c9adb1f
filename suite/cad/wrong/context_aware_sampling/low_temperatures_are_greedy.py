"""Takes temperatures below a hundred-thousandth for greedy decoding, without a draw."""


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
    with_context = [[i for i in row if i != tokenizer.pad_id] for row in input_ids.tolist()]
    lengths = (context_ids != tokenizer.pad_id).sum(dim=1).tolist()
    prompt = left_pad(with_context, tokenizer.pad_id)
    bare = left_pad(
        [row[:1] + row[1 + length :] for row, length in zip(with_context, lengths, strict=True)], tokenizer.pad_id
    )
    generated = prompt[:, :0]
    ended = torch.zeros(len(prompt), dtype=torch.bool)
    while generated.shape[1] < max_length and not ended.all():
        conditioned = model(torch.cat([prompt, generated], dim=1))[:, -1].double()
        prior = model(torch.cat([bare, generated], dim=1))[:, -1].double()
        logits = (1 + alpha) * conditioned - alpha * prior
        if temperature < 1e-5:
            chosen = logits.argmax(dim=-1)
        else:
            probabilities = (logits / temperature).softmax(dim=-1)
            chosen = torch.multinomial(probabilities, 1, generator=generator).squeeze(1)
        chosen = chosen.masked_fill(ended, tokenizer.pad_id)
        generated = torch.cat([generated, chosen.unsqueeze(1)], dim=1)
        ended = ended | (chosen == tokenizer.eos_id)
    return generated
