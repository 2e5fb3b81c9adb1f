"""context_aware_sampling: the generated ids, greedy and sampled, over prompts of many shapes; then the experiment."""

from itertools import product

import torch

WORDS = [f"word{number}" for number in range(40)]
END = 2


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def prompts(number, context=(1, 6), query=(1, 5), words=WORDS):
        """Pairs of a context and a query, with as many words as these bounds allow."""

        def text(low, high):
            return " ".join(words[integer(0, len(words) - 1)] for _ in range(integer(low, high)))

        return [(text(*context), text(*query)) for _ in range(number)]

    def case(name, rows, alpha, temperature, length=12, scale=1.2, dtype=torch.float64, end_bias=0.0, **more):
        size = len(WORDS) + 4
        weights = scale * torch.randn(2, size, size, generator=generator, dtype=torch.float64)
        weights[1] *= 0.5
        weights[0, :, END] += end_bias
        options = {"alpha": alpha, "max_length": length, "temperature": temperature}
        drawn = {"weights": weights.to(dtype), "seed": integer(0, 10**6)}
        return {"name": name, "rows": rows, "options": options, **drawn, **more}

    levels = {"no": lambda: 0.0, "some": lambda: uniform(0.3, 1), "strong": lambda: uniform(1.5, 4)}
    heats = {"greedy": lambda: 0.0, "cold": lambda: uniform(0.3, 0.8)}
    heats |= {"plain": lambda: 1.0, "hot": lambda: uniform(1.3, 3)}
    for number, (level, heat) in enumerate(product(levels, heats)):
        dtype = (torch.float64, torch.float32)[(number + number // 4) % 2]
        chosen = {"dtype": dtype, "end_bias": uniform(-1, 3), "seeded": bool(number % 3), "length": integer(3, 9)}
        rows = prompts(integer(2, 5))
        yield case(f"{heat}, {level} adjustment, {dtype}", rows, levels[level](), heats[heat](), **chosen)
    for heat in heats:
        alpha = uniform(0.3, 1.3)
        yield case(f"{heat}, one prompt", prompts(1), alpha, heats[heat](), 15, end_bias=-1.0)
        yield case(f"{heat}, equal lengths", prompts(4, (3, 3), (3, 3)), alpha, heats[heat](), 8)
        repeated = prompts(12, (1, 1), (3, 3), WORDS[:2])
        yield case(f"{heat}, queries repeat contexts", repeated, alpha, heats[heat](), 2)
        yield case(f"{heat}, all end early", prompts(4), alpha, heats[heat](), 30, end_bias=9.0)
    for alpha in (0.04, uniform(0.4, 1.2)):
        yield case(f"one step of many prompts, {alpha:.2f}", prompts(100, (2, 3), (1, 2)), alpha, uniform(0.8, 1.2), 1)
    yield {"name": "experiment", "seed": seed % 1000}

    for heat in ("greedy", "hot"):
        found = {"alpha": uniform(0.3, 1.3), "temperature": heats[heat](), "length": 8, "edge": True}
        yield case(f"{heat}, some without a context", prompts(6, (0, 2)), **found)
        yield case(f"{heat}, some without a query", prompts(6, (1, 3), (0, 1)), **found)
        special = [*WORDS[:2], "<s>", "</s>", "</s>"]
        yield case(f"{heat}, start and end tokens in prompts", prompts(5, words=special), end_bias=1.0, **found)
        yield case(f"{heat}, a model in training", prompts(4), training=True, **found)
        yield case(f"{heat}, called before", prompts(8), before=-1.0, **found)
        yield case(f"{heat}, logits in the hundreds", prompts(5), scale=600.0, **found)
        yield case(f"{heat}, nothing asked for", prompts(3), **found | {"length": 0})
    # On a grid, where rounding leaves logits as they are: at such temperatures it would change much.
    for temperature in (0.002, 0.05):
        cold = case(f"temperature {temperature}", prompts(40, (2, 2), (1, 1)), 0.75, temperature, 2, edge=True)
        yield cold | {"weights": (4 * cold["weights"]).round() / 4}


def observe(case):
    if "rows" not in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from cad.decoding import context_aware_sampling
    from cad.model import VotingLM
    from cad.prompts import build_prompt, left_pad
    from cad.tokenizer import WordTokenizer

    class ModeAware(VotingLM):
        """Predicts otherwise in training, as models with dropout do."""

        def forward(self, input_ids):
            logits = super().forward(input_ids)
            return -logits if self.training else logits

    tokenizer = WordTokenizer(WORDS)
    model = ModeAware(len(tokenizer), tokenizer.pad_id).train(case.get("training", False))
    input_ids = left_pad([build_prompt(tokenizer, query, context) for context, query in case["rows"]], tokenizer.pad_id)
    context_ids = left_pad([tokenizer.encode(context) for context, _ in case["rows"]], tokenizer.pad_id)
    given, weights = (input_ids.clone(), context_ids.clone()), case["weights"]
    if "before" in case:
        model.last.data, model.earlier.data = case["before"] * weights
        context_aware_sampling(model, tokenizer, input_ids, context_ids, **case["options"])
    model.last.data, model.earlier.data = weights.clone()
    generator = torch.Generator().manual_seed(case["seed"]) if case.get("seeded", True) else None
    ids = context_aware_sampling(model, tokenizer, input_ids, context_ids, generator=generator, **case["options"])
    return {
        "ids": ids,
        "next_draw": torch.rand((), generator=generator),
        "inputs_unchanged": torch.equal(input_ids, given[0]) and torch.equal(context_ids, given[1]),
        "model_unchanged": torch.equal(model.last, weights[0]) and torch.equal(model.earlier, weights[1]),
        "model_state": [model.training, model.last.requires_grad],
    }
