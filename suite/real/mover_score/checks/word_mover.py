"""moverscore: idf weights, batches, distances, windows, n-grams and scores; then the experiment."""

import copy
import random
from collections import defaultdict

import numpy as np
import torch

WORDS = ["a", "b", "cd", "the", "of", "Winter", "summers", "mountains", "running", "x1", "no", "blue", "river"]
MARKS = ["", "", "", ",", ".", "!", " ...", "-", "'s", "?!"]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    chance = random.Random(seed)

    def sentence(low=2, high=7):
        return " ".join(chance.choice(WORDS) + chance.choice(MARKS) for _ in range(chance.randint(low, high)))

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    texts = [sentence() for _ in range(9)]
    for name, given, length in (
        ("many", texts, 64),
        ("one", texts[:1], 64),
        ("equal texts", [*texts[:3], *texts[:2], "a b"], 64),
        ("cut texts", texts, 5),
    ):
        yield {"name": f"idf of {name}", "counted": given, "length": length}
    for name, given, pad, length in (
        ("batch", texts, 0, 64),
        ("batch with another padding", texts, 7, 64),
        ("batch of one", texts[:1], 5, 64),
        ("batch of cut texts", texts, 3, 6),
    ):
        yield {"name": name, "batch": given, "filler": pad, "length": length}

    for name, n, m, d in (("distances", 5, 4, 7), ("distances of one row", 1, 3, 5), ("distances, wide", 8, 6, 48)):
        for dtype in (torch.float32, torch.float64):
            scale = chance.choice([0.3, 3.0])
            yield {
                "name": f"{name}, {dtype}",
                "x": (normal(n, d) * scale).to(dtype),
                "y": (normal(m, d) * scale).to(dtype),
            }
    x = normal(6, 10)
    yield {"name": "distances of the same rows", "x": x, "y": x.flip(0)}

    def windows(count, low):
        return [[chance.randint(low, 12), chance.randint(1, 5), chance.randint(1, 4)] for _ in range(count)]

    yield {"name": "windows", "windows": windows(20, 1)}
    yield {"name": "wide windows", "windows": [[chance.randint(2, 5), chance.randint(5, 9), 2] for _ in range(5)]}
    yield {"name": "windows by default", "windows": [[chance.randint(3, 20), None, None] for _ in range(3)]}

    def ngrams(name, count, n, o, **more):
        places = sorted(chance.sample(range(10), count))
        weights = 1 + 3 * torch.rand(10, generator=generator)
        return (
            {"name": f"n-grams, {name}", "ids": places, "n": n, "o": o}
            | more
            | {
                "embedding": 3 * normal(10, 4).float(),
                "idf": weights * more.get("weight", 1.0),
            }
        )

    for n, o in ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2)):
        yield ngrams(f"{n} and {o}", chance.randint(5, 9), n, o)
    yield ngrams("all in one", chance.randint(2, 5), 50, 1)
    yield ngrams("no weights", 3, 2, 1, weight=0.0)

    def scored(name, count=3, words=(2, 7), **more):
        refs, hyps = ([sentence(*words) for _ in range(count)] for _ in range(2))
        more = {"call": {}, "layers": 7, "model": 0, "idf": "two", "length": 64} | more
        return {
            "name": f"scores{name}",
            "refs": refs,
            "hyps": hyps,
            "texts": texts,
            "scale": chance.uniform(0.2, 3),
        } | more

    stopped = chance.sample(["the", "of", "a", "b", "no", "river"], 3)
    yield scored("", idf="own")
    yield scored(" of plain weights", idf="plain")
    yield scored(" of other weights")
    for n in (2, 3, 50):
        yield scored(f" of {n}-grams", call={"n_gram": n}, idf="own")
        yield scored(f" of {n}-grams with subwords", call={"n_gram": n, "remove_subwords": False})
    yield scored(" with subwords", call={"remove_subwords": False})
    yield scored(" with stop words", call={"stop_words": stopped}, words=(5, 8))
    yield scored(" with stop words, pairs", call={"stop_words": [*stopped, "##ns"], "n_gram": 2}, words=(5, 8))
    call = {"stop_words": stopped, "n_gram": 2, "remove_subwords": False, "batch_size": 2}
    yield scored(" with every argument", count=5, call=call)
    for size in (1, 2):
        yield scored(f", batches of {size}", count=4, call={"batch_size": size})
    for layers in (1, 4, 5, 6, 12):
        yield scored(f" of {layers} layers", layers=layers, model=chance.randint(1, 99))
    yield scored(" of cut texts", length=6)
    given = scored(" of the same texts", idf="plain")
    yield given | {"hyps": list(given["refs"])}
    given = scored(" of marks", idf="plain")
    first, second = chance.sample(WORDS[:5], 2)
    yield given | {"refs": [f"... {first}", f"- ! {second}", "a.b"], "hyps": [f"{second} ...", f"?! {first}", "a. b"]}
    yield {"name": "experiment", "seed": seed % 1000}

    yield {"name": "idf of no texts", "counted": [], "length": 64, "edge": True}
    yield {"name": "idf of empty texts", "counted": ["", sentence(), " "], "length": 64, "edge": True}
    yield {"name": "batch with empty texts", "batch": ["", sentence(), " "], "filler": 9, "length": 64, "edge": True}
    yield {"name": "distances of columns", "x": normal(6, 4).T, "y": normal(6, 5).T, "edge": True}
    yield {"name": "windows of nothing", "windows": [[0, 2, 1], *windows(3, 0)], "edge": True}
    yield ngrams("no tokens", 0, 2, 1, edge=True)
    given = ngrams("embeddings in columns", 6, 2, 1, edge=True)
    yield given | {"embedding": 3 * normal(4, 10).float().T}
    yield scored(" of no texts", count=0, edge=True)
    given = scored(" of empty texts", idf="plain", edge=True)
    yield given | {"refs": ["", given["refs"][1], " "], "hyps": [given["hyps"][0], "", ""]}


