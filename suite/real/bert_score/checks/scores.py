"""bert-score: idf, batches, greedy matching and whole scores; then the experiment."""

import random
import warnings
import zlib
from collections import defaultdict

import torch

WORDS = ["a", "b", "cd", "the", "of", "Winter", "summers", "mountains", "running", "x1", "no", "yes", "blue", "river"]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    chance = random.Random(seed)

    def sentence(low=1, high=9):
        return " ".join(chance.choice(WORDS) for _ in range(chance.randint(low, high)))

    texts = [sentence() for _ in range(12)]
    for name, given in {
        "many": texts,
        "one": ["the river of the river"],
        "none": [],
        "the same twice": ["a b", "a b", "b"],
        "empty sentences": ["", "  ", "a", "\t"],
        "a long sentence": [" ".join(chance.choice(WORDS) for _ in range(90)), "a"],
        "hundreds": [sentence(1, 4) for _ in range(300)],
    }.items():
        yield {"name": f"idf of {name}", "sentences": given, "ids": False, "length": 64}
    yield {"name": "idf with a process", "sentences": texts[:3], "ids": False, "length": 64, "threads": 1}
    yield {"name": "idf of short encodings", "sentences": texts, "ids": False, "length": 5}
    yield {"name": "idf of ids", "sentences": [[5, 6, 5], [6], [], [7, 6, 5, 5]], "ids": True, "length": 64}
    yield {
        "name": "idf of the first and the last id",
        "sentences": [[0, 10**6], [0, 3], [3]],
        "ids": True,
        "length": 64,
    }
    yield {"name": "idf of no ids", "sentences": [], "ids": True, "length": 64}

    for name, given, pad, length in (
        ("batch", texts, 0, 64),
        ("batch with another padding", texts, 7, 64),
        ("batch of one", texts[:1], 3, 64),
        ("batch of equal lengths", ["a b", "b a", "cd the"], 3, 64),
        ("batch with empty ones", ["", "a b the", " "], 5, 64),
        ("batch of empty ones", ["", " "], 5, 64),
        ("batch of short encodings", texts, 2, 6),
    ):
        yield {"name": name, "batch": given, "pad": pad, "length": length, "known": texts[::2]}

    def pairs(name, lens, other_lens, width=6, layers=0, common=1.0, **more):
        def side(lengths):
            longest = max(lengths) + more.get("longer", 0)
            shape = (len(lengths), longest, *([layers] if layers else []), width)
            directions = torch.randn(*shape, generator=generator, dtype=torch.float64)
            directions = directions + common
            directions = directions / directions.norm(dim=-1, keepdim=True)
            scale = more.get("scale", 0.5)
            sizes = 10 ** (scale * (2 * torch.rand(*shape[:-1], 1, generator=generator, dtype=torch.float64) - 1))
            mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
            weights = torch.rand(len(lengths), longest, generator=generator, dtype=torch.float64) * 3 + 0.1
            if more.get("ends", True):
                weights[:, 0] = 0
                for row, length in enumerate(lengths):
                    weights[row, length - 1] = 0
            return {"emb": directions * sizes, "mask": mask, "idf": weights * mask}

        more = {"dtype": "float32", "idf_dtype": "float32", "mask_dtype": "bool", "layout": "plain"} | more
        sides = [side(lens), side(other_lens)]
        return {"name": name, "sides": sides, "layers": layers, "more": more}

    yield pairs("pairs", [5, 9, 4], [7, 3, 8])
    yield pairs("pairs, all of one length", [6, 6], [6, 6])
    yield pairs("one pair", [7], [5])
    yield pairs("one pair of three tokens", [3], [3])
    yield pairs("many pairs", [3 + n % 9 for n in range(60)], [3 + (7 * n) % 11 for n in range(60)])
    # All on one side, for harmonic means are quotients of nearly nothing where signs cancel.
    yield pairs("one number wide", [4, 6], [5, 3], width=1, common=9.0)
    yield pairs("wide", [8, 12], [10, 20], width=64)
    yield pairs("integer masks", [5, 9, 4], [7, 3, 8], mask_dtype="int64")
    # Each side has its own type of masks and of weights.
    for types in (["bool", "int64"], ["int64", "bool"]):
        yield pairs(f"masks of {types[0]} and {types[1]}", [5, 9, 4], [7, 3, 8], mask_dtype=types)
    for types in (["float32", "float64"], ["float64", "float32"]):
        name = f"double, weights of {types[0]} and {types[1]}"
        yield pairs(name, [5, 9, 4], [7, 3, 8], dtype="float64", idf_dtype=types)
    yield pairs("with weights at the ends", [5, 9, 4], [7, 3, 8], ends=False)
    yield pairs("double", [5, 9, 4], [7, 3, 8], dtype="float64", idf_dtype="float64")
    yield pairs("double, layers", [5, 9, 4], [7, 3, 8], dtype="float64", idf_dtype="float64", layers=2)
    yield pairs("double, weights in single", [5, 9, 4], [7, 3, 8], dtype="float64")
    yield pairs("layers", [5, 9, 4], [7, 3, 8], layers=3)
    yield pairs("one layer", [5, 9, 4], [7, 3, 8], layers=1)
    yield pairs("layers of one pair", [5], [8], layers=4)
    yield pairs("as many layers as pairs", [5, 9, 4], [7, 3, 8], layers=3, width=3)
    yield pairs("layers as wide as long", [4, 4, 4, 4], [4, 4, 4, 4], layers=4, width=4)
    yield pairs("many layers, integer masks", [5, 3], [4, 6], layers=25, mask_dtype="int64")
    yield pairs("lengths of all sizes", [5, 9, 4], [7, 3, 8], scale=6)
    yield pairs("lengths of all sizes, double", [5, 9, 4], [7, 3, 8], scale=6, dtype="float64", idf_dtype="float64")
    for size in (-5.9, 5.9):
        given = pairs(f"lengths of 10 to the {size}", [5, 9], [7, 3], scale=0)
        given["sides"] = [side | {"emb": side["emb"] * 10**size} for side in given["sides"]]
        yield given
        given = pairs(f"references with lengths of 10 to the {size}", [5, 9], [7, 3], scale=0)
        given["sides"][0]["emb"] *= 10**size
        yield given
    # Embeddings of both sides point away from each other.
    for name, lens in {"padded": [5, 4, 6], "not padded": [5, 5, 5]}.items():
        for layers in (0, 2):
            given = pairs(f"negative, {name}, {layers} layers", lens, lens, common=3.0, layers=layers, ends=False)
            given["sides"][1]["emb"] = -given["sides"][1]["emb"]
            yield given
    for where, lens in enumerate([([5, 3], [6, 6]), ([6, 6], [5, 3])]):
        given = pairs(f"negative, padded on side {where}", *lens, common=3.0, ends=False)
        given["sides"][1]["emb"] = -given["sides"][1]["emb"]
        yield given
    # One side's tokens all have a match, but most of the other's point away.
    for one, name in enumerate(("recall", "precision")):
        given = pairs(f"{name} below 0", [4, 4], [4, 4], width=2, ends=False)
        chosen, others = given["sides"][one], given["sides"][1 - one]
        others["emb"] = torch.tensor([2.0, 0.1], dtype=torch.float64).expand(2, 4, 2)
        chosen["emb"] = torch.tensor([[1.0, 0.0], [-3.0, 0.2], [-1.0, 0.5], [-2.0, 0.3]], dtype=torch.float64)
        chosen["emb"] = chosen["emb"].expand(2, 4, 2)
        chosen["idf"] = torch.tensor([[0.5, 1, 2, 1], [0.6, 2, 1, 1]], dtype=torch.float64)
        yield given
    yield pairs("padding in all rows", [5, 3], [6, 4], longer=3)
    # Orthogonal tokens: nothing matches.
    given = pairs("nothing matches", [4, 4], [4, 4], width=2)
    for side, place in zip(given["sides"], (0, 1), strict=True):
        side["emb"] = torch.zeros_like(side["emb"])
        side["emb"][..., place] = 2.0
    yield given
    given = pairs("equal sentences", [5, 7], [5, 7])
    given["sides"][1] = {name: item.clone() for name, item in given["sides"][0].items()}
    yield given
    for layers in (0, 3):
        for ends in (True, False):
            what = f"{layers} layers, ends {'without' if ends else 'with'} weights"
            yield pairs(f"an empty candidate, {what}", [5, 9, 4], [7, 2, 8], layers=layers, ends=ends)
            yield pairs(f"an empty reference, {what}", [2, 9, 4], [7, 3, 8], layers=layers, ends=ends)
            yield pairs(f"both empty, {what}", [5, 2], [5, 2], layers=layers, ends=ends, mask_dtype="int64")
        yield pairs(f"all empty, {layers} layers", [2, 2], [2, 2], layers=layers, ends=False)
        for where in (0, 1):
            whose = ("an empty sentence", "what stands beside an empty sentence")[where]
            given = pairs(f"{whose} has no weights, {layers} layers", [2, 9], [7, 2], layers=layers)
            given["sides"][0]["idf"][where] = 0
            given["sides"][1]["idf"][1 - where] = 0
            yield given
            given = pairs(f"no weights on side {where}, {layers} layers", [5, 9], [7, 6], layers=layers)
            given["sides"][where]["idf"][1] = 0
            yield given
    given = pairs("large and small weights", [5, 9], [7, 6])
    for side in given["sides"]:
        side["idf"] = 1e3 * (side["idf"] / 3.1).pow(4).clamp(min=1e-7) * (side["idf"] > 0)
    yield given
    given = pairs("small weights", [5, 9], [7, 6])
    for side in given["sides"]:
        side["idf"] = (side["idf"] > 0) * 1e-4
    yield given
    # A sum of weights that is as small as it may be.
    given = pairs("one small weight, double", [3, 3], [3, 4], dtype="float64", idf_dtype="float64")
    for side in given["sides"]:
        side["idf"] = (side["idf"] > 0) * side["idf"].new_tensor(1e-4)
    yield given
    given = pairs("no weights on both sides", [5, 9], [7, 6])
    for side in given["sides"]:
        side["idf"][1] = 0
    yield given
    for layout in ("transposed", "spread"):
        yield pairs(f"memory {layout}", [5, 9, 4], [7, 3, 8], layout=layout)
        yield pairs(f"memory {layout}, layers", [5, 9, 4], [7, 3, 8], layout=layout, layers=3)

    def scored(name, count=5, groups=None, **more):
        candidates = [sentence() for _ in range(count)]
        if groups:
            references = [[sentence() for _ in range(groups[row % len(groups)])] for row in range(count)]
        else:
            references = [sentence() for _ in range(count)]
        given = {"settings": {}, "call": {}, "baseline": None, "later": []} | more
        return {"name": name, "cands": candidates, "refs": references, "scored": given}

    idf = {"idf": True, "idf_sents": texts}
    baseline = {"baseline": [0.31, -0.2, 0.57]}
    yield scored("scores")
    yield scored("scores of one", count=1)
    yield scored("scores of many", count=90)
    yield scored("scores with idf", settings=idf)
    yield scored("scores, rescaled", **baseline)
    yield scored("scores, not rescaled though there is a baseline", unused=True, **baseline)
    yield scored("scores, rescaled with idf", settings=idf, **baseline)
    yield scored("scores, batches of two", count=7, call={"batch_size": 2})
    yield scored("scores, batches of one", call={"batch_size": 1})
    # Words whose embeddings have nothing in common, so that some best matches are negative, and batches matter. Of two
    # others, precision and recall nearly cancel each other with some words.
    alone = [word for word in WORDS if word not in ("a", "x1")]
    few = [chance.choice(alone) for _ in range(30)]
    for size in (1, 4, 30):
        given = scored(f"scores of words, batches of {size}", bare=True, call={"batch_size": size})
        yield given | {"cands": few, "refs": [chance.choice(alone) for _ in few[1:]] + ["a b the river of no"]}
    later = [{"call": {"batch_size": 1}}, {"call": {"batch_size": 30}}]
    given = scored("scores of words, batches of other sizes", bare=True, call={"batch_size": 4}, later=later)
    yield given | {"cands": few, "refs": [chance.choice(alone) for _ in few[1:]] + ["a b the river of no"]}
    yield scored(
        "scores after other calls",
        later=[
            {"call": {"return_hash": True, "verbose": True}},
            {"all_layers": True, "call": {}},
            {"all_layers": False},
        ],
    )
    yield scored("scores of all layers", settings={"all_layers": True})
    yield scored("scores of all layers, batches", settings={"all_layers": True}, call={"batch_size": 3})
    given = scored("scores of all layers, rescaled", settings={"all_layers": True} | idf, layered=True)
    yield given | {"cands": ["", *given["cands"][1:]]}
    for settings in ({}, idf):
        name = "idf" if settings else "no idf"
        yield scored(f"groups of references, {name}", groups=[2, 1, 4], settings=settings)
        yield scored(f"groups of references, rescaled, {name}", count=8, groups=[3, 2], settings=settings, **baseline)
    yield scored("groups of one", groups=[1])
    yield scored("one group", count=1, groups=[10])
    yield scored("groups, rescaled by baselines of two signs", groups=[4], baseline=[-3.0, 0.9, 0.0])
    yield scored("groups, batches", count=6, groups=[3, 1], call={"batch_size": 4})
    given = scored("groups, all scores negative", count=3, apart=True)
    yield given | {"cands": ["no"] * 3, "refs": [["a", "b"], ["the"], ["yes", "of", "blue"]]}
    # Longer references of other candidates stand in the same batch, so that some negative matches become 0.
    later = [{"call": {"batch_size": size}} for size in (2, 3, 1)]
    given = scored("groups beside a longer reference", count=3, apart=True, later=later)
    yield given | {"cands": ["no"] * 3, "refs": [["a", "b"], ["the"], ["yes", "of blue river the"]]}
    yield scored("scores and hash", call={"return_hash": True}, settings=idf, **baseline)
    yield scored("scores and hash, told", call={"return_hash": True, "verbose": True}, groups=[2])
    given = scored("scores with empty sentences", count=4)
    yield given | {"cands": ["", *given["cands"][1:]], "refs": [*given["refs"][:2], " ", given["refs"][3]]}
    given = scored("scores with empty sentences, idf", count=4, settings=idf, **baseline)
    yield given | {"cands": ["", *given["cands"][1:]], "refs": [*given["refs"][:2], " ", given["refs"][3]]}
    # An idf of sentences without special tokens, so that these have weights.
    yield scored("scores with weights at the ends", foreign=True, settings={"idf": True}) | {
        "cands": ["", "a b", "the river"],
        "refs": ["a", "", "the river of"],
    }
    yield scored("groups with empty sentences", foreign=True, settings={"idf": True}) | {
        "cands": ["", "a b", "the river", "no"],
        "refs": [["a", ""], ["", "b a"], ["the river of", "", "no"], ["", " "]],
    }
    # Ids of special tokens that are 0, as in RoBERTa, the same, or also a word's.
    the = 3 + zlib.crc32(b"the") % 994
    later = [{"ends": ends} for ends in ([0, 2], [2, 0], [5, 5], [the, 0])]
    given = scored("scores with other special tokens", later=later)
    yield given | {
        "cands": ["the river the", "a b", "", "no the", "yes"],
        "refs": ["a", "the of", "b", "", "no yes the"],
    }
    yield scored(
        "scores after changes",
        settings=idf,
        call={"return_hash": True},
        later=[
            {"_idf": False},
            {"_idf": True},
            {"ends": [40, 41]},
            {"_idf": False},
            # No word is in both, so that all have weights.
            {"texts": [texts[0], ""]},
            {"_idf": True},
            {"words": 0.5},
        ],
    )
    yield scored(
        "scores after changes of baselines",
        later=[
            {"_rescale_with_baseline": True},
            {"_baseline_vals": [0.5, 0.1, 0.2]},
            {"_rescale_with_baseline": False},
        ],
        unused=True,
        **baseline,
    )
    yield scored("scores without idf weights", settings={"idf": True})
    yield scored("scores with an empty idf", settings={"idf": True}, none=True)
    yield scored("groups without idf weights", settings={"idf": True}, groups=[2])
    yield {"name": "experiment", "seed": seed % 1000}


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

    given = [list(item) if case["ids"] else item for item in case["sentences"]]
    tokenizer = None if case["ids"] else _tokenizer(case["length"])
    found = get_idf_dict(given, tokenizer, nthreads=case.get("threads", 0))
    unchanged = given == case["sentences"]
    for item in given if case["ids"] else []:
        item.append(9)
    given.append([9] if case["ids"] else "a")
    items = sorted(found.items())
    return {
        "is a dict": isinstance(found, dict),
        "ids": [int(key) for key, _ in items],
        "double": {
            "known": [value for _, value in items],
            "unknown": [found[key] for key in (100000, 4, 999999, 100000)],
        },
        "floats": all(isinstance(value, float) for _, value in items),
        "unchanged": unchanged,
    }


