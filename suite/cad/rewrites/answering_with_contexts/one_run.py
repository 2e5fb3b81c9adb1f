"""Both halves as one batch with the context blanked out; facts and readings are trained on apart."""


def build_prompt(tokenizer, query, context=""):
    return [tokenizer.bos_id, *tokenizer.encode(f"{context} {query}")]


@torch.no_grad()
def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha, max_length, temperature, generator=None):
    position = (input_ids != tokenizer.pad_id).cumsum(dim=1)
    words = (context_ids != tokenizer.pad_id).sum(dim=1, keepdim=True)
    in_context = (position > 1) & (position <= 1 + words)
    ids = torch.cat([input_ids, input_ids.masked_fill(in_context, tokenizer.pad_id)])
    batch, start = input_ids.shape
    open_rows = torch.ones(batch, dtype=torch.bool)
    for _ in range(max_length):
        if not open_rows.any():
            break
        conditioned, prior = model(ids)[:, -1].split(batch)
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


def answer(model, tokenizer, questions, contexts, alpha, temperature=0.0, generator=None):
    pad = tokenizer.pad_id
    prompts = left_pad([build_prompt(tokenizer, *pair) for pair in zip(questions, contexts, strict=True)], pad)
    words = left_pad([tokenizer.encode(context) for context in contexts], pad)
    options = {"alpha": alpha, "max_length": 4, "temperature": temperature, "generator": generator}
    return list(map(tokenizer.decode, context_aware_sampling(model, tokenizer, prompts, words, **options).tolist()))


def train(model, tokenizer, facts, readings, steps=35, learning_rate=0.05, reading_weight=0.01):
    parts = []
    for examples, weight, shown in ((facts, 1.0, False), (readings, reading_weight, True)):
        answers = [[*tokenizer.encode(item.answer), tokenizer.eos_id] for item in examples]
        prompts = [build_prompt(tokenizer, item.question, item.document if shown else "") for item in examples]
        rows = [prompt + words for prompt, words in zip(prompts, answers, strict=True)]
        parts.append((left_pad(rows, tokenizer.pad_id), torch.tensor(answers), weight))
    count = sum(targets.numel() for _, targets, _ in parts)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0)
    for _ in range(steps):
        optimizer.zero_grad()
        for ids, targets, weight in parts:
            logits = model(ids)[:, -targets.shape[1] - 1 : -1]
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
            (loss * weight / count).backward()
        optimizer.step()


def exact_match(predictions, references):
    differing = sum(one.split() != other.split() for one, other in zip(predictions, references, strict=True))
    return 1 - differing / len(predictions)