def observe(case):
    import moverscore

    moverscore.device = "cpu"
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "windows" in case:
        return {"windows": [_windows(moverscore.slide_window, *item) for item in case["windows"]]}
    if "x" in case:
        return _distances(moverscore.pairwise_distances, case["x"], case["y"])
    if "ids" in case:
        given = copy.deepcopy([case["ids"], case["embedding"], case["idf"]])
        found, weights = moverscore.load_ngram(*given, case["n"], case["o"])
        unchanged = [given[0] == case["ids"], torch.equal(given[1], case["embedding"])]
        unchanged.append(torch.equal(given[2], case["idf"]))
        return {"n-grams": [found, [float(weight) for weight in weights]], "unchanged": unchanged}
    tokenizer, model = moverscore.tokenizer, moverscore.model
    try:
        moverscore.tokenizer = type(tokenizer)(case["length"])
        if "counted" in case:
            return _idf(moverscore, case)
        return _batch(moverscore, case) if "batch" in case else _scores(moverscore, case)
    finally:
        moverscore.tokenizer, moverscore.model = tokenizer, model


def _idf(module, case):
    texts = list(case["counted"])
    found = module.get_idf_dict(texts, nthreads=1)
    items = sorted(found.items())
    return {
        "ids": [int(key) for key, _ in items],
        "values": [float(value) for _, value in items],
        "unknown": float(found[100000]),
        "unchanged": texts == case["counted"],
    }


def _batch(module, case):
    def numericalize(tokens):
        return [case["filler"] if token == "<none>" else 2011 + len(token) * 13 + ord(token[-1]) for token in tokens]

    weights = defaultdict(lambda: 2.5, {number: number / 700 for number in range(2000, 2150)})
    texts = list(case["batch"])
    padded, idf, lens, mask, tokens = module.collate_idf(
        texts, module.tokenizer.tokenize, numericalize, weights, pad="<none>", device="cpu"
    )
    return {
        # What weights padding has is left open.
        "single": {"padded": padded, "idf": idf * mask, "lens": lens, "mask": mask},
        "tokens": [list(row) for row in tokens],
        "dtypes": [str(item.dtype) for item in (padded, idf, lens, mask)],
        "unchanged": texts == case["batch"],
    }


def _distances(function, x, y):
    kept = x.clone(), y.clone()
    found = function(x, y)
    scale = x.square().sum(dim=1)[:, None] + y.square().sum(dim=1)
    precision = "single" if x.dtype == torch.float32 else "double"
    unchanged = [torch.equal(x, kept[0]), torch.equal(y, kept[1])]
    return {precision: (found / scale).double(), "not negative": bool((found >= 0).all()), "unchanged": unchanged}


def _windows(function, size, w, o):
    numbers = (np.arange(size) * 7) % 31
    kept = numbers.copy()
    found = function(numbers) if w is None else function(numbers, w=w, o=o)
    return [[[float(number) for number in row] for row in found], bool(np.array_equal(numbers, kept))]


def _scores(module, case):
    from types import SimpleNamespace

    from pytorch_pretrained_bert.modeling import BertModel

    if case["model"]:
        torch.manual_seed(case["model"])
        module.model = _Model(BertModel(SimpleNamespace(layers=case["layers"])), case["scale"])
    made = {}
    for place, text in enumerate(case["texts"]):
        for number in module.process(text):
            made.setdefault(number, 0.2 + 0.3 * (place + number % 5))
    other = {number: 4 - weight for number, weight in made.items()}
    first, second = defaultdict(lambda: 3.0, made), defaultdict(lambda: 0.7, other)
    plain = defaultdict(lambda: 1.0)
    weights = {"own": [first, first], "two": [first, second], "plain": [plain, plain]}[case["idf"]]
    refs, hyps, call = copy.deepcopy([case["refs"], case["hyps"], case["call"]])
    found = module.word_mover_score(refs, hyps, *weights, device="cpu", **call)
    unchanged = [refs == case["refs"], hyps == case["hyps"], call == case["call"]]
    return {"score": [float(item) for item in found], "unchanged": unchanged}


class _Model(torch.nn.Module):
    """A model of another depth, with vectors of other lengths, layer by layer."""

    def __init__(self, bert, scale):
        super().__init__()
        self.bert, self.scale = bert, scale

    def forward(self, ids, segments, attention_mask=None, output_all_encoded_layers=None):
        states, pooled = self.bert(ids, segments, attention_mask)
        return [self.scale * (1 + place) * state for place, state in enumerate(states)], pooled