def _batch(case):
    from bert_score.utils import collate_idf, get_idf_dict

    tokenizer = _tokenizer(case["length"])
    tokenizer.pad_token_id = case["pad"]
    known = {1: 0.25, 2: 0.5}
    for text in case["known"]:
        for place, number in enumerate(tokenizer.encode(text)):
            known.setdefault(number, 0.1 + place)
    weights = defaultdict(lambda: 9.5, known)
    given = list(case["batch"])
    padded, idf, lens, mask = collate_idf(given, tokenizer, weights, device="cpu")
    full = [padded, idf, lens, mask]
    # An object with brackets alone, and the idf that the package makes.
    _, other, _, _ = collate_idf(given, tokenizer, _Squares(), "cpu")
    # A dictionary of the ids that occur, which doesn't hold that of padding; its numbers are whole, and some are 0.
    plain = {number: number % 3 - 1 for text in given for number in tokenizer.encode(text)}
    _, exact, _, _ = collate_idf(given, tokenizer, plain, "cpu")
    _, own, _, _ = collate_idf(given, tokenizer, get_idf_dict(case["known"], tokenizer, 0), device=torch.device("cpu"))
    return {
        "padded": padded,
        "idf": idf,
        "lens": lens,
        "mask": mask,
        "others": [other, own, exact],
        "dtypes": [str(item.dtype) for item in full],
        "shapes": [list(item.shape) for item in full],
        "unchanged": given == case["batch"],
    }


