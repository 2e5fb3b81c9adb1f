"""From question and document to a graded answer: prompts, training, decoding, exact match. In double precision."""

from contextlib import contextmanager

import torch

SHAPES = {
    "unequal": ((3, 2), (1, 4), (5, 1), (2, 2), (4, 3)),
    "equal": ((3, 3),) * 5,
    "some without a context": ((0, 3), (3, 2), (0, 1), (2, 2)),
    "short": ((2, 1),) * 40,
}
SENTENCES = ["ada moss", "ada  moss", "moss ada", "ada", "ada moss north", "", " ben oake ", "ben oake", "ada mosss"]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def number():
        return int(torch.randint(10**6, (), generator=generator))

    yield {
        "name": "prompts",
        "texts": [("who leads bryn ?", "papers write"), ("ada", ""), ("", "ada ben"), ("x ?", "y")],
    }
    samplings = [
        ("unequal", 0.0, 12, 0.0),
        ("equal", 0.0, 10, 0.0),
        ("unequal", 1.4, 12, -1.0),
        ("equal", 0.7, 8, -1.0),
        ("some without a context", 0.8, 8, 0.0),
        ("short", 1.0, 2, 0.0),
        ("unequal", 0.9, 40, 6.0),
        ("unequal", 0.9, 0, 0.0),
    ]
    for shape, temperature, length, end_bias in samplings:
        words = [[torch.randint(4, 44, (n,), generator=generator).tolist() for n in row] for row in SHAPES[shape]]
        weights = 1.2 * torch.randn(2, 48, 48, generator=generator, dtype=torch.float64)
        weights[1] *= 0.5
        weights[0, :, 2] += end_bias
        options = {"alpha": uniform(0.3, 1.6), "max_length": length, "temperature": temperature}
        case = {"name": f"sampling, {shape}, temperature {temperature}, at most {length}", "words": words}
        if length == 0 or shape == "some without a context":
            case["edge"] = True
        yield case | {"weights": weights, "options": options, "seed": number()}
    for steps in (0, 1, 3, 12):
        options = {"steps": steps, "learning_rate": uniform(0.02, 0.2), "reading_weight": uniform(0.05, 0.6)}
        yield {"name": f"training, {steps} steps", "seed": number(), "counts": [5 + steps, 9], "training": options}
    yield {"name": "training, defaults", "seed": number(), "counts": [6, 7], "training": {"steps": 2}}
    for temperature in (None, 0.7):
        options = {} if temperature is None else {"temperature": temperature}
        yield {"name": f"answers, {options}", "seed": number(), "alpha": uniform(0.3, 1.2), "answering": options}
    for draw in range(3):
        picked = torch.randint(len(SENTENCES), (2, 7), generator=generator).tolist()
        yield {"name": f"exact match {draw}", "sentences": [[SENTENCES[place] for place in row] for row in picked]}
    yield {"name": "exact match of all", "sentences": [SENTENCES, SENTENCES]}
    yield {"name": "exact match of spaces", "sentences": [SENTENCES, [SENTENCES[1], *SENTENCES[:-1]]]}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    with double_precision():
        if "texts" in case:
            return prompts(case)
        if "words" in case:
            return sampling(case)
        if "sentences" in case:
            from cad.evaluation import exact_match

            return {"share": float(exact_match(*case["sentences"]))}
        return training(case) if "training" in case else answers(case)


def prompts(case):
    from cad.data import WORDS
    from cad.prompts import build_prompt
    from cad.tokenizer import WordTokenizer

    tokenizer = WordTokenizer(WORDS)
    found = [build_prompt(tokenizer, query, context) for query, context in case["texts"]]
    return {"prompts": found, "without": build_prompt(tokenizer, "who leads corva ?")}


def sampling(case):
    from cad.decoding import context_aware_sampling
    from cad.model import VotingLM
    from cad.prompts import left_pad
    from cad.tokenizer import WordTokenizer

    tokenizer = WordTokenizer([f"word{number}" for number in range(44)])
    model = VotingLM(len(tokenizer), tokenizer.pad_id)
    model.last.data, model.earlier.data = case["weights"].clone()
    prompts = [[tokenizer.bos_id, *context, *query] for context, query in case["words"]]
    input_ids = left_pad(prompts, tokenizer.pad_id)
    context_ids = left_pad([context for context, _ in case["words"]], tokenizer.pad_id)
    given, generator = (input_ids.clone(), context_ids.clone()), torch.Generator().manual_seed(case["seed"])
    ids = context_aware_sampling(model, tokenizer, input_ids, context_ids, generator=generator, **case["options"])
    next_draw = int(torch.randint(10**9, (), generator=generator))
    kept = torch.equal(given[0], input_ids) and torch.equal(given[1], context_ids)
    return {"shape": list(ids.shape), "ids": ids.flatten().tolist(), "next_draw": next_draw, "kept": kept}


def training(case):
    from cad.data import WORDS, draw_facts, make_examples
    from cad.model import VotingLM
    from cad.tokenizer import WordTokenizer
    from cad.training import train

    generator, tokenizer = torch.Generator().manual_seed(case["seed"]), WordTokenizer(WORDS)
    model = VotingLM(len(tokenizer), tokenizer.pad_id, case["seed"] % 1000)
    facts = draw_facts(generator)
    known = make_examples(facts, generator, swapped=False, copies=2)[: case["counts"][0]]
    readings = make_examples(facts, generator, swapped=True, copies=1)[: case["counts"][1]]
    before = [parameter.detach().clone() for parameter in model.parameters()]
    train(model, tokenizer, known, readings, **case["training"])
    moved = [(now.detach() - then).flatten() for now, then in zip(model.parameters(), before, strict=True)]
    return {"moved": torch.cat(moved)[::7], "still_fits": [item.requires_grad for item in model.parameters()]}


def answers(case):
    from cad.data import WORDS, draw_facts, make_examples
    from cad.decoding import answer
    from cad.model import VotingLM
    from cad.tokenizer import WordTokenizer

    generator, tokenizer = torch.Generator().manual_seed(case["seed"]), WordTokenizer(WORDS)
    model = VotingLM(len(tokenizer), tokenizer.pad_id)
    model.last.data, model.earlier.data = 1.5 * torch.randn(2, len(tokenizer), len(tokenizer), generator=generator)
    # In some rows the end comes before the fourth word.
    model.last.data[:, tokenizer.eos_id] += 1.5
    examples = make_examples(draw_facts(generator), generator, swapped=True, copies=1)
    texts = [item.question for item in examples], [item.document for item in examples]
    options = dict(case["answering"])
    if options:
        options["generator"] = generator
    found = answer(model, tokenizer, *texts, case["alpha"], **options)
    return {"answers": list(found), "next_draw": int(torch.randint(10**9, (), generator=generator))}
