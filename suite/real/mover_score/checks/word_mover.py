"""moverscore: idf, batches, distances, windows, n-grams and scores; then the experiment."""

import random
from collections import defaultdict

import numpy as np
import torch

WORDS = [
    "a",
    "b",
    "cd",
    "the",
    "of",
    "Winter",
    "summers",
    "mountains",
    "running",
    "x1",
    "no",
    "blue",
    "river",
    "understand",
]
MARKS = ["", "", "", ",", ".", "!", " ...", "-", "'s", "?!"]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    chance = random.Random(seed)

    def sentence(low=2, high=8):
        return " ".join(chance.choice(WORDS) + chance.choice(MARKS) for _ in range(chance.randint(low, high)))

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    texts = [sentence() for _ in range(9)]
    for name, given, length in (
        ("many", texts, 64),
        ("one", ["the river of the river"], 64),
        ("none", [], 64),
        ("the same twice", ["a b", "a b", "b"], 64),
        ("fifty", [sentence(1, 4) for _ in range(50)], 64),
        ("empty texts", ["", " ", "a"], 64),
        ("long texts, cut", ["a b cd the of", "of", "b b b of x1"], 5),
    ):
        yield {"name": f"idf of {name}", "counted": given, "length": length}

    for name, given, pad, length in (
        ("batch", texts, 0, 64),
        ("batch with another padding", texts, 7, 64),
        ("batch of one", texts[:1], 5, 64),
        ("batch of equal lengths", ["a b", "b a", "x1 the"], 4, 64),
        ("batch with empty ones", ["", "a b the", " "], 9, 64),
        ("batch, cut", [*texts, "a b cd", "a b cd the", "a b cd the of"], 3, 6),
        ("batch of the same twice", ["a b", "the", "a b", "a b"], 2, 64),
    ):
        yield {"name": name, "batch": given, "filler": pad, "length": length}

    for name, x, y, scale in (
        ("distances", normal(5, 7), normal(4, 7), 1.0),
        ("distances of one row", normal(1, 3), normal(1, 3), 1.0),
        ("distances of numbers", normal(6, 1), normal(3, 1), 2.0),
        ("large distances", normal(5, 90), normal(8, 90), 20.0),
        ("small distances", normal(5, 9), normal(8, 9), 1e-3),
    ):
        yield {"name": name, "x": x * scale, "y": y * scale}
    x = normal(6, 10)
    yield {"name": "distances of the same rows", "x": x, "y": x.flip(0)}
    yield {"name": "distances of rows that are near", "x": 10 * x, "y": 10 * x + 1e-4}
    yield {"name": "distances of long rows that are near", "x": 30 + x, "y": 30 + x + 0.01}
    square = normal(6, 6)
    yield {"name": "distances of rows and columns", "x": square, "y": square.T, "view": True}
    x, y = 100 * normal(100, 100).sign(), 30 * normal(90, 100).clamp(-3, 3)
    y[0] = -x[0]
    yield {"name": "distances of many rows", "x": x, "y": y}

    windows = []
    for size in (0, 1, 2, 3, 4, 5, 9, 100):
        windows += [[size, w, o] for w in (1, 2, 3, 4, 10, 60) for o in (1, 2, 3, 12)]
    yield {"name": "windows", "windows": windows, "kind": "integers"}
    yield {"name": "windows of floats", "windows": windows[::3], "kind": "floats"}
    for kind in ("reversed", "spread", "column", "small"):
        yield {"name": f"windows, {kind}", "windows": windows[5::4], "kind": kind}
    yield {"name": "windows by default", "windows": [[size, None, None] for size in (0, 2, 3, 8)], "kind": "integers"}

    for name, ids, n, o, low in (
        ("words", [1, 2, 3, 5, 8], 1, 1, 0.1),
        ("pairs", [1, 2, 3, 5, 8], 2, 1, 0.1),
        ("triples, two apart", [0, 1, 2, 3, 5, 7, 8], 3, 2, 0.1),
        ("all in one", [1, 2, 5], 50, 1, 0.1),
        ("as many as there are", [1, 2, 5], 3, 1, 0.1),
        ("no tokens", [], 2, 1, 0.1),
        ("one token", [4], 1, 1, 0.1),
        ("in another order, repeated", [8, 1, 1, 4, 0], 2, 1, 0.1),
        ("with small weights", [1, 2, 3, 5, 8], 2, 1, 1e-6),
        ("without weights", [1, 2, 3], 2, 1, 0.0),
    ):
        weights = torch.rand(10, generator=generator, dtype=torch.float64)
        if name == "words":
            weights[2] = 0
        weights = weights * (20 if low == 0.1 else low)
        yield {"name": f"n-grams, {name}", "ids": ids, "n": n, "o": o, "embedding": 3 * normal(10, 4), "idf": weights}
    # Behind heavy tokens come light ones, and some that weigh nothing.
    for n, o in ((1, 1), (3, 2), (40, 1)):
        weights = torch.cat([torch.full((50,), 20.0), torch.full((45,), 0.01), torch.zeros(5)]).double()
        embedding = 5 + 5 * torch.rand(100, 4, generator=generator, dtype=torch.float64)
        given = {"ids": list(range(100)), "n": n, "o": o, "embedding": embedding, "idf": weights}
        yield {"name": f"n-grams, a hundred places, {n} and {o}", **given}

    def scored(name, count=3, words=(2, 8), **more):
        pairs = [[sentence(*words) for _ in range(count)] for _ in range(2)]
        more = {"call": {}, "layers": 7, "model": 0, "idf": "own", "length": 64} | more
        return {"name": name, "refs": pairs[0], "hyps": pairs[1], "texts": texts, "scored": more}

    yield scored("scores")
    yield scored("scores of one", count=1)
    yield scored("scores of none", count=0)
    yield scored("scores of two sides' weights", idf="two")
    yield scored("scores of plain weights", idf="plain")
    yield scored("scores of weights that are mostly 0", idf="few")
    yield scored("scores of large weights", idf="large")
    yield scored("scores without weights of the hypothesis", idf="no hypothesis")
    yield scored("scores without weights of the reference", idf="no reference")
    yield scored("scores without weights", idf="none")
    for n in (2, 3, 5, 50):
        yield scored(f"scores of {n}-grams", call={"n_gram": n})
        yield scored(f"scores of {n}-grams, with subwords", call={"n_gram": n, "remove_subwords": False}, idf="two")
    yield scored("scores with subwords", call={"remove_subwords": False})
    yield scored("scores with stop words", call={"stop_words": ["the", "of", "a"]})
    yield scored("scores with stop words, pairs", call={"stop_words": ["the", "river", "##ns"], "n_gram": 2})
    yield scored("scores with special tokens stopped", call={"stop_words": ["[CLS]", "[SEP]"]}, idf="plain")
    for stopped in (["[CLS]", "[SEP]", "a"], ["[CLS]", "[SEP]", "b"]):
        given = scored("scores with all of one side stopped", call={"stop_words": stopped}, idf="plain")
        yield given | {"refs": ["a", "the b", "b, b"], "hyps": ["b a", "a!", "a"]}
    for size in (1, 2, 5):
        yield scored(f"scores, batches of {size}", count=5, call={"batch_size": size}, idf="two")
    yield scored("scores, batches of 2, pairs", count=4, call={"batch_size": 2, "n_gram": 2}, idf="two")
    for layers in (1, 2, 4, 5, 6, 12):
        yield scored(f"scores of {layers} layers", layers=layers, count=2)
    yield scored("scores of another model", model=3, idf="two")
    yield scored("scores of longer vectors", model=4, scale=30.0)
    yield scored("scores of short vectors", model=5, scale=0.012, short=True)
    yield scored("scores of cut texts", length=6)
    given = scored("scores of empty texts", idf="plain")
    yield given | {"refs": ["", "a b", " "], "hyps": ["the", "", ""]}
    given = scored("scores of the same texts", idf="two")
    yield given | {"hyps": list(given["refs"])}
    given = scored("scores of other orders", idf="plain")
    yield given | {"refs": ["a b cd the", "no river of blue"], "hyps": ["the cd b a", "blue of river no"]}
    given = scored("scores of marks", idf="plain")
    yield given | {"refs": ["... ... a", "- ! b", "a.b"], "hyps": ["a ...", "?! b's", "a. b"]}
    # Tokens as they are written: more than one mark, other marks, capitals, "##" further on.
    refs = ["a () b <= the", "the \u2014 $ \u2026 + river", "The the a##b of ## OF"]
    hyps = ["b ( ) a -- cd", "river ~ ` \u201c the ^ |", "of the -. ab x##"]
    for call in ({}, {"remove_subwords": False, "n_gram": 2}, {"stop_words": ["the", "--"]}):
        given = scored(f"scores of tokens as they are written, {call}", idf="plain", written=True, call=call)
        yield given | {"refs": refs, "hyps": hyps}
    call = {"remove_subwords": False, "stop_words": ["the", "##ns"]}
    given = scored("scores with subwords and stop words", idf="plain", call=call)
    yield given | {"refs": ["the mountains", "summers of the river"], "hyps": ["running the", "the understand"]}
    # N-grams that weigh nothing count in the greatest distance.
    for idf in ("reference's start", "hypothesis' start"):
        sides = ["a cd the of river", "no x1 b of blue"], ["", ","]
        refs, hyps = sides if idf == "reference's start" else sides[::-1]
        yield scored(f"scores of the {idf} alone", idf=idf) | {"refs": refs, "hyps": hyps}
    # The length of a mean that is nearly zero isn't great beside what is added to it.
    given = scored("scores of pairs that nearly cancel", idf="plain", opposite=True, call={"n_gram": 2})
    yield given | {"refs": ["a b", "the b a of", "no"], "hyps": ["the river", "no blue", "b a"]}
    yield scored("scores of twenty", count=20, words=(1, 1), idf="two")
    yield scored("scores of long texts", count=1, words=(20, 20), idf="two")
    yield scored("scores after changes", count=2, model=2, idf="two", words=(4, 4), changes=True)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    import moverscore

    moverscore.device = "cpu"
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "windows" in case:
        return {"windows": [_windows(moverscore.slide_window, *item, case["kind"]) for item in case["windows"]]}
    if "x" in case:
        return _distances(moverscore.pairwise_distances, case)
    if "ids" in case:
        return _ngrams(moverscore.load_ngram, case)
    tokenizer, model = moverscore.tokenizer, moverscore.model
    try:
        return _with_globals(moverscore, case)
    finally:
        moverscore.tokenizer, moverscore.model = tokenizer, model


