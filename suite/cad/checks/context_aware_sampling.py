"""context_aware_sampling: the generated ids, greedy and sampled, over prompts of many shapes; then the experiment."""

import torch

WORDS = [f"word{number}" for number in range(60)]
# Contexts and queries, as numbers of words, for each row.
MANY = ((3, 2), (1, 4), (5, 1), (2, 2), (4, 3), (2, 5), (6, 2), (3, 3))
SOME_EMPTY = ((0, 3), (3, 2), (0, 1), (2, 2))
NO_QUERY = ((3, 0), (2, 1), (0, 0), (1, 0))


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def call(shape, alpha, max_length, temperature, scale=1.2, dtype=torch.float64, words=WORDS):
        picked = [[torch.randint(len(words), (n,), generator=generator).tolist() for n in row] for row in shape]
        size = len(WORDS) + 4
        return {
            "rows": [tuple(" ".join(words[i] for i in part) for part in row) for row in picked],
            "weights": scale * torch.randn(2, size, size, generator=generator, dtype=dtype),
            "options": {"alpha": alpha, "max_length": max_length, "temperature": temperature},
        }

    def case(name, *calls, end_bias=0.0, training=False, **extra):
        drawn = int(torch.randint(10**6, (), generator=generator))
        return {"name": name, "calls": calls, "end_bias": end_bias, "training": training, "seed": drawn, **extra}

    alphas = (0.3 + torch.rand(8, generator=generator)).tolist()
    yield case("greedy, one prompt", call(MANY[:1], alphas[0], 20, 0.0))
    yield case("greedy, prompts of equal length", call(((3, 3),) * 6, alphas[1], 12, 0.0))
    yield case("greedy, prompts of unequal length", call(MANY, alphas[2], 12, 0.0))
    yield case("sampled, one prompt", call(MANY[4:5], alphas[3], 40, 0.8), end_bias=-100.0)
    yield case("sampled, prompts of unequal length", call(MANY, alphas[4], 16, 1.7), end_bias=-1.0)
    yield case("sampled at a low temperature", call(MANY, 2 * alphas[5], 16, 0.6), end_bias=-1.0)
    # On a grid, where no order of the sums rounds logits: what rounding changes is much at such temperatures.
    near = call(((2, 1),) * 160, 0.75, 2, 0.0015)
    near["weights"] = (4 * near["weights"]).round() / 4
    yield case("sampled at a temperature near 0", near)
    yield case("sampled at a temperature of one", call(MANY, alphas[0], 16, 1.0), end_bias=-1.0)
    yield case("one step of many prompts", call(((2, 1),) * 160, alphas[6], 1, 1.3))
    yield case("a faint adjustment of many prompts", call(((2, 1),) * 160, 0.04, 1, 0.8))
    yield case("a strong adjustment, hot", call(MANY, 6.0, 12, 30.0))
    yield case("greedy, logits in the hundreds", call(MANY, alphas[6], 12, 0.0, scale=600.0))
    yield case("sampled, logits in the hundreds", call(MANY, 1.0, 12, 1.0, scale=600.0, dtype=torch.float32))
    # Few draws: each may fall between the roundings of two right versions.
    yield case("in single precision", call(MANY[:4], alphas[7], 5, 0.9, dtype=torch.float32))
    for dtype in (torch.float16, torch.bfloat16):
        for temperature in (0.0, 0.9):
            half = call(MANY, alphas[1], 6, temperature, dtype=dtype)
            yield case(f"{dtype}, temperature {temperature}", half, end_bias=-100.0)
    lowest = call(MANY, 1.25, 6, 0.001)
    lowest["weights"] = (4 * lowest["weights"]).round() / 4
    yield case("sampled at the lowest temperature", lowest)
    steep = call(MANY, 1.25, 6, 0.001, scale=12.0)
    steep["weights"] = (4 * steep["weights"]).round() / 4
    yield case("sampled at the lowest temperature, logits in the tens", steep)
    yield case("sampled at the highest temperature", call(MANY, alphas[2], 6, 1e6))
    yield case("logits far apart, hot", call(((2, 1),) * 40, 1.0, 3, 500.0, scale=1500.0), end_bias=-9000.0)
    yield case("no adjustment", call(MANY, 0.0, 10, 0.9))
    yield case("some prompts without a context", call(SOME_EMPTY, 0.8, 12, 0.7))
    yield case("no prompt with a context", call(((0, 2), (0, 4)), 0.8, 12, 0.7))
    yield case("prompts without a query", call(NO_QUERY, 0.8, 12, 0.7))
    special = [*WORDS[:2], "<s>", "</s>", "</s>"]
    yield case("start and end tokens inside the prompts", call(MANY, 0.8, 12, 0.7, words=special), end_bias=-1.0)
    # The context stands in the query once more.
    yield case("contexts that queries repeat", call(((1, 3),) * 40, 0.8, 2, 0.7, words=WORDS[:2]))
    yield case("all end early", call(MANY, 0.5, 60, 1.1), end_bias=40.0)
    yield case("no token asked for", call(MANY[:3], 0.5, 0, 0.9))
    yield case("a model in training", call(MANY, alphas[0], 10, 0.9), training=True)
    yield case("a model with a hook", call(MANY, alphas[0], 10, 0.9), hooked=True)
    yield case("padding is likely", call(MANY, alphas[2], 4, 0.9), padding_bias=4.0)
    yield case("padding is the likeliest", call(MANY[:3], alphas[2], 3, 0.0), padding_bias=50.0)
    yield case("contexts padded to more than the prompts", call(MANY[:4], alphas[2], 6, 0.9), padded=14)
    refilled = [call(MANY[:1], 0.5, 6, 0.9, words=WORDS[:9]) for _ in range(2)]
    refilled[1]["weights"] = refilled[0]["weights"]
    yield case("called again with what the same tensors then hold", *refilled, refilled=True)
    yield case("without a generator", call(MANY, alphas[1], 10, 0.9), generator=False)
    yield case("laid out by columns", call(MANY, alphas[2], 10, 0.9), by_columns=True)
    first, other = call(MANY, alphas[3], 8, 0.9), call(MANY, 2 * alphas[4], 14, 0.4)
    again = {**call(MANY, 3.0, 8, 0.0), "rows": first["rows"]}
    yield case("called again with other weights, prompts and settings", first, other, again)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "calls" not in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from cad.decoding import context_aware_sampling
    from cad.model import VotingLM
    from cad.prompts import build_prompt, left_pad
    from cad.tokenizer import WordTokenizer

    class ModeAware(VotingLM):
        """Predicts otherwise in training, as models with dropout do."""

        def forward(self, input_ids):
            logits = super().forward(input_ids)
            return -logits if self.training else logits

    def state():
        flags = [(part.dtype, part.requires_grad) for part in (model.last, model.earlier)]
        return model.training, flags, [*sorted(vars(model)), *sorted(vars(tokenizer))], torch.is_grad_enabled()

    tokenizer = WordTokenizer(WORDS)
    model = ModeAware(len(tokenizer), tokenizer.pad_id).train(case["training"])
    model.earlier.requires_grad_(False)
    generator = torch.Generator().manual_seed(case["seed"]) if case.get("generator", True) else None
    if "hooked" in case:
        model.register_forward_hook(lambda _, given, logits: logits.flip(-1))
    observed, earlier = [], None
    for call in case["calls"]:
        weights = call["weights"][0].clone(), 0.5 * call["weights"][1]
        weights[0][:, tokenizer.eos_id] += case["end_bias"]
        weights[0][:, tokenizer.pad_id] += case.get("padding_bias", 0.0)
        model.last.data, model.earlier.data = (part.clone() for part in weights)
        prompts = [build_prompt(tokenizer, query, context) for context, query in call["rows"]]
        input_ids = left_pad(prompts, tokenizer.pad_id)
        context_ids = left_pad([tokenizer.encode(context) for context, _ in call["rows"]], tokenizer.pad_id)
        if "padded" in case:
            context_ids = torch.nn.functional.pad(context_ids, (case["padded"], 0), value=tokenizer.pad_id)
        if "by_columns" in case:
            input_ids, context_ids = (ids.T.contiguous().T for ids in (input_ids, context_ids))
        if "refilled" in case and earlier:
            # The tensors of the call before, which now hold other prompts.
            input_ids, context_ids = (
                old.copy_(new) for old, new in zip(earlier, (input_ids, context_ids), strict=True)
            )
        earlier = input_ids, context_ids
        given = [part.clone() for part in (input_ids, context_ids, *weights)]
        before, chance = state(), torch.get_rng_state()
        ids = context_aware_sampling(model, tokenizer, input_ids, context_ids, generator=generator, **call["options"])
        dtype, kept = (
            str(ids.dtype),
            zip(given, (input_ids, context_ids, model.last.data, model.earlier.data), strict=True),
        )
        next_draw = int(torch.randint(10**9, (), generator=generator))
        if model.last.dtype.itemsize < 4:
            # There right versions round in different places, and draw other tokens.
            ids, next_draw = [list(ids.shape), bool(((ids >= 0) & (ids < len(tokenizer))).all())], None
        observed.append(
            {
                "ids": ids,
                "dtype": dtype,
                "arguments_unchanged": [torch.equal(one, other) for one, other in kept],
                "state_unchanged": state() == before,
                "global_chance_unused": torch.equal(chance, torch.get_rng_state()),
                "next_draw": next_draw,
            }
        )
    return {"calls": observed}
