"""Seeds, greenlists, rejection and biased scores of both schemes, under many settings; then the experiment."""

import contextlib
import logging

import torch

SCHEMES = ("lefthash", "selfhash")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def ids(rows, length, most):
        return torch.randint(0, most, (rows, length), generator=generator)

    def case(name, rows=3, length=6, words=60, later=(), dtype=torch.float32, **settings):
        scores = torch.randperm(rows * words, generator=generator).reshape(rows, words).to(dtype) / 7 - 3
        given = {
            "name": name,
            "ids": ids(rows, length, words),
            "scores": scores,
            "later": later,
        }
        return {**given, "settings": {"vocab_size": words, **settings}}

    for scheme in SCHEMES:
        # With "selfhash" one of the 40 tokens must be green.
        given = {
            "seeding_scheme": scheme,
            "greenlist_ratio": 0.25 if scheme == "lefthash" else 0.5,
        }
        yield case(f"{scheme}", **given)
        yield case(f"{scheme}, one row", rows=1, **given)
        yield case(f"{scheme}, one token before", length=1, **given)
        for width in (2, 6):
            yield case(f"{scheme}, a context of {width}", context_width=width, **given)
        yield case(
            f"{scheme}, fewer tokens than the context",
            length=3,
            context_width=4,
            later=({}, {"bias": 1.0}),
            **given,
        )
        yield case(f"{scheme}, no tokens before", length=0, **given)
        for ratio in (0.6, 0.9, 0.999) if scheme == "selfhash" else (0.001, 0.03, 0.5, 0.999):
            yield case(f"{scheme}, a ratio of {ratio}", **given | {"greenlist_ratio": ratio})
        for key in (1, 101, 2**24 + 3):
            yield case(f"{scheme}, the key {key}", hashing_key=key, context_width=2, **given)
        for bias in (10.0, 0.0, -1.5):
            yield case(f"{scheme}, a bias of {bias}", bias=bias, **given)
        yield case(f"{scheme}, double precision", dtype=torch.float64, bias=0.1, **given)
        close = case(f"{scheme}, scores close together", dtype=torch.float64, **given)
        yield close | {"scores": 2 + 1e-12 * close["scores"]}
        yield case(f"{scheme}, a vocabulary of 40", words=40, **given)
        yield case(f"{scheme}, a vocabulary of 700", words=700, context_width=2, **given)
        later = (
            {"hash_key": 11},
            {"bias": 0.25},
            {"greenlist_size": 33},
            {"vocab_size": 45},
            {"context_width": 4},
        )
        other = {"seeding_scheme": SCHEMES[scheme == "lefthash"]}
        yield case(
            f"{scheme}, settings that change",
            context_width=2,
            later=(*later, other, given),
            **given,
        )
        yield case(
            f"{scheme}, another table",
            context_width=2,
            later=({"flip": "fixed_table"}, {"roll": "fixed_table"}),
            **given,
        )
        table = ({"table_size": 97, "cut": "fixed_table"},)
        yield case(
            f"{scheme}, a smaller table",
            words=300,
            context_width=3,
            later=table,
            **given,
        )
        cut = case(f"{scheme}, a smaller table, large ids", context_width=3, later=table, **given)
        yield cut | {"ids": ids(3, 6, 2**31)}
        far = case(
            f"{scheme}, large ids",
            words=50,
            **given,
            context_width=3,
            hashing_key=2**25 - 1,
        )
        yield far | {"ids": ids(3, 6, 2**31)}
        zeros = case(f"{scheme}, ids of 0", context_width=3, **given)
        zeros["ids"][:, -1] = 0
        zeros["ids"][1] = 0
        yield zeros
        same = case(f"{scheme}, rows alike", **given)
        yield same | {"ids": same["ids"][:1].expand(3, -1).clone()}
        yield case(f"{scheme}, layouts", rows=4, **given) | {"strided": True}
    holes = case("words of probability 0")
    holes["scores"][:, ::4] = -torch.inf
    yield holes
    yield {
        "name": "detection",
        "texts": ids(4, 40, 300),
        "settings": [
            {
                "greenlist_ratio": ratio,
                "bias": 2.0,
                "hashing_key": 15485863,
                "seeding_scheme": scheme,
                "context_width": w,
            }
            for ratio, scheme, w in (
                (0.25, "lefthash", 1),
                (0.5, "selfhash", 2),
                (0.25, "lefthash", 3),
            )
        ],
    }
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers import PretrainedConfig
    from transformers.generation.logits_process import WatermarkLogitsProcessor
    from transformers.generation.watermarking import WatermarkDetector

    if "texts" in case:
        found = []
        for settings in case["settings"]:
            detector = WatermarkDetector(PretrainedConfig(vocab_size=300), "cpu", settings)
            output = detector(case["texts"], return_dict=True)
            found.append([output.num_tokens_scored, output.num_green_tokens, output.z_score])
        return {"detected": found}
    processor = WatermarkLogitsProcessor(device="cpu", **case["settings"])
    ids, scores = case["ids"].clone(), case["scores"].clone()
    if case.get("strided"):
        ids = torch.stack((ids, ids + 1), dim=-1).flatten(1)[:, ::2]
        scores = scores.T.contiguous().T
    scores.requires_grad_()
    torch.manual_seed(1)
    state = torch.get_rng_state()
    found = []
    for settings in ({}, *case["later"]):
        for name, value in settings.items():
            table = processor.fixed_table
            if name == "flip":
                processor.fixed_table = table.flip(0)
            elif name == "roll":
                table.copy_(table.roll(1))
            elif name == "cut":
                processor.fixed_table = table[table < processor.table_size]
            else:
                setattr(processor, name, value)
        before = {name: _kept(value) for name, value in vars(processor).items() if name != "rng"}
        given = scores[:, : processor.vocab_size]
        with _warnings() as warned:
            result = processor(ids, given)
        weights = torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).reshape(result.shape)
        slope = torch.autograd.grad(torch.where(result.isfinite(), result * weights, 0).sum(), scores)[0]
        after = {name: _kept(value) for name, value in vars(processor).items() if name != "rng"}
        row = {
            "result": result.detach(),
            "slope": slope,
            "kept": before == after,
            "warned": len(warned),
            "dtype": str(result.dtype),
        }
        row["drawn next"] = torch.randint(10**9, (), generator=processor.rng).item()
        if ids.shape[1] >= processor.context_width:
            row["seeds"] = []
            for sequence in ids:
                processor.set_seed(sequence)
                row["seeds"].append(processor.rng.initial_seed())
            row["green"] = [processor._get_greenlist_ids(sequence) for sequence in ids]
            if processor.seeding_scheme == "selfhash":
                with torch.no_grad():
                    tried = [processor._score_rejection_sampling(*pair) for pair in zip(ids, given, strict=True)]
                row["tried"] = [item.tolist() for item in tried]
        found.append(row)
    return {
        "found": found,
        "global state kept": bool(torch.equal(torch.get_rng_state(), state)),
        "unchanged": [
            bool(torch.equal(ids, case["ids"])),
            bool(torch.equal(scores.detach(), case["scores"])),
        ],
        "new": result.data_ptr() != scores.data_ptr() or ids.shape[1] < processor.context_width,
    }


@contextlib.contextmanager
def _warnings():
    """The warnings that are logged meanwhile."""
    found, logger = [], logging.getLogger("transformers.generation.logits_process")
    handler = logging.Handler(logging.WARNING)
    handler.emit = found.append
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)


def _kept(value):
    with contextlib.suppress(AttributeError):
        return [value.data_ptr(), value.sum().item()]
    return value