def _with_globals(module, case):
    module.tokenizer = type(module.tokenizer)(case["length"] if "length" in case else case["scored"]["length"])
    if "counted" in case:
        given = list(case["counted"])
        found = module.get_idf_dict(given, nthreads=1)
        items = sorted(found.items())
        unchanged = given == case["counted"]
        given.append("a")
        unknown = [found[key] for key in (100000, -1, 100000)]
        # The same strings and one more, cut earlier.
        module.tokenizer.max_len = 4
        again = module.get_idf_dict([*case["counted"], "the"][:50], nthreads=1 + len(case["counted"]) % 2)
        unknown.append(found[100001])
        return {
            "is a dict": isinstance(found, dict),
            "ids": [int(key) for key, _ in items],
            "values": [value for _, value in items],
            "floats": all(isinstance(value, float) for _, value in items),
            "unknown": unknown,
            "unchanged": unchanged,
            "again": [[int(key), value] for key, value in sorted(again.items())],
        }
    if "batch" in case:
        return _batch(module, case)
    return _scores(module, case)


def _batch(module, case):
    given = list(case["batch"])
    calls = []

    def numericalize(tokens):
        calls.append(list(tokens))
        return [
            case["filler"] if token in ("[PAD]", "<none>") else 20_000_011 + len(token) * 13 + ord(token[-1])
            for token in tokens
        ]

    weights = _Weights()
    # The same list each time for the same string.
    table = {text: text.split() for text in given}
    found = module.collate_idf(given, table.get, numericalize, weights, device="cpu")
    other = module.collate_idf(
        given, module.tokenizer.tokenize, numericalize, defaultdict(lambda: 2.5), "<none>", "cpu"
    )
    observed = {}
    for name, result in (("own", found), ("other", other)):
        padded, idf, lens, mask, tokens = result
        observed[name] = {
            "padded": padded,
            "idf": idf,
            "lens": lens,
            "mask": mask,
            "tokens": [list(row) for row in tokens],
            "dtypes": [str(item.dtype) for item in (padded, idf, lens, mask)],
            "kinds": [isinstance(tokens, list), isinstance(result, tuple), len(result)],
        }
    unchanged = [given == case["batch"], table == {text: text.split() for text in given}]
    return {"single": observed, "unchanged": unchanged}


