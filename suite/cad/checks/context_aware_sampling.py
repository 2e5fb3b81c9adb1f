"""context_aware_sampling: the generated ids, greedy and sampled, over prompts of many shapes; then the experiment."""

import torch

WORDS = [f"word{number}" for number in range(16)]
# Contexts and queries, as numbers of words, for each row.
MANY = ((3, 2), (1, 4), (5, 1), (2, 2), (4, 3), (2, 5), (6, 2), (3, 3))
SOME_EMPTY = ((0, 3), (3, 2), (0, 1), (2, 2))


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def case(name, shape, alpha, max_length, temperature, end_bias=0.0, dtype=torch.float64):
        words = len(WORDS)
        rows = [
            [[WORDS[i] for i in torch.randint(words, (n,), generator=generator).tolist()] for n in row] for row in shape
        ]
        size = words + 4
        return {
            "name": name,
            "rows": [(" ".join(context), " ".join(query)) for context, query in rows],
            "weights": 1.2 * torch.randn(2, size, size, generator=generator, dtype=dtype),
            "end_bias": end_bias,
            "options": {"alpha": alpha, "max_length": max_length, "temperature": temperature},
            "seed": int(torch.randint(10**6, (), generator=generator)),
        }

    alphas = (0.3 + torch.rand(8, generator=generator)).tolist()
    yield case("greedy, one prompt", MANY[:1], alphas[0], 20, 0.0)
    yield case("greedy, prompts of equal length", ((3, 3),) * 6, alphas[1], 12, 0.0)
    yield case("greedy, prompts of unequal length", MANY, alphas[2], 12, 0.0)
    yield case("sampled, one prompt", MANY[4:5], alphas[3], 30, 0.8, end_bias=-2.0)
    yield case("sampled, prompts of unequal length", MANY, alphas[4], 16, 1.7, end_bias=-1.0)
    yield case("sampled at a low temperature", MANY, 2 * alphas[5], 16, 0.6, end_bias=-1.0)
    yield case("one step of many prompts", ((2, 1),) * 160, alphas[6], 1, 1.3)
    yield case("in single precision", MANY, alphas[7], 10, 0.9, dtype=torch.float32)
    yield case("no adjustment", MANY, 0.0, 10, 0.9)
    yield case("some prompts without a context", SOME_EMPTY, 0.8, 12, 0.7)
    yield case("no prompt with a context", ((0, 2), (0, 4)), 0.8, 12, 0.7)
    yield case("all end early", MANY, 0.5, 60, 1.1, end_bias=8.0)
    yield case("no token asked for", MANY[:3], 0.5, 0, 0.9)
    yield {"name": "experiment", "seed": seed % 1000, "rows": None}


def observe(case):
    if case["rows"] is None:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from cad.decoding import context_aware_sampling
    from cad.model import VotingLM
    from cad.prompts import build_prompt, left_pad
    from cad.tokenizer import WordTokenizer

    tokenizer = WordTokenizer(WORDS)
    model = VotingLM(len(tokenizer), tokenizer.pad_id)
    model.last.data, model.earlier.data = case["weights"][0].clone(), 0.5 * case["weights"][1]
    model.last.data[:, tokenizer.eos_id] += case["end_bias"]
    input_ids = left_pad([build_prompt(tokenizer, query, context) for context, query in case["rows"]], tokenizer.pad_id)
    context_ids = left_pad([tokenizer.encode(context) for context, _ in case["rows"]], tokenizer.pad_id)
    given = input_ids.clone(), context_ids.clone()
    generator = torch.Generator().manual_seed(case["seed"])
    ids = context_aware_sampling(model, tokenizer, input_ids, context_ids, generator=generator, **case["options"])
    return {
        "ids": ids,
        "dtype": str(ids.dtype),
        "inputs_unchanged": [torch.equal(input_ids, given[0]), torch.equal(context_ids, given[1])],
    }
