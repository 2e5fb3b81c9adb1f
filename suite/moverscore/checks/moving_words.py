"""The metric from texts to correlation: weights, batches, transport, scores. In double precision."""

from contextlib import contextmanager

import torch

STOP_WORDS = ("the", "of", "some")
WORDS = [f"word{number}" for number in range(14)]
# What stands between the words of a text, and what a careless comparison would take for it.
OTHERS = ("##s", "of", ",", "##ing", "the", "_")
UNUSUAL = ("--", "The", "...", "##,", "()", "[SEP]", "[PAD]", "of")
PIECES = ["cold", "weather", "cat", "dog", "sit", "##s", "##ting", "the", "near"]
# No word but "the" is in five of these, so that each text has a word of some weight.
SENTENCES = [
    "the cats sit",
    "cold weather , near the dog",
    "sitting dogs",
    "the weather .",
    "dog cat cold",
    "The CAT !",
    "unheard noise near the dogs",
]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(limit):
        return int(torch.randint(limit, (), generator=generator))

    def uniform(*shape):
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    def text(words, others=OTHERS):
        """So many words, which other tokens interrupt: pieces, stop words, punctuation and markers."""
        tokens = ["[CLS]", "the"]
        for number in range(words):
            other = others[(number + words) % len(others)]
            tokens += [WORDS[draw(len(WORDS))], *[other] * (number != 1)]
        return [*tokens, "##s", ".", "[SEP]"]

    def moving(name, lengths, layers=8, beyond=None, texts=None, edge=False, **options):
        pairs = texts or [[text(words) for words in pair] for pair in lengths]
        inputs = []
        for side in zip(*pairs, strict=True):
            length = max(map(len, side)) + 1
            shape = layers, len(side), length, 5
            embedding = 0.3 + torch.randn(shape, generator=generator, dtype=torch.float64)
            embedding *= 0.3 + 2 * uniform(1, len(side), length, 1)
            idf = 0.2 + 2.5 * uniform(len(side), length)
            for row, tokens in enumerate(side):
                idf[row, len(tokens) :] = 0.0
                if beyond is not None:
                    embedding[:, row, len(tokens) :], idf[row, len(tokens) :] = beyond, beyond
            inputs += [embedding, idf, list(side)]
        return {"name": f"moving, {name}", "moving": inputs, "options": options, "edge": edge}

    words = ["cats", "sitting", "nearthedog", "colder", "unheard", "s", "weathers", "sit"]
    words += ["".join(PIECES[draw(6)].strip("#") for _ in range(1 + draw(4))) for _ in range(4)]
    yield {"name": "pieces of words", "split": words}
    for count in (1, 6):
        texts = [[WORDS[draw(4)] for _ in range(1 + draw(6))] for _ in range(count)]
        yield {"name": f"weights of {count} texts", "weighed": texts}
    for count in (1, 4):
        sentences = [[PIECES[draw(6)] for _ in range(1 + draw(5))] for _ in range(count)]
        yield {"name": f"batch of {count}", "sentences": sentences, "seed": draw(1000)}
    for origins, destinations in ((1, 1), (1, 4), (5, 1), (4, 6), (7, 5)):
        supply, demand = 0.1 + uniform(origins), 0.1 + uniform(destinations)
        if min(origins, destinations) > 3:
            supply[1], demand[2] = 0, 0
        demand *= supply.sum() / demand.sum()
        cost = 2 * uniform(origins, destinations)
        yield {"name": f"flow {origins} to {destinations}", "flow": [supply, demand, cost]}
    for apart in (9e-6, -9e-6, 1.2e-5, -1.2e-5, 0.1, -0.1):
        supply, demand = 0.1 + uniform(3), 0.1 + uniform(4)
        demand *= (supply.sum() + apart) / demand.sum()
        yield {"name": f"flow, {apart} apart", "flow": [supply, demand, uniform(3, 4)]}
    uneven = ([5, 7], [6, 4], [2, 3])
    yield moving("many pairs", uneven)
    yield moving("bigrams", uneven, n_gram=2)
    yield moving("trigrams", uneven[:2], n_gram=3, stop_words=["some"])
    yield moving("pieces are kept", uneven[:2], n_gram=2, remove_subwords=False)
    yield moving("bigrams across stop words", uneven[:2], n_gram=2, stop_words=frozenset(STOP_WORDS))
    short = ([1, 1], [2, 4], [4, 2], [3, 3], [1, 3])
    yield moving("n-grams longer than some texts", short, n_gram=3, stop_words=STOP_WORDS)
    yield moving("whole sentences", uneven[:2], n_gram=50, stop_words=STOP_WORDS)
    for layers in (1, 5, 6):
        yield moving(f"{layers} layers", uneven[:2], layers=layers)
    yield moving("NaN beyond the end", uneven[:2], beyond=torch.nan, edge=True)
    unusual = [[text(9, UNUSUAL), text(8, UNUSUAL)]]
    yield moving("unusual tokens", (), texts=unusual, stop_words=["the"], remove_subwords=bool(draw(2)), edge=True)
    light = moving("tokens without weight", uneven[:2], n_gram=2, stop_words=STOP_WORDS)
    for place in (1, 4):
        light["moving"][place][:, 2:6] = 0
    yield light
    weightless = moving("a text without weight", uneven[:2], n_gram=2, edge=True)
    weightless["moving"][draw(2) * 3 + 1][draw(2)] = 0
    yield weightless
    plain, bare = ["[CLS]", *WORDS[:3], ".", "[SEP]"], ["[CLS]", "the", ",", "[SEP]"]
    texts = [[plain, bare], [bare, plain], [bare, bare], [text(3), text(4)]]
    yield moving("nothing is left", (), texts=texts, stop_words=STOP_WORDS, edge=True)
    same = moving("the same texts", (), texts=[[[WORDS[draw(14)] for _ in range(12)]] * 2])
    same["moving"][3:5] = [values.clone() for values in same["moving"][:2]]
    yield same
    for number, static in enumerate((None, True, False)):
        config = {
            "n_gram": 1 + number % 2,
            "stop_words": frozenset({"the"} if number else ()),
            "batch_size": 2 + number,
        }
        config["remove_subwords"] = number < 2
        orders = [torch.randperm(len(SENTENCES), generator=generator)[:5].tolist() for _ in range(2)]
        texts = [[SENTENCES[place] for place in order] for order in orders]
        case = {"name": f"texts, {static}", "scored": texts, "config": config if number else {}, "seed": draw(1000)}
        yield case | {"options": {} if static is None else {"static": static}}
    for count in (3, 8):
        yield {"name": f"correlation of {count}", "correlated": uniform(2, count).tolist()}


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
        if "split" in case:
            from moverscore.tokenizer import WordPieceTokenizer

            tokenizer = WordPieceTokenizer(PIECES)
            return {"pieces": [tokenizer._split(word) for word in case["split"]]}
        if "weighed" in case:
            from moverscore.idf import IdfWeights

            weight = IdfWeights(case["weighed"])
            return {"weights": [[float(weight(token)) for token in ("never", *WORDS[:4])] for _ in range(2)]}
        if "sentences" in case:
            return batch(case)
        if "flow" in case:
            return flowing(case)
        if "moving" in case:
            return moved(case)
        if "scored" in case:
            return scored(case)
        from moverscore.correlation import pearson

        return {"r": float(pearson(*case["correlated"])), "turned": float(pearson(*case["correlated"][::-1]))}