class _Weights:
    def __getitem__(self, number):
        return number / 7


def _distances(function, case):
    observed = {"single": {}, "double": {}, "facts": {}}
    for dtype in (torch.float32, torch.float64):
        for layout in ("plain", "turned"):
            x, y = (_laid_out(case[name].to(dtype), layout) for name in ("x", "y"))
            if "view" in case:
                y = x.T
            before = x.clone(), y.clone()
            found = function(x, y)
            scale = x.square().sum(dim=1)[:, None] + y.square().sum(dim=1)
            observed["single" if dtype == torch.float32 else "double"][layout] = (found / scale).double()
            observed["facts"][f"{dtype} {layout}"] = {
                "dtype": str(found.dtype),
                "not negative": bool((found >= 0).all()),
                "unchanged": torch.equal(before[0], x) and torch.equal(before[1], y),
            }
    return observed


def _laid_out(item, layout):
    return item.T.contiguous().T if layout == "turned" else item.clone()


def _windows(function, size, w, o, kind):
    numbers = (np.arange(size) * 7) % 31
    if kind == "integers":
        numbers = 30_000_001 * numbers - 5
    elif kind == "floats":
        numbers = numbers / 7 + 1000
    elif kind == "reversed":
        numbers = numbers[::-1]
    elif kind == "spread":
        numbers = np.repeat(numbers, 3)[1::3]
    elif kind == "column":
        numbers = np.stack([numbers, numbers + 100], axis=1)[:, 1]
    elif kind == "small":
        numbers = numbers.astype(np.int16)
    before = numbers.copy()
    found = function(numbers) if w is None else function(numbers, w=w, o=o)
    lists = isinstance(found, list) and all(isinstance(row, list) for row in found)
    return [[[float(number) for number in row] for row in found], lists, bool((numbers == before).all())]


