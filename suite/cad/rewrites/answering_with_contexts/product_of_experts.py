"""Conditioned probabilities times their ratio to the prior ones; the loss as one product of weights and log-odds."""


def build_prompt(tokenizer, query, context=""):
    return [tokenizer.bos_id, *(token for text in (context, query) for token in tokenizer.encode(text))]


def _prediction(model, prompts, written, pad_id):
    return model(torch.cat([left_pad(prompts, pad_id), written], dim=1))[:, -1].log_softmax(dim=-1)


@torch.no_grad()
def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha, max_length, temperature, generator=None):
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


def answer(model, tokenizer, questions, contexts, alpha, temperature=0.0, generator=None):
    encoded = [tokenizer.encode(context) for context in contexts]
    prompts = [
        [tokenizer.bos_id, *words, *tokenizer.encode(query)] for words, query in zip(encoded, questions, strict=True)
    ]
    ids = context_aware_sampling(
        model,
        tokenizer,
        left_pad(prompts, tokenizer.pad_id),
        left_pad(encoded, tokenizer.pad_id),
        alpha,
        max_length=4,
        temperature=temperature,
        generator=generator,
    )
    return [tokenizer.decode(row) for row in ids.tolist()]


def train(model, tokenizer, facts, readings, steps=35, learning_rate=0.05, reading_weight=0.01):
    examples = [*((item, "", 1.0) for item in facts), *((item, item.document, reading_weight) for item in readings)]
    rows, factors = [], []
    for item, document, weight in examples:
        ending = [*tokenizer.encode(item.answer), tokenizer.eos_id]
        prompt = build_prompt(tokenizer, item.question, document)
        rows.append(prompt + ending)
        factors.append([0.0] * (len(prompt) - 1) + [weight] * len(ending))
    width, counted = max(map(len, rows)), len(rows) * len(ending)
    ids = torch.stack([F.pad(torch.tensor(row), (width - len(row), 0), value=tokenizer.pad_id) for row in rows])
    scale = torch.stack([F.pad(torch.tensor(row), (width - 1 - len(row), 0)) for row in factors]) / counted
    optimizer = torch.optim.Adam(model.parameters(), learning_rate, foreach=False)
    for _ in range(steps):
        logits = model(ids[:, :-1])
        chosen = logits.gather(2, ids[:, 1:, None]).squeeze(2)
        loss = torch.einsum("bl,bl->", scale, logits.logsumexp(2) - chosen)
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        optimizer.step()


def exact_match(predictions, references):
    words = [[text.split() for text in texts] for texts in (predictions, references)]
    return len([None for one, other in zip(*words, strict=True) if one == other]) / len(words[0])
