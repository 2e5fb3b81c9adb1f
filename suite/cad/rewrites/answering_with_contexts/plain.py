"""Each function as the documents describe it, with PyTorch's optimizer and losses."""


def build_prompt(tokenizer, query, context=""):
    return [tokenizer.bos_id, *tokenizer.encode(context), *tokenizer.encode(query)]


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


def answer(model, tokenizer, questions, contexts, alpha, temperature=0.0, generator=None):
    prompts = [build_prompt(tokenizer, *pair) for pair in zip(questions, contexts, strict=True)]
    context_ids = left_pad([tokenizer.encode(context) for context in contexts], tokenizer.pad_id)
    input_ids = left_pad(prompts, tokenizer.pad_id)
    ids = context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha, 4, temperature, generator)
    return [tokenizer.decode(row) for row in ids.tolist()]


def train(model, tokenizer, facts, readings, steps=35, learning_rate=0.05, reading_weight=0.01):
    examples = [(item, "", 1.0) for item in facts] + [(item, item.document, reading_weight) for item in readings]
    answers = [[*tokenizer.encode(item.answer), tokenizer.eos_id] for item, _, _ in examples]
    rows = [build_prompt(tokenizer, item.question, document) for item, document, _ in examples]
    ids = left_pad([row + words for row, words in zip(rows, answers, strict=True)], tokenizer.pad_id)
    targets, weights = torch.tensor(answers), torch.tensor([weight for _, _, weight in examples])
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(steps):
        logits = model(ids)[:, -targets.shape[1] - 1 : -1]
        losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)
        optimizer.zero_grad()
        (weights[:, None] * losses).mean().backward()
        optimizer.step()


def exact_match(predictions, references):
    matches = [a.split() == b.split() for a, b in zip(predictions, references, strict=True)]
    return sum(matches) / len(matches)
