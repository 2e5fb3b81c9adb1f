"""Exits of a small transformer, its training, buckets, both ways of decoding, and the profiles of layers."""

from contextlib import contextmanager

import torch
from torch import nn

PAD = 0


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def number(low, high):
        return int(torch.randint(low, high, (), generator=generator))

    def prompts(lengths, vocabulary=12):
        ids = torch.randint(4, vocabulary, (len(lengths), max(lengths)), generator=generator)
        for row, length in enumerate(lengths):
            ids[row, : max(lengths) - length] = PAD
        return ids

    for layers in ([0, 1, 2, 3], [3], [2, 0], [1]):
        ids = prompts((5, 2, 4, 1))
        # A row that has ended: padding behind it.
        ids[0, 3:] = PAD
        yield {"name": f"exits {layers}", "exits": layers, "ids": ids, "seed": number(0, 10**6)}
    for steps, warmup, weight, norm in ((1, 2, 0.3, 9.0), (5, 2, 0.7, 0.4), (4, 3, 0.0, 1.0)):
        config = {"steps": steps, "warmup": warmup, "early_exit_weight": weight, "clip_norm": norm}
        config["learning_rate"] = 0.01 + 0.02 * torch.rand((), generator=generator).item()
        yield {"name": f"training, {steps} steps", "training": config, "seed": number(0, 10**6)}
    buckets = [(6, 2, 1), (6, 1, 2), (7, 2, 1), (11, 3, 2), (5, 5, 1), (8, 3, 3), (1, 1, 1), (3, 4, 1), (0, 1, 1)]
    yield {"name": "buckets", "buckets": [*buckets, (number(9, 40), number(2, 9), number(1, 4))]}

    def decoding(name, lengths=(3, 1, 5, 2), steps=5, candidates=(0, 1, 2), **given):
        vocabulary, count = 12, len(candidates) + 1
        logits = 1.5 * randn(count, vocabulary, vocabulary) + 3 * randn(count, vocabulary, 1)
        logits[:, :, PAD] -= 30
        logits[-1, :, 3] += given.pop("ending", 0.0)
        config = {"mature_layer": max(candidates) + 1, "candidate_layers": candidates, "pad_id": PAD}
        config |= {"max_length": max(lengths) + steps, "eos_ids": given.pop("eos", (3,))}
        config |= {"relative_top": given.pop("top", 0.1), "min_tokens_to_keep": given.pop("keep", 1)}
        table = {"logits": logits, "config": config, "ids": prompts(lengths), "processors": given.pop("processors", [])}
        return {"name": f"decoding, {name}", "table": table, **given}

    bias = 1.5 * randn(12)
    yield decoding("one prompt", (4,), 6, eos=())
    yield decoding("rows that end", (3, 1, 5, 2, 2, 4), 14, ending=0.8)
    yield decoding("all end soon", steps=20, ending=9.0)
    yield decoding("several ends", steps=12, eos=(5, 3, 9))
    yield decoding("layers in any order", candidates=(4, 0, 5, 2), mode=True)
    yield decoding("one candidate", candidates=(1,))
    for top in (0.0, 0.01, 0.6, 1.0):
        yield decoding(f"relative_top {top}", top=top)
    yield decoding("several kept", top=0.7, keep=4)
    yield decoding("more pass than are kept", top=0.01, keep=2)
    yield decoding("penalty, then added", steps=7, processors=[("penalty", 2.5), ("added", bias)])
    yield decoding("added, then penalty", steps=7, processors=[("added", bias), ("penalty", 2.5)], ending=1.0)
    yield decoding("filtered tokens win", processors=[("negated", 0), ("ban", (PAD, 1))], top=0.3)
    profiles = {"seed": number(0, 10**6), "facts": 4, "layers": 3}
    yield {"name": "profiles", "profiles": profiles}


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
    kinds = {"exits": exits, "training": training, "buckets": buckets, "table": decoding, "profiles": profiles}
    with double_precision():
        return next(function(case) for kind, function in kinds.items() if kind in case)


def transformer(seed, vocabulary=12, layers=3):
    from dola.config import ModelConfig
    from dola.model import EarlyExitLM

    return EarlyExitLM(ModelConfig(vocabulary, PAD, num_layers=layers, hidden=8, feedforward=10, seed=seed))


def exits(case):
    model, ids = transformer(case["seed"]), case["ids"]
    given = ids.clone()
    found = model(ids, early_exit_layers=tuple(case["exits"]))
    real = ids != PAD
    logits = {f"{layer}": found[layer][real] for layer in sorted(found)}
    loss = sum((number + 1) * part.square().mean() for number, part in enumerate(logits.values()))
    gradients = torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)
    shapes = [list(found[layer].shape) for layer in sorted(found)]
    norms = torch.stack([part.norm() for part in gradients])
    return {"logits": logits, "gradients": norms, "shapes": shapes, "kept": torch.equal(ids, given)}


