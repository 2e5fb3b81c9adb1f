"""word_mover_score: scores over layers, n-grams, left-out tokens, padding and missing weight; then the experiment."""

import copy

import torch

STOP_WORDS = ("the", "of", "some")
WORDS = [f"word{number}" for number in range(14)]
OTHERS = (
    "##s",
    "of",
    ",",
    "--",
    "##ing",
    "the",
    "[SEP]",
    "The",
    "[PAD]",
    "_",
    "...",
    "##,",
    "[UNK]",
    "()",
    "./",
    "\u20ac",
    "\u2014",
)
SHORT = ([1, 1], [2, 5], [5, 2], [3, 3], [4, 6], [1, 3])


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(choices):
        return choices[int(torch.randint(len(choices), (), generator=generator))]

    def text(words):
        """So many words, which other tokens interrupt: pieces, stop words, punctuation and markers."""
        tokens = ["[CLS]", draw(["the", "some"])]
        for number in range(words):
            other = OTHERS[(number + words) % len(OTHERS)]
            tokens += [draw(WORDS), *[other] * (number != 1)]
        return [*tokens, "##s", ".", "[SEP]"]

    def case(name, lengths, layers=8, width=6, dtype=torch.float32, texts=None, beyond=None, **options):
        pairs = texts or [[text(words) for words in pair] for pair in lengths]
        sides = [list(side) for side in zip(*pairs, strict=True)] or [[], []]
        names = sorted({token for side in sides for tokens in side for token in tokens})
        # The same token is alike in both texts, not the same; some tokens have long vectors, and layers differ.
        table = 0.5 + torch.randn(len(names), width, generator=generator, dtype=dtype)
        inputs = []
        for side in sides:
            length = max(map(len, side), default=2) + 1
            embedding = torch.randn(layers, len(side), length, width, generator=generator, dtype=dtype)
            for row, tokens in enumerate(side):
                embedding[:, row, : len(tokens)] *= 0.6
                embedding[:, row, : len(tokens)] += table[[names.index(token) for token in tokens]]
            embedding *= 0.3 + 2 * torch.rand(1, len(side), length, 1, generator=generator, dtype=dtype)
            embedding += 0.3 * torch.randn(layers, 1, 1, width, generator=generator, dtype=dtype)
            idf = 0.2 + 2.5 * torch.rand(len(side), length, generator=generator, dtype=dtype)
            for row, tokens in enumerate(side if beyond is not None else ()):
                embedding[:, row, len(tokens) :], idf[row, len(tokens) :] = beyond, beyond
            inputs += [embedding, idf, side]
        return {"name": name, "inputs": inputs, "options": options}

    uneven = ([5, 7], [8, 4], [3, 9], [6, 6], [2, 3])
    yield case("one pair", [[6, 5]])
    yield case("many pairs", uneven)
    yield case("many pairs of equal length", [[6, 6]] * 4)
    yield case("bigrams", uneven, n_gram=2)
    yield case("trigrams", uneven, n_gram=3, stop_words=["some"])
    yield case("pieces are kept", uneven, remove_subwords=False)
    yield case("bigrams over pieces", uneven, n_gram=2, remove_subwords=False)
    yield case("stop words", uneven, stop_words=STOP_WORDS)
    yield case("bigrams across stop words", uneven, n_gram=2, stop_words=frozenset(STOP_WORDS))
    yield case("stop words that are pieces", uneven, stop_words=["##s", "The", "o"], remove_subwords=False)
    yield case("n-grams longer than some texts", SHORT, n_gram=4, stop_words=STOP_WORDS)
    yield case("whole sentences", uneven, n_gram=50, stop_words=STOP_WORDS)
    yield case("three layers", uneven, layers=3, n_gram=2)
    yield case("one layer", uneven, layers=1, beyond=torch.nan)
    yield case("five layers", uneven, layers=5)
    yield case("six layers", uneven, layers=6, n_gram=2, beyond=torch.inf)
    twelve = case("twelve layers in double precision", uneven, layers=12, dtype=torch.float64, n_gram=2)
    for place in (0, 3):
        # The same values, laid out in memory as they lie after a transposition.
        twelve["inputs"][place] = twelve["inputs"][place].transpose(0, 1).contiguous().transpose(0, 1)
    yield twelve
    yield case("wide, in double precision", uneven, width=24, dtype=torch.float64, stop_words=STOP_WORDS)
    positional = case("options by position", uneven)
    positional["options"] = None
    yield positional
    for dtype in (torch.float16, torch.bfloat16):
        half = case(f"states in {dtype}", [[5, 7], [4, 3]], dtype=dtype, n_gram=2)
        if dtype == torch.bfloat16:
            half["inputs"][1::3] = [idf.float() for idf in half["inputs"][1::3]]
        yield half
    for states, weights in ((torch.float32, torch.float64), (torch.float16, torch.float32), (torch.float64,) * 2):
        ends = case(f"light and heavy texts, {states}, weights in {weights}", [[4, 6], [5, 3], [3, 4]], n_gram=2)
        for place, sizes in ((1, (1e-15, 1e15, 1e-15)), (4, (1e15, 1e-15, 1e-15))):
            idf = ends["inputs"][place].double() / 2.8
            # From the least to the greatest weight.
            idf[idf > 0] = idf[idf > 0].clamp(min=0.1)
            idf *= torch.tensor([[10.0 * size if size < 1 else size] for size in sizes])
            ends["inputs"][place] = idf.to(weights)
            ends["inputs"][place - 1] = ends["inputs"][place - 1].to(states)
        yield ends

    for n_gram in (1, 2):
        light = case(f"tokens without weight, n = {n_gram}", uneven, n_gram=n_gram, stop_words=STOP_WORDS)
        for place in (1, 4):
            light["inputs"][place][:, 2:5] = 0
            light["inputs"][place][:3, 8:12] = 0
        yield light
    weightless = case("texts without weight", uneven, n_gram=2)
    weightless["inputs"][1][[1, 3]] = 0
    weightless["inputs"][4][[0, 3]] = 0
    yield weightless
    lone = case("single words without weight", (), texts=[[[draw(WORDS)], [draw(WORDS)]] for _ in range(4)])
    lone["inputs"][1][:2], lone["inputs"][4][1:3] = 0, 0
    yield lone
    plain = ["[CLS]", *WORDS[:4], ".", "[SEP]"]
    bare = [["[CLS]", "the", ",", "[SEP]"], ["[CLS]", "[SEP]"], []]
    pairs = [pair for empty in bare for pair in ([plain, empty], [empty, plain])]
    yield case(
        "nothing is left", (), texts=[*pairs, [plain, plain], [bare[0], bare[0]]], n_gram=2, stop_words=STOP_WORDS
    )
    yield case("no pairs", ())

    # Longer than 25 tokens, where torch.cdist expands the square; in single precision equal vectors drift apart.
    same = case("the same texts", (), texts=[[[draw(WORDS) for _ in range(34)]] * 2 for _ in range(4)])
    same["inputs"][3:5] = [values.clone() for values in same["inputs"][:2]]
    yield same
    yield {"name": "experiment", "seed": seed % 1000, "inputs": None}


def observe(case):
    if case["inputs"] is None:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from moverscore.score import word_mover_score

    inputs = [values.clone() if torch.is_tensor(values) else [list(row) for row in values] for values in case["inputs"]]
    options = copy.deepcopy(case["options"])
    if options is None:
        scores = word_mover_score(*inputs, 3, ["some", "word3"], False)
    else:
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
