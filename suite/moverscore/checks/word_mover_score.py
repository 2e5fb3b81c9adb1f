"""word_mover_score: scores over layers, n-grams, left-out tokens and padding; then the experiment."""

import copy
from itertools import product

import torch

STOP_WORDS = ("the", "of", "some")
WORDS = [f"word{number}" for number in range(14)]
# What stands between the words of a text, and what a careless comparison would take for it.
OTHERS = ("##s", "of", ",", "##ing", "the", "_")
UNUSUAL = ("--", "The", "...", "##,", "[UNK]", "()", "./", "\u20ac", "\u2014", "[SEP]", "[PAD]", "of")
LAYERS = (8, 12, 6, 5, 3, 1, 9)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def draw(choices):
        return choices[integer(0, len(choices) - 1)]

    def text(words, others=OTHERS):
        """So many words, which other tokens interrupt: pieces, stop words and punctuation."""
        tokens, first = ["[CLS]", draw(["the", "some"])], integer(0, len(others) - 1)
        for number in range(words):
            tokens += [draw(WORDS), *[others[(first + number) % len(others)]] * (number != 1)]
        return [*tokens, "##s", ".", "[SEP]"]

    def case(name, texts=None, layers=8, dtype=torch.float32, beyond=None, edge=False, **options):
        pairs = texts or [[text(integer(2, 7)), text(integer(2, 7))] for _ in range(integer(2, 3))]
        width, inputs = integer(4, 9), []
        names = sorted({token for pair in pairs for tokens in pair for token in tokens})
        # The same token is alike in both texts, not the same; some tokens have long vectors, and layers differ.
        table = 0.5 + torch.randn(len(names), width, generator=generator, dtype=torch.float64)
        for side in zip(*pairs, strict=True):
            length = max(map(len, side)) + 1
            embedding = torch.randn(layers, len(side), length, width, generator=generator, dtype=torch.float64)
            for row, tokens in enumerate(side):
                embedding[:, row, : len(tokens)] *= 0.6
                embedding[:, row, : len(tokens)] += table[[names.index(token) for token in tokens]]
            embedding *= 0.3 + 2 * torch.rand(1, len(side), length, 1, generator=generator, dtype=torch.float64)
            embedding += 0.3 * torch.randn(layers, 1, 1, width, generator=generator, dtype=torch.float64)
            idf = 0.2 + 2.5 * torch.rand(len(side), length, generator=generator, dtype=torch.float64)
            for row, tokens in enumerate(side):
                idf[row, len(tokens) :] = 0.0
                if beyond is not None:
                    embedding[:, row, len(tokens) :], idf[row, len(tokens) :] = beyond, beyond
            weights = torch.float32 if dtype.itemsize < 4 else dtype
            inputs += [embedding.to(dtype), idf.to(weights), list(side)]
        return {"name": name, "inputs": inputs, "options": options, "edge": edge}

    every = product((1, 2, 3), ((), STOP_WORDS), (True, False), (torch.float32, torch.float64))
    for number, (n_gram, stop_words, remove_subwords, dtype) in enumerate(every):
        layers = LAYERS[number % len(LAYERS)]
        name = f"n = {n_gram}, {layers} layers{', stop words' * bool(stop_words)}{', pieces' * (not remove_subwords)}"
        options = {"n_gram": n_gram, "stop_words": stop_words, "remove_subwords": remove_subwords}
        yield case(f"{name}, {dtype}", layers=layers, dtype=dtype, **options)
    yield case("default options")
    yield case("one pair", [[text(integer(3, 6)), text(integer(3, 6))]], n_gram=2)
    short = [[text(1), text(integer(2, 4))], [text(3), text(1)], [text(1), text(1)]]
    yield case("n-grams longer than some texts", short, n_gram=3, stop_words=STOP_WORDS)
    yield case("whole sentences", n_gram=50, stop_words=frozenset(STOP_WORDS))
    for n_gram in (1, 2):
        alike = case(f"weights that are all alike, n = {n_gram}", n_gram=n_gram)
        for place in (1, 4):
            alike["inputs"][place][alike["inputs"][place] > 0] = 1.0
        yield alike
    for n_gram in (1, 2):
        texts = [[text(integer(4, 7)), text(integer(4, 7))] for _ in range(2)]
        light = case(f"tokens without weight, n = {n_gram}", texts, n_gram=n_gram, stop_words=STOP_WORDS)
        for place in (1, 4):
            light["inputs"][place][:, 2:6] = 0
        yield light
    yield {"name": "experiment", "seed": seed % 1000, "inputs": None}

    for remove_subwords in (True, False):
        unusual = [[text(12, UNUSUAL), text(12, UNUSUAL)]]
        options = {"stop_words": ["the", "o", "##s"], "remove_subwords": remove_subwords, "edge": True}
        yield case(f"unusual tokens{', pieces' * (not remove_subwords)}", unusual, n_gram=integer(1, 2), **options)
    for beyond in (torch.nan, torch.inf, 1.0):
        yield case(f"{beyond} beyond the end", layers=integer(4, 7), n_gram=integer(1, 2), beyond=beyond, edge=True)
    for dtype in (torch.float16, torch.bfloat16):
        yield case(f"states in {dtype}", dtype=dtype, n_gram=integer(1, 2), edge=True)
    weightless = case("texts without weight", [[text(3), text(4)] for _ in range(4)], n_gram=2, edge=True)
    weightless["inputs"][1][[1, 3]] = 0
    weightless["inputs"][4][[0, 3]] = 0
    yield weightless
    some, bare = text(3), [["[CLS]", "the", ",", "[SEP]"], []]
    pairs = [pair for empty in bare for pair in ([some, empty], [empty, some])]
    yield case("nothing is left", [*pairs, [some, text(4)], bare], n_gram=2, stop_words=STOP_WORDS, edge=True)
    # Longer than 25 tokens, where torch.cdist expands the square.
    same = case("the same text", [[[draw(WORDS) for _ in range(30)]] * 2], edge=True)
    same["inputs"][3:5] = [values.clone() for values in same["inputs"][:2]]
    yield same
    none = [torch.zeros(8, 0, 2, 6), torch.zeros(0, 2), []]
    yield {"name": "no pairs", "inputs": none * 2, "options": {}, "edge": True}


def observe(case):
    if case["inputs"] is None:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from moverscore.score import word_mover_score

    inputs = [values.clone() if torch.is_tensor(values) else [list(row) for row in values] for values in case["inputs"]]
    options = copy.deepcopy(case["options"])
    scores = word_mover_score(*inputs, **options)
    return {
        "scores": scores,
        "floats": [isinstance(score, float) for score in scores],
        "inputs_unchanged": [
            torch.equal(values.nan_to_num(), given.nan_to_num()) if torch.is_tensor(given) else values == given
            for values, given in zip(inputs, case["inputs"], strict=True)
        ],
        "options_unchanged": options == case["options"],
    }