def some_encoder(case):
    from moverscore.encoder import EncoderConfig, TinyEncoder
    from moverscore.tokenizer import WordPieceTokenizer

    tokenizer = WordPieceTokenizer(PIECES)
    return tokenizer, TinyEncoder(tokenizer, {"dog": "cat"}, EncoderConfig(width=6, layers=6), case["seed"])


def batch(case):
    from moverscore.batching import collate

    given = [list(tokens) for tokens in case["sentences"]]
    found = collate(given, some_encoder(case)[1], lambda token: 0.5 + 0.25 * len(token))
    lengths = torch.tensor([len(tokens) for tokens in given])
    absent = torch.arange(int(lengths.max())) >= lengths.unsqueeze(1)
    # What the encoder makes of padding means nothing.
    embedding = found.embedding.masked_fill(absent.unsqueeze(2), 0.0)
    return {"embedding": embedding, "idf": found.idf, "tokens": found.tokens, "kept": given == case["sentences"]}


def flowing(case):
    from moverscore.transport import optimal_flow

    given = [values.clone() for values in case["flow"]]
    try:
        flow = optimal_flow(*given)
    except ValueError:
        return {"refused": True}
    kept = all(torch.equal(*pair) for pair in zip(given, case["flow"], strict=True))
    return {"flow": flow, "negative": bool((flow < -1e-7).any()), "kept": kept}


def moved(case):
    from moverscore.score import word_mover_score

    given = [values.clone() if torch.is_tensor(values) else [list(row) for row in values] for values in case["moving"]]
    found = word_mover_score(*given, **case["options"])
    kept = [
        torch.equal(values.nan_to_num(), before.nan_to_num()) if torch.is_tensor(before) else values == before
        for values, before in zip(given, case["moving"], strict=True)
    ]
    return {"scores": found, "kept": kept}


def scored(case):
    from moverscore.score import ScoreConfig, score_texts

    return {
        "scores": score_texts(*case["scored"], *some_encoder(case), ScoreConfig(**case["config"]), **case["options"])
    }
