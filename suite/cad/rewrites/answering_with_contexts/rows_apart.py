"""Runs the model on each row by itself, trains with Adam written out, and counts matches one by one."""


def build_prompt(tokenizer, query, context=""):
    ids = [tokenizer.bos_id]
    for text in (context, query):
        ids.extend(tokenizer.encode(text))
    return ids


@torch.no_grad()
def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha, max_length, temperature, generator=None):
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
            conditioned = model(torch.tensor([prompt + row]))[0, -1]
            prior = model(torch.tensor([query + row]))[0, -1]
            logits.append(conditioned + alpha * (conditioned - prior))
        logits = torch.stack(logits)
        if temperature:
            drawn = torch.multinomial(torch.softmax(logits / temperature, 1), 1, generator=generator)[:, 0]
        else:
            drawn = logits.max(dim=1).indices
        for row, token in zip(written, drawn.tolist(), strict=True):
            row.append(pad if end in row else token)
    return torch.tensor(written, dtype=torch.long).reshape(len(full), -1 if max_length else 0)


def answer(model, tokenizer, questions, contexts, alpha, temperature=0.0, generator=None):
    prompts, words = [], []
    for question, context in zip(questions, contexts, strict=True):
        prompts.append(build_prompt(tokenizer, question, context))
        words.append(tokenizer.encode(context))
    padded = [left_pad(rows, tokenizer.pad_id) for rows in (prompts, words)]
    found = context_aware_sampling(model, tokenizer, *padded, alpha, 4, temperature, generator)
    return [tokenizer.decode(found[row].tolist()) for row in range(len(found))]


def train(model, tokenizer, facts, readings, steps=35, learning_rate=0.05, reading_weight=0.01):
    shown = [("", item) for item in facts] + [(item.document, item) for item in readings]
    answers = [[*tokenizer.encode(item.answer), tokenizer.eos_id] for _, item in shown]
    prompts = [build_prompt(tokenizer, item.question, document) for document, item in shown]
    ids = left_pad([prompt + words for prompt, words in zip(prompts, answers, strict=True)], tokenizer.pad_id)
    count, width = len(answers), len(answers[0])
    factors = torch.ones(count, dtype=model.last.dtype)
    factors[len(facts) :] = reading_weight
    parameters = list(model.parameters())
    first, second = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    for step in range(1, steps + 1):
        logps = model(ids)[:, -width - 1 : -1].log_softmax(2)
        of_answers = logps.gather(2, ids[:, -width:].unsqueeze(2)).squeeze(2)
        gradients = torch.autograd.grad(-(of_answers.sum(1) @ factors) / (count * width), parameters)
        with torch.no_grad():
            for item, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean += (gradient - mean) * (1 - 0.9)
                square += (gradient**2 - square) * (1 - 0.999)
                scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
                item -= learning_rate / (1 - 0.9**step) * mean / scale


def exact_match(predictions, references):
    hits = 0
    for prediction, reference in zip(predictions, references, strict=True):
        hits += " ".join(prediction.split()) == " ".join(reference.split())
    return hits / len(references)
