"""bert-score: idf weights, batches, greedy matching and whole scores; then the experiment."""

import copy
import random
from collections import defaultdict

import torch

WORDS = ["a", "b", "cd", "the", "of", "Winter", "summers", "mountains", "running", "x1", "no", "yes", "blue", "river"]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    chance = random.Random(seed)

    def sentence(low=1, high=9):
        return " ".join(chance.choice(WORDS) for _ in range(chance.randint(low, high)))

    def ids():
        return [chance.randint(0, 12) for _ in range(chance.randint(1, 8))]

    def pairs(name, lens, other_lens, width=6, layers=0, dtype="float32", masks="bool", ends=0.0, common=1.0, **more):
        """Embeddings, masks and weights of two sides; what they have in common makes all similarities positive."""

        def side(lengths):
            longest = max(lengths)
            shape = (len(lengths), longest, *([layers] if layers else []), width)
            embeddings = torch.rand(*shape, generator=generator, dtype=torch.float64) * 2 - 1 + common
            mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
            weights = torch.rand(len(lengths), longest, generator=generator, dtype=torch.float64) * 3 + 0.1
            weights[:, 0] *= ends
            for row, length in enumerate(lengths):
                weights[row, length - 1] *= ends
            kind = getattr(torch, dtype)
            return [embeddings.to(kind), mask.to(getattr(torch, masks)), (weights * mask).to(kind)]

        return {"name": name, "sides": side(lens) + side(other_lens), "layers": bool(layers)} | more

    def lengths(count, low=3, high=10):
        return [chance.randint(low, high) for _ in range(count)]

    def scored(name, count=5, groups=None, **more):
        candidates = [sentence() for _ in range(count)]
        if groups:
            references = [[sentence() for _ in range(groups[row % len(groups)])] for row in range(count)]
        else:
            references = [sentence() for _ in range(count)]
        return {"name": name, "candidates": candidates, "references": references, "settings": {}, "calls": [{}]} | more

    texts = [sentence() for _ in range(12)]
    for name, given, length in (
        ("many", texts, 64),
        ("equal sentences", [*texts[:3], *texts[:2], "a b"], 64),
        ("short encodings", texts, 5),
        ("one", texts[:1], 64),
    ):
        yield {"name": f"idf of {name}", "sentences": given, "length": length}
    for count in (1, 20):
        yield {"name": f"idf of {count} lists of ids", "sentences": [ids() for _ in range(count)], "length": None}
    for name, given, pad, length in (
        ("batch", texts, 0, 64),
        ("batch with another padding", texts, 7, 64),
        ("batch whose padding is a piece", ["a b", "the", "a b the"], "the", 64),
        ("batch of one", texts[:1], 3, 64),
        ("batch of short encodings", texts, 2, 6),
    ):
        weights = [chance.uniform(0, 3) for _ in range(2 + len(WORDS))]
        yield {"name": name, "batch": given, "pad": pad, "length": length, "weights": weights}

    for dtype in ("float32", "float64"):
        for masks in ("bool", "int64"):
            for layers in (0, 3):
                name = f"pairs in {dtype}, masks in {masks}{', layers' if layers else ''}"
                more = {"layers": layers, "dtype": dtype, "masks": masks}
                yield pairs(name, lengths(4), lengths(4), ends=chance.choice([0.0, 1.0]), **more)
    yield pairs("one pair", lengths(1), lengths(1), width=3)
    yield pairs("one token each", [3], [3])
    yield pairs("many pairs, wide", lengths(30), lengths(30), width=64)
    yield pairs("as many layers as pairs", [5, 9, 4], [7, 3, 8], layers=3, width=3)
    yield pairs("layers of one pair", lengths(1), lengths(1), layers=4, ends=1.0)
    yield pairs("weights at the ends", lengths(4), lengths(4), ends=1.0)
    # Without padding, similarities of all signs are matched as they are.
    for layers in (0, 2):
        yield pairs(f"negative similarities, {layers} layers", [3] * 8, [3] * 8, 2, layers, "float64", common=-0.1)
        given = pairs(f"opposite sides, {layers} layers", [5] * 3, [5] * 3, layers=layers, common=1.5, dtype="float64")
        given["sides"][3] = -given["sides"][3]
        yield given
    given = pairs("lengths far apart", lengths(4), lengths(4), dtype="float64")
    for place in (0, 3):
        given["sides"][place] *= 10 ** chance.uniform(-2, 2)
    yield given
    given = pairs("equal sentences", [5, 7], [5, 7])
    given["sides"][3] = given["sides"][0].clone()
    yield given

    idf = {"idf": True, "idf_sents": texts}
    rescaled = {"baseline": [chance.uniform(-0.5, 0.9) for _ in range(3)]}
    yield scored("scores", count=12)
    yield scored("scores of one", count=1)
    yield scored("scores with idf", settings=idf)
    yield scored("scores, rescaled", **rescaled)
    yield scored("scores, rescaled with idf, in batches", settings=idf, calls=[{"batch_size": 2}], **rescaled)
    yield scored("scores of all layers", settings={"all_layers": True}, calls=[{"batch_size": 3}])
    yield scored("scores of all layers, rescaled with idf", settings={"all_layers": True} | idf, **rescaled)
    yield scored("groups of references", count=12, groups=[2, 1, 4])
    yield scored("groups of references, idf, in batches", groups=[3, 2], settings=idf, calls=[{"batch_size": 4}])
    yield scored("groups of references, rescaled", count=12, groups=[1, 3], **rescaled)
    yield scored("one group", count=1, groups=[6])
    yield scored("idf and baseline unused", settings={"idf_sents": texts}, rescale=False, **rescaled)
    yield scored("scores and hash", settings=idf, calls=[{"return_hash": True, "verbose": True}], **rescaled)
    yield scored("groups and hash", groups=[2], calls=[{"return_hash": True}])
    yield scored("special tokens with other ids", ends=[chance.randint(3, 900), 0])
    yield {"name": "experiment", "seed": seed % 1000}

    yield {"name": "idf of no sentences", "sentences": [], "length": 64, "edge": True}
    yield {"name": "idf of empty sentences", "sentences": ["", sentence(), "  "], "length": 64, "edge": True}
    weights = [chance.uniform(0, 3) for _ in range(2 + len(WORDS))]
    empty = {"batch": ["", sentence(), " "], "pad": 5, "length": 64, "weights": weights}
    yield {"name": "batch with empty sentences", **empty, "edge": True}
    for layers in (0, 2):
        for name, lens in {"candidate": ([5, 9, 4], [7, 2, 8]), "reference": ([2, 9, 4], [7, 3, 8])}.items():
            yield pairs(f"an empty {name}, {layers} layers", *lens, layers=layers, edge=True)
    yield pairs("both empty", [5, 2], [5, 2], masks="int64", edge=True)
    given = pairs("not contiguous", lengths(4), lengths(4), edge=True)
    given["sides"] = [item.transpose(0, 1).contiguous().transpose(0, 1) for item in given["sides"]]
    yield given
    for name, settings in {"": {}, ", idf": idf}.items():
        given = scored(f"scores with empty sentences{name}", count=4, settings=settings, edge=True)
        given["candidates"][0], given["references"][2] = "", " "
        yield given
    yield scored("scores without idf weights", settings={"idf": True}, edge=True)
    yield scored("groups without idf weights", settings={"idf": True}, groups=[2], edge=True)
    changed = [{"batch_size": 3}, {"_idf": False}, {"_idf": True, "_rescale_with_baseline": False}]
    yield scored("scores after changes of settings", settings=idf, calls=changed, edge=True, **rescaled)
    changed = [{}, {"moved": True, "return_hash": True}, {"ends": [0, 1]}, {"ends": chance.sample(range(3, 900), 2)}]
    yield scored("other sentences, then other special tokens", calls=changed, edge=True)
    changed = [{}, {"all_layers": False}]
    yield scored("all layers, then the last", settings={"all_layers": True}, calls=changed, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "sentences" in case:
        return _idf(case)
    if "batch" in case:
        return _batch(case)
    if "sides" in case:
        return _pairs(case)
    return _scored(case)


def _tokenizer(length):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("toy")
    tokenizer.model_max_length = length
    return tokenizer


def _idf(case):
    from bert_score.utils import get_idf_dict

    tokenizer = _tokenizer(case["length"]) if case["length"] else None
    sentences = copy.deepcopy(case["sentences"])
    found = get_idf_dict(sentences, tokenizer, nthreads=0)
    items = sorted(found.items())
    return {
        "ids": [int(key) for key, _ in items],
        "unchanged": sentences == case["sentences"],
        "double": {"known": [float(value) for _, value in items], "unknown": float(found[100000])},
    }


def _batch(case):
    from bert_score.utils import collate_idf

    tokenizer = _tokenizer(case["length"])
    pad = case["pad"]
    tokenizer.pad_token_id = tokenizer.encode(pad)[1] if isinstance(pad, str) else pad
    known = {}
    for number in tokenizer.encode(" ".join(WORDS[: len(case["weights"])])):
        known.setdefault(number, case["weights"][len(known) % len(case["weights"])])
    texts = list(case["batch"])
    padded, idf, lens, mask = collate_idf(texts, tokenizer, defaultdict(lambda: 9.5, known), device="cpu")
    return {
        "padded": padded,
        "idf": idf,
        "lens": lens,
        "mask": mask,
        "dtypes": [str(item.dtype) for item in (padded, idf, lens, mask)],
        "unchanged": texts == case["batch"],
    }


def _pairs(case):
    from bert_score.utils import greedy_cos_idf

    sides = [item.clone() for item in case["sides"]]
    found = greedy_cos_idf(*sides, case["layers"])
    double = case["sides"][0].dtype == torch.float64
    # Embeddings and weights may be overwritten, and masks may not.
    facts = [torch.equal(sides[place], case["sides"][place]) for place in (1, 4)]
    facts += [str(item.dtype) for item in found]
    return {("double" if double else "single"): list(found), "facts": facts}


def _scored(case):
    from bert_score.scorer import BERTScorer

    scorer = BERTScorer("toy", num_layers=3, nthreads=0, device="cpu", lang="en", **case["settings"])
    if "baseline" in case:
        baseline = torch.tensor(case["baseline"])
        # Layers have baselines of their own.
        layered = torch.linspace(0.2, 1, 19)[:, None, None] * baseline
        scorer._baseline_vals = layered if scorer.all_layers else baseline
        scorer._rescale_with_baseline = case.get("rescale", True)
    tokenizer = scorer._tokenizer
    ends = case.get("ends", [tokenizer.cls_token_id, tokenizer.sep_token_id])
    seen = []
    for call in case["calls"]:
        call = dict(call)
        for name in {"_idf", "_rescale_with_baseline", "all_layers"} & call.keys():
            setattr(scorer, name, call.pop(name))
        tokenizer.cls_token_id, tokenizer.sep_token_id = call.pop("ends", ends)
        texts = copy.deepcopy([case["candidates"], case["references"]])
        if call.pop("moved", False):
            texts = [texts[0][1:] + texts[0][:1], texts[1][::-1]]
        kept = copy.deepcopy(texts)
        state = scorer.idf, scorer.rescale_with_baseline, scorer.all_layers
        try:
            found = scorer.score(*texts, **call)
        except AssertionError:
            return {"refused": True}
        if call.get("return_hash"):
            found, told = found
            seen.append(told == scorer.hash)
        seen.append(list(found))
        seen.append([texts == kept, state == (scorer.idf, scorer.rescale_with_baseline, scorer.all_layers)])
        seen.append([tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id])
        seen.append([scorer._model.training, all(item.requires_grad for item in scorer._model.parameters())])
    return {"found": seen}
