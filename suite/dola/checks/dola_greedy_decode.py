"""dola_greedy_decode: tokens, scores, divergences and layers, of scripted models and a small one; the experiment."""

from dataclasses import replace
from math import inf

import torch
from torch import nn

PAD = 0
# With this seed the divergences, probabilities and scores of every state of the template lie well apart.
TEMPLATE_SEED = 876


class Scripted(nn.Module):
    """Layers by table: a layer's logits depend on the last token, and a little on all tokens before it."""

    def __init__(self, layers, tables, votes, pad, by_columns=False):
        super().__init__()
        self.places = {layer: place for place, layer in enumerate(layers)}
        self.tables = nn.Parameter(tables.clone())
        self.votes = nn.Parameter(votes.clone(), requires_grad=False)
        self.pad, self.by_columns = pad, by_columns
        self.calls, self.given = [], []

    def forward(self, input_ids, early_exit_layers):
        self.calls.append([input_ids.tolist(), sorted(set(early_exit_layers))])
        real = (input_ids != self.pad).unsqueeze(-1)
        exits = {}
        for layer in sorted(set(early_exit_layers), key=lambda layer: (layer * 7 + 3) % 11):
            place = self.places[layer]
            votes = (self.votes[place][input_ids] * real).cumsum(dim=1) / real.cumsum(dim=1).clamp(min=1)
            logits = self.tables[place][input_ids] + votes
            if self.training:
                logits = 0.6 * logits
            if self.by_columns:
                logits = logits.transpose(1, 2).contiguous().transpose(1, 2)
            exits[layer] = logits
            self.given.append((logits, logits.clone()))
        return exits


class Counting:
    """Adds something else in each call, whatever it is called with."""

    def __init__(self, values):
        self.values = values
        self.count = 0

    def __call__(self, ids, scores):
        self.count += 1
        return scores + (self.count % 3) * self.values.to(scores.dtype)


class InPlace:
    """Writes to the scores it gets, and gives the others."""

    def __init__(self, values):
        self.values = values

    def __call__(self, ids, scores):
        scores += self.values.to(scores.dtype)
        return scores


class Recorder:
    """Keeps what it is called with."""

    def __init__(self):
        self.seen = []

    def __call__(self, ids, scores):
        self.seen.append([ids.clone(), str(scores.dtype), list(scores.shape), scores.clone()])
        return scores


class Reused:
    """Gives what it adds up in a tensor of its own, the same in every call."""

    def __init__(self, values):
        self.values = values
        self.sums = None

    def __call__(self, ids, scores):
        self.sums = torch.empty_like(scores) if self.sums is None else self.sums
        return self.sums.copy_(scores + self.values.to(scores.dtype))


class Fixed:
    """Gives a tensor of its own, whatever it gets."""

    def __init__(self, values):
        self.values = values

    def __call__(self, ids, scores):
        return self.values


def without_kept(ids, scores):
    """Rules out all tokens that the filter has kept."""
    return torch.where(scores > -999, -inf, scores)


def negated(ids, scores):
    """The least likely first."""
    return -scores