class _Squares:
    def __getitem__(self, number):
        return number * number / 1000


def _pairs(case):
    from bert_score.utils import greedy_cos_idf

    more = case["more"]
    mask_types, idf_types = (
        [kind] * 2 if isinstance(kind, str) else kind for kind in (more["mask_dtype"], more["idf_dtype"])
    )

    def told():
        arguments = []
        for place, side in enumerate(case["sides"]):
            kinds = {"emb": more["dtype"], "mask": mask_types[place], "idf": idf_types[place]}
            arguments += [
                _laid_out(side[name].to(getattr(torch, kind)), more["layout"]) for name, kind in kinds.items()
            ]
        return arguments

    first = told()
    found = greedy_cos_idf(*first, **({"all_layers": True} if case["layers"] else {}))
    again = greedy_cos_idf(*told(), bool(case["layers"]))
    masks = [torch.equal(item.bool(), side["mask"]) for item, side in zip(first[1::3], case["sides"], strict=True)]
    double = idf_types == ["float64", "float64"]
    return {
        ("double" if double else "single"): [*found, *again],
        "dtypes": [str(item.dtype) for item in found],
        "shapes": [list(item.shape) for item in found],
        "count": len(found),
        "masks kept": [masks, [str(item.dtype) for item in first[1::3]]],
    }