def world(seed):
    from dola.data import draw_facts, vocabulary
    from dola.tokenizer import WordTokenizer

    generator = torch.Generator().manual_seed(seed)
    tokenizer = WordTokenizer(vocabulary())
    return generator, tokenizer, draw_facts(generator, 0.3, 0.8)


def training(case):
    from dola.config import TrainingConfig
    from dola.training import train

    generator, tokenizer, facts = world(case["seed"])
    model = transformer(case["seed"], len(tokenizer), 2)
    model.train(case["seed"] % 2 == 0)
    before = torch.cat([part.detach().flatten().clone() for part in model.parameters()])
    history = train(model, tokenizer, facts[::3], TrainingConfig(**case["training"]), generator)
    moved = torch.cat([part.detach().flatten() for part in model.parameters()]) - before
    modes = [part.training for part in model.modules()]
    drawn = torch.rand((), generator=generator)
    return {"history": [float(loss) for loss in history], "moved": moved[::5], "modes": modes, "drawn": drawn}


def buckets(case):
    from dola.buckets import bucket_layers

    found = []
    for num_layers, count, stride in case["buckets"]:
        try:
            given = bucket_layers(num_layers, count) if stride == 1 else bucket_layers(num_layers, count, stride)
            found.append([list(layers) for layers in given])
        except ValueError:
            found.append("refused")
    return {"found": found}


class Scripted(nn.Module):
    """Layers by table: the logits depend on the last token, and a little on how many there are."""

    def __init__(self, layers, logits):
        super().__init__()
        self.places = {layer: place for place, layer in enumerate(layers)}
        self.logits = nn.Parameter(logits)

    def forward(self, input_ids, early_exit_layers):
        length = (input_ids != PAD).cumsum(dim=1).unsqueeze(-1)
        scale = (0.7 if self.training else 1.0) + 0.05 * length
        return {layer: scale * self.logits[self.places[layer]][input_ids] for layer in early_exit_layers}


class Recorder:
    """What a processor sees."""

    def __init__(self, process):
        self.process, self.seen = process, []

    def __call__(self, ids, scores):
        self.seen.append(ids.clone())
        return self.process(ids, scores)


def processor(kind, value):
    from dola.processors import Ban, RepetitionPenalty

    kinds = {"penalty": RepetitionPenalty, "ban": Ban}
    kinds |= {"added": lambda bias: lambda ids, scores: scores + bias, "negated": lambda _: lambda ids, scores: -scores}
    return Recorder(kinds[kind](value))


def decoding(case):
    from dola.config import DolaConfig
    from dola.decoding import dola_greedy_decode, greedy_decode

    table, config = case["table"], DolaConfig(**case["table"]["config"])
    model = Scripted((*config.candidate_layers, config.mature_layer), table["logits"].clone())
    model.train(case.get("mode", False))
    ids, processors = table["ids"].clone(), [processor(*kind) for kind in table["processors"]]
    output = dola_greedy_decode(model, ids, config, *([processors] if processors else []))
    plain = [
        greedy_decode(model, ids, layer, config.max_length, config.eos_ids, PAD)
        for layer in (config.mature_layer, config.candidate_layers[0])
    ]
    return {
        "sequences": output.sequences,
        "scores": list(output.scores),
        "premature_layers": output.premature_layers.tolist(),
        "divergences": output.divergences,
        "counts": [[layer, output.layer_counts[layer]] for layer in sorted(output.layer_counts)],
        "gradients": any(part.requires_grad for part in (output.divergences, *output.scores)),
        "seen": [part.seen for part in processors],
        "plain": plain,
        "kept": [torch.equal(ids, table["ids"]), model.training],
    }


def profiles(case):
    from dola.analysis import layer_profiles

    given = case["profiles"]
    _, tokenizer, facts = world(given["seed"])
    model = transformer(given["seed"], len(tokenizer), given["layers"])
    with torch.no_grad():
        # Louder words, so that layers differ.
        model.head.weight *= 3
        for block in model.blocks:
            block.down.weight *= 2
    found = layer_profiles(model, tokenizer, facts[: given["facts"]])
    prompts = [tokenizer.encode_prompt(text) for text in (" Rome is  new", "")]
    return {"profiles": [[list(part.divergence), list(part.critical)] for part in found], "prompts": prompts}