def processor(kind, value):
    from dola.processors import Ban, Follow, RepetitionPenalty

    kinds = {"penalty": RepetitionPenalty, "ban": Ban, "counting": Counting, "in place": InPlace}
    kinds |= {"reused": Reused, "fixed": Fixed}
    if kind in kinds:
        return kinds[kind](value)
    if kind == "follow":
        return Follow(*value)
    if kind == "recorder":
        return Recorder()
    return {"without kept": without_kept, "negated": negated}[kind]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def prompts(lengths, vocabulary, pad=PAD):
        width = max(lengths)
        ids = torch.randint(2, vocabulary - 1, (len(lengths), width), generator=generator)
        for row, length in enumerate(lengths):
            ids[row, : width - length] = pad
        return ids

    def tables(count, vocabulary, scale=1.3, votes=0.6, pad=PAD):
        """Each layer has another scale, and each state of each layer a level of its own, which no softmax shows."""
        scales = 0.7 + 0.6 * torch.rand(count, 1, 1, generator=generator, dtype=torch.float64)
        logits = scale * scales * randn(count, vocabulary, vocabulary) + 4 * randn(count, vocabulary, 1)
        logits[:, :, pad] -= 40
        return logits, votes * randn(count, vocabulary, vocabulary)

    def case(name, lengths, steps, vocabulary=14, candidates=(0, 1, 2, 3), mature=4, **extra):
        pad = extra.setdefault("pad", PAD)
        scripted = tables(len(candidates) + 1, vocabulary, extra.pop("scale", 1.3), pad=pad)
        config = {
            "mature_layer": mature,
            "candidate_layers": candidates,
            "max_length": max(lengths) + steps,
            "pad_id": pad,
            **extra.pop("config", {}),
        }
        call = {"ids": prompts(lengths, vocabulary, pad), "config": config, "processors": extra.pop("processors", [])}
        return {"name": name, "layers": (*candidates, mature), "scripted": scripted, "calls": [call], **extra}

    many = (3, 1, 5, 2, 5, 4)
    yield case("one prompt", (4,), 9)
    yield case("one prompt of one token, one step", (1,), 1)
    yield case("prompts of equal length", (3,) * 5, 6)
    yield case("prompts of unequal length", many, 8)
    yield case("many prompts, one step", tuple(1 + row % 3 for row in range(130)), 1, vocabulary=25)
    yield case("many steps", (2,), 70, vocabulary=11)
    yield case("one candidate", many, 5, candidates=(2,), mature=5)
    yield case("two candidates", many, 5, candidates=(0, 1), mature=2)
    yield case("candidates in any order, mature before the last", many, 6, candidates=(5, 1, 4, 2), mature=7)
    yield case("layers of large numbers", many, 4, candidates=(258, 3, 300, 0, 257), mature=512)
    large = case("a large vocabulary", (2, 3, 3, 2), 4, vocabulary=320, scale=2.0, config={"eos_ids": (300, 310, 319)})
    large["scripted"][0][:, :, 280:] += 3
    yield large
    alike = case("a candidate that says what the mature layer says", many, 5)
    for part in alike["scripted"]:
        part[1] = part[4]
    yield alike
    # The larger alpha is, the more alike are the probabilities: each of them rules out some tokens, and keeps some.
    for relative_top, scale in ((0.0, 1.3), (1e-6, 2.5), (0.02, 1.3), (0.5, 0.7), (0.9, 0.2), (1.0, 0.2)):
        yield case(f"relative_top {relative_top}", many, 6, scale=scale, config={"relative_top": relative_top})
    for keep in (2, 4, 14):
        yield case(f"{keep} tokens kept at least", many, 5, config={"relative_top": 0.6, "min_tokens_to_keep": keep})
    yield case("more pass than must be kept", many, 5, config={"relative_top": 0.01, "min_tokens_to_keep": 2})
    yield case("tokens to keep without a filter", many, 5, config={"relative_top": 0.0, "min_tokens_to_keep": 3})
    yield case("tokens to keep at the top", many, 5, config={"relative_top": 1.0, "min_tokens_to_keep": 3})
    yield case("all kept", many, 5, scale=0.3, config={"relative_top": 0.1})
    yield case("peaked predictions", many, 5, scale=2.5)

    ending = case("rows that end at different steps", (3, 1, 5, 2, 5, 4, 2, 2), 30, config={"eos_ids": (3,)})
    ending["scripted"][0][:, :, 3] += torch.tensor([0.0, 0, 0, 0, 1.6]).reshape(5, 1)
    yield ending
    ending = case("several end tokens", (3, 1, 5, 2, 5, 4, 2, 2), 30, config={"eos_ids": (5, 3, 9)})
    yield ending
    early = case("all end soon", many, 40, config={"eos_ids": (3,)})
    early["scripted"][0][4, :, 3] += 30
    yield early
    inside = case("end tokens inside prompts", many, 5, config={"eos_ids": (3,)})
    inside["calls"][0]["ids"][:, -1] = 3
    inside["calls"][0]["ids"][0, -2] = 3
    yield inside
    last = case("padding last, and the end token first", many, 12, pad=13, config={"eos_ids": (0,)})
    last["scripted"][0][:4, :, 0] -= 1
    yield last
    same = case("rows end with padding", many, 12, pad=6, config={"eos_ids": (6,)})
    same["scripted"][0][:, :, 6] += 41
    yield same
    yield case("no room", many, 0)
    yield case("less than no room", many, -3, config={"eos_ids": (3,)})
    yield case("room for one", many, 1, config={"eos_ids": (3,)})

    yield case("repetition penalty", many, 9, processors=[("penalty", 1.2)])
    yield case("a strong penalty", many, 9, processors=[("penalty", 3.0)], config={"relative_top": 0.01})
    bias = 1.5 * randn(14)
    yield case("added, then penalized", many, 6, processors=[("in place", bias), ("penalty", 2.5)])
    yield case("penalized, then added", many, 6, processors=[("penalty", 2.5), ("in place", bias)])
    yield case("seen by processors", many, 5, processors=[("recorder", 0), ("counting", bias), ("recorder", 0)])
    yield case("banned tokens", many, 6, processors=[("ban", (2, 5, 7, 11, 13))])
    half = {"relative_top": 0.5}
    yield case("kept tokens ruled out", many, 4, processors=[("ban", (0,)), ("without kept", 0)], config=half)
    yield case("others ruled out too", many, 4, processors=[("ban", (0, 1, 2)), ("without kept", 0)], config=half)
    yield case("filtered tokens win", many, 4, processors=[("negated", 0), ("ban", (0,))], config=half)
    reference = torch.randint(2, 14, (6, 5), generator=generator)
    yield case("follows a reference", many, 5, processors=[("follow", (5, reference))])
    reference[2, 1] = reference[0, 3] = 3
    yield case(
        "follows a reference that ends", many, 5, processors=[("follow", (5, reference))], config={"eos_ids": (3,)}
    )
    ended = case("processors and rows that end", many, 12, processors=[("recorder", 0)], config={"eos_ids": (3, 4, 5)})
    ended["scripted"][0][4, :, 3:6] += 1.0
    yield ended

    reused = case(
        "a processor that gives one tensor", many, 12, processors=[("reused", bias)], config={"eos_ids": (3, 4)}
    )
    yield reused
    table = 3 * randn(6, 14)
    likely = 2 + torch.randperm(12, generator=generator)[:6]
    table[torch.arange(6), likely] += 20
    ends = {"eos_ids": tuple(likely[:3].tolist())}
    fixed = case("a processor that gives a tensor it keeps", many, 3, processors=[("fixed", table)], config=ends)
    yield {**fixed, "calls": fixed["calls"] * 2}
    yield case("a model in training", many, 5, training=True)
    yield case("a model with hooks", many, 5, hooked=True)
    yield case("logits by columns", many, 5, by_columns=True)
    yield case("ids by columns", many, 5, ids_by_columns=True)
    for dtype in (torch.float64, torch.float32):
        for relative_top in (0.0, 0.1):
            far = case(
                f"logits far apart, {dtype}, relative_top {relative_top}", many, 4, candidates=(4, 0, 2), mature=6
            )
            far["scripted"] = far_apart(14, generator)
            far["calls"][0]["config"]["relative_top"] = relative_top
            yield {**far, "dtype": dtype}
    for name, processors in (("", []), (", processors", [("penalty", 1.5), ("recorder", 0)])):
        single = case(f"single precision{name}", many, 8, vocabulary=12, processors=processors)
        single["scripted"] = template(generator)
        single["calls"][0]["config"]["eos_ids"] = (3,)
        yield {**single, "dtype": torch.float32}

    again = case("called again with other prompts and settings", many, 5, config={"eos_ids": (3,)})
    first = again["calls"][0]
    other = {**first["config"], "candidate_layers": (3, 1), "mature_layer": 4, "relative_top": 0.4, "eos_ids": (4,)}
    later = {"ids": prompts((2, 6), 14), "config": {**other, "max_length": 12}, "processors": [("penalty", 1.3)]}
    lower = {**later, "config": {**first["config"], "candidate_layers": (0, 1), "mature_layer": 2}, "processors": []}
    yield {**again, "calls": [first, later, lower, first]}
    yield {**case("called again with what the same tensor then holds", many, 5), "refilled": prompts(many, 14)}
    yield {**case("called again with other weights", many, 5), "reweighted": tables(5, 14)}
    yield {"name": "a transformer", "transformer": seed, "ids": prompts((3, 6, 1, 4), 12)}
    yield {"name": "experiment", "seed": seed % 1000}