def _ngrams(function, case):
    ids = list(case["ids"])
    embedding, idf = case["embedding"].float(), case["idf"].float()
    wide = torch.stack([embedding, embedding + 9], dim=-1)[..., 0]
    before = embedding.clone(), idf.clone()
    observed, facts = [], []
    for given in (embedding, wide):
        found, weights = function(ids, given, idf, case["n"], case["o"])
        observed.append([found, list(weights)])
        facts.append(
            {
                "kinds": [isinstance(weights, list), all(isinstance(item, float) for item in weights)],
                "dtype": str(found.dtype),
                "shape": list(found.shape),
            }
        )
    unchanged = torch.equal(before[0], embedding) and torch.equal(before[1], idf) and ids == case["ids"]
    return {"single": observed, "facts": facts, "unchanged": unchanged}


def _scores(module, case):
    from types import SimpleNamespace

    from pytorch_pretrained_bert.modeling import BertModel

    more = case["scored"]
    if more["model"] or more["layers"] != 7:
        torch.manual_seed(more["model"])
        module.model = _Model(
            BertModel(SimpleNamespace(layers=more["layers"])), more.get("scale", 1.0), "short" in more
        )
    if "opposite" in more:
        module.model = _Opposite(module.tokenizer.convert_tokens_to_ids(["a", "b"]))
    if "written" in more:
        module.tokenizer = _Written(module.tokenizer)
    made = {}
    for place, text in enumerate(case["texts"]):
        for number in module.process(text):
            made.setdefault(number, 0.2 + 0.3 * (place + number % 5))
    two = [
        defaultdict(lambda: 3.0, made),
        defaultdict(lambda: 0.7, {number: 4 - weight for number, weight in made.items()}),
    ]
    zero = defaultdict(lambda: 0.0)
    weights = {
        "own": [two[0], two[0]],
        "two": two,
        "plain": [defaultdict(lambda: 1.0)] * 2,
        "few": [defaultdict(lambda: 1.3, dict.fromkeys([1, 2, *list(made)[::2]], 0.0))] * 2,
        "large": [defaultdict(lambda: 10.0, {1: 0.1})] * 2,
        "no hypothesis": [two[0], zero],
        "no reference": [zero, two[1]],
        "none": [zero, zero],
        "reference's start": [defaultdict(lambda: 0.0, {1: 2.0}), zero],
        "hypothesis' start": [zero, defaultdict(lambda: 0.0, {1: 2.0})],
    }[more["idf"]]
    before = [dict(side) for side in weights]
    arguments = [list(case["refs"]), list(case["hyps"])]
    call = {name: list(item) if isinstance(item, list) else item for name, item in more["call"].items()}
    now = module.model, module.tokenizer, module.device
    found = module.word_mover_score(*arguments, *weights, device="cpu", **call)
    again = module.word_mover_score(*arguments, *weights, device="cpu", **call)
    observed = {
        "score": [[float(item) for item in scores] for scores in (found, again)],
        "kinds": [isinstance(found, list), all(isinstance(item, float) for item in found)],
        "unchanged": [arguments == [case["refs"], case["hyps"]], call == more["call"]],
        "weights": all(
            side[number] == old[number] for side, old in zip(weights, before, strict=True) for number in old
        ),
        "globals": all(
            item is kept for item, kept in zip((module.model, module.tokenizer, module.device), now, strict=True)
        ),
    }
    if "changes" in more:
        # The same objects, with other things in them.
        later = []
        for change in ("weights", "vectors", "length"):
            if change == "weights":
                weights[0][1], weights[1][2] = 9.0, 8.0
            elif change == "vectors":
                with torch.no_grad():
                    module.model.bert.words.copy_(module.model.bert.words.flip(1))
            else:
                module.tokenizer.max_len = 5
            later.append(module.word_mover_score(*arguments, *weights, device="cpu", **call))
        observed["score"].append([[float(item) for item in scores] for scores in later])
    return observed