def _laid_out(item, layout):
    if layout == "transposed":
        return item.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "spread":
        return item.new_ones((*item.shape[:-1], 2 * item.shape[-1]))[..., ::2].copy_(item)
    return item.clone()


def _scored(case):
    from bert_score.scorer import BERTScorer

    more = case["scored"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = BERTScorer("toy", num_layers=3, nthreads=0, device="cpu", lang="en", **more["settings"])
        if more.get("bare"):
            scorer._model.words.data -= scorer._model.words.data.mean(dim=0)
        if more.get("apart"):
            # The two ends, the word "no" and all other words point away from each other.
            words = scorer._model.words.data
            angles = torch.linspace(2, 2.3, len(words))
            angles[1:3] = 0
            angles[scorer._tokenizer.encode("no")[1]] = 4.2
            words[:] = 0
            words[:, 0], words[:, 1] = 99 * angles.cos(), 99 * angles.sin()
        if more.get("foreign"):
            scorer._idf_dict = defaultdict(lambda: 1.5, {1: 0.3, 2: 0.7, 5: 2.0})
        if more.get("none"):
            scorer._idf_dict = {}
        if more["baseline"]:
            scorer._baseline_vals = torch.tensor(more["baseline"])
            scorer._rescale_with_baseline = not more.get("unused")
        if more.get("layered"):
            scorer._baseline_vals = torch.linspace(-0.5, 0.8, 57).reshape(19, 1, 3)
            scorer._rescale_with_baseline = True
        call = more["call"]
        found = [_called(scorer, case, call)]
        for change in more["later"]:
            for name, value in change.items():
                if name == "texts":
                    scorer.compute_idf(value)
                elif name == "call":
                    call = value
                elif name == "words":
                    scorer._model.words.data *= value
                elif name == "ends":
                    scorer._tokenizer.cls_token_id, scorer._tokenizer.sep_token_id = value
                else:
                    setattr(scorer, name, torch.tensor(value) if isinstance(value, list) else value)
            found.append(_called(scorer, case, call))
    return {"found": found}


def _called(scorer, case, call):
    candidates = list(case["cands"])
    references = [list(item) if isinstance(item, list) else item for item in case["refs"]]
    before = {name: value for name, value in vars(scorer).items() if name != "_idf_dict"}
    baseline = scorer._baseline_vals
    numbers = None if baseline is None else baseline.clone()
    known = scorer._idf_dict
    values = None if known is None else dict(known)
    try:
        found = scorer.score(candidates, references, **call)
    except AssertionError:
        return {"refused": True}
    after = {name: value for name, value in vars(scorer).items() if name != "_idf_dict"}
    told = {}
    if call.get("return_hash"):
        told = {"pair": isinstance(found, tuple) and len(found) == 2, "hash": found[1] == scorer.hash}
        found = found[0]
    return told | {
        "tuple": isinstance(found, tuple),
        "scores": list(found),
        "dtypes": [str(item.dtype) for item in found],
        "unchanged": candidates == case["cands"] and references == case["refs"],
        "settings": sorted(before) == sorted(after) and all(before[name] is after[name] for name in before),
        "model": [
            [item.training for item in scorer._model.modules()],
            [[str(item.dtype), item.requires_grad] for item in scorer._model.parameters()],
        ],
        "baseline": numbers is None or torch.equal(numbers, baseline),
        "idf": scorer._idf_dict is known and (values is None or all(known[name] == values[name] for name in values)),
    }