def far_apart(vocabulary, generator):
    """Logits from -500 to 500. The candidates agree with the last layer, agree half, and do not agree."""
    logits = 800 * torch.rand(4, vocabulary, vocabulary, generator=generator, dtype=torch.float64) - 500
    logits[:, :, PAD] = -500 + torch.arange(4).reshape(4, 1)
    order = torch.stack([1 + torch.randperm(vocabulary - 1, generator=generator) for _ in range(vocabulary)])
    states = torch.arange(vocabulary)
    for layer, places in ((0, (0,)), (1, (0, 1)), (2, (2,)), (3, (0,))):
        for place in places:
            logits[layer, states, order[:, place]] = 480.0
    shuffled = [*torch.randperm(3, generator=generator).tolist(), 3]
    return logits[shuffled], torch.zeros_like(logits)


def template(generator, vocabulary=12, layers=5):
    """The same logits under every seed, with tokens and layers renamed: none of them lie close together."""
    fixed = torch.Generator().manual_seed(TEMPLATE_SEED)
    logits = 1.5 * torch.randn(layers, vocabulary, vocabulary, generator=fixed, dtype=torch.float64)
    logits[:, :, PAD] -= 30
    names = torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(vocabulary - 1, generator=generator)])
    order = torch.cat([torch.randperm(layers - 1, generator=generator), torch.tensor([layers - 1])])
    return logits[order][:, names][:, :, names], torch.zeros_like(logits)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "transformer" in case:
        return {"double": observe_transformer(case)}
    dtype = case.get("dtype", torch.float64)
    tables, votes = (part.to(dtype) for part in case["scripted"])
    model = Scripted(case["layers"], tables, votes, case["pad"], "by_columns" in case)
    model.train("training" in case)
    if "hooked" in case:
        model.register_forward_hook(lambda _, given, exits: {layer: 0.5 * exits[layer] for layer in exits})
    calls = list(case["calls"])
    if "refilled" in case or "reweighted" in case:
        calls *= 2
    observed, results, ids = [], [], None
    for number, call in enumerate(calls):
        if number and "refilled" in case:
            ids.copy_(case["refilled"])
        elif not (number and "reweighted" in case):
            ids = call["ids"].clone()
        if number and "reweighted" in case:
            tables, votes = case["reweighted"]
            model.tables.data.copy_(tables)
            model.votes.data.copy_(votes)
        if "ids_by_columns" in case:
            ids = ids.T.contiguous().T
        model.calls.clear()
        model.given.clear()
        output, facts = decode(model, ids, call["config"], call["processors"])
        facts["calls"] = list(model.calls)
        facts["logits_unchanged"] = all(torch.equal(given, kept) for given, kept in model.given)
        facts["weights_unchanged"] = [torch.equal(model.tables.data, tables), torch.equal(model.votes.data, votes)]
        observed.append(facts)
        results.append(output)
    # After the last call, since no call may change what an earlier one has returned.
    for facts, output in zip(observed, results, strict=True):
        facts |= contents(output)
    return {"single" if dtype == torch.float32 else "double": observed}