class _Written:
    """A tokenizer that splits at blanks alone."""

    def __init__(self, tokenizer):
        self.max_len, self.convert_tokens_to_ids = tokenizer.max_len, tokenizer.convert_tokens_to_ids

    def tokenize(self, text):
        return text.split()


class _Model(torch.nn.Module):
    """A model of another depth, with vectors of another length, or of two lengths, layer by layer."""

    def __init__(self, bert, scale, two=False):
        super().__init__()
        self.bert, self.scale, self.two = bert, scale, two

    def forward(self, ids, segments, attention_mask=None, output_all_encoded_layers=None):
        states, pooled = self.bert(ids, segments, attention_mask)
        if self.two:
            sizes = [self.scale * (1 + 3 * (place % 2)) for place in range(len(states))]
            states = [torch.nn.functional.normalize(state, dim=-1) for state in states]
            return [size * state for size, state in zip(sizes, states, strict=True)], pooled
        return [self.scale * (1 + place) * state for place, state in enumerate(states)], pooled


class _Opposite(torch.nn.Module):
    """A model of one layer, in which two tokens point away from each other but for a small part."""

    def __init__(self, two):
        super().__init__()
        self.two = two

    def forward(self, ids, segments, attention_mask=None, output_all_encoded_layers=None):
        angles = 0.3 + ids % 7 / 5
        states = torch.stack([angles.cos(), angles.sin()], dim=-1)
        for number, sign in zip(self.two, (1.0, -1.0), strict=True):
            states[ids == number] = torch.tensor([sign, 1e-4])
        return [states], states[:, 0]