def decode(model, ids, settings, kinds):
    """Call the target, and see what it leaves."""
    import random

    import numpy as np
    from dola.config import DolaConfig
    from dola.decoding import DolaOutput, dola_greedy_decode

    config = DolaConfig(**settings)
    processors = (list if len(kinds) > 1 else tuple)(processor(*kind) for kind in kinds)
    given, same = list(processors), replace(config)
    before, state = ids.clone(), state_of(model)
    output = dola_greedy_decode(model, ids, config, processors) if kinds else dola_greedy_decode(model, ids, config)
    return output, {
        "type": isinstance(output, DolaOutput),
        "ids_unchanged": torch.equal(before, ids),
        "config_unchanged": config == same and sorted(vars(config)) == sorted(vars(same)),
        "processors_unchanged": len(given) == len(processors)
        and all(one is two for one, two in zip(given, processors, strict=True)),
        "state_unchanged": state == state_of(model),
        "seen": [part.seen for part in processors if isinstance(part, Recorder)],
        "chance": [random.random(), float(np.random.rand()), float(torch.rand(1))],
    }


def contents(output):
    """All that an output holds. Scores and divergences are looked at where there are any."""
    counts = output.layer_counts
    filled = output.premature_layers.shape[1] > 0
    return {
        "sequences": output.sequences,
        "scores": [step.clone() for step in output.scores],
        "premature_layers": output.premature_layers,
        "divergences": output.divergences if filled else list(output.divergences.shape),
        "counts": [[layer, counts[layer]] for layer in sorted(counts)],
        "count_types": all(type(value) is int for value in counts.values()),
        "list": isinstance(output.scores, list),
        "dtypes": [str(output.sequences.dtype), str(output.premature_layers.dtype)]
        + [str(part.dtype) for part in (*output.scores, output.divergences) if filled],
        "gradients": [part.requires_grad for part in (*output.scores, output.divergences)],
    }


def state_of(model):
    parameters = [(name, part.dtype, part.requires_grad, part.grad is None) for name, part in model.named_parameters()]
    attributes = sorted(vars(model))
    hooks = [len(vars(part)["_forward_hooks"]) + len(vars(part)["_forward_pre_hooks"]) for part in model.modules()]
    return model.training, parameters, attributes, hooks, torch.is_grad_enabled()


def observe_transformer(case):
    from dola.config import ModelConfig
    from dola.model import EarlyExitLM

    model = EarlyExitLM(ModelConfig(12, PAD, num_layers=3, hidden=8, feedforward=12, seed=case["transformer"]))
    settings = {"mature_layer": 3, "candidate_layers": (0, 1, 2), "max_length": 11, "pad_id": PAD, "eos_ids": (5,)}
    observed = []
    for ids in (case["ids"], case["ids"][:1]):
        output, facts = decode(model, ids, settings, [("ban", (PAD,)), ("penalty", 1.2)])
        observed.append({**facts, **contents(output)})
    return observed
