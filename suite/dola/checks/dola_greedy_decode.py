"""dola_greedy_decode: tokens, scores, divergences and layers, of scripted models and a small one; the experiment."""

from math import inf

import torch
from torch import nn

PAD = 0
# With this seed the divergences, probabilities and scores of every state of the template lie well apart.
TEMPLATE_SEED = 876


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def one_of(*values):
        return values[integer(0, len(values) - 1)]

    def prompts(lengths, vocabulary, pad=PAD):
        width = max(lengths)
        ids = torch.randint(2, vocabulary - 1, (len(lengths), width), generator=generator)
        for row, length in enumerate(lengths):
            ids[row, : width - length] = pad
        return ids

    def tables(count, vocabulary, scale=1.3, pad=PAD):
        """Each layer has another scale, and each state of each layer a level of its own, which no softmax shows."""
        scales = 0.7 + 0.6 * torch.rand(count, 1, 1, generator=generator, dtype=torch.float64)
        logits = scale * scales * randn(count, vocabulary, vocabulary) + 4 * randn(count, vocabulary, 1)
        logits[:, :, pad] -= 40
        return logits, 0.6 * randn(count, vocabulary, vocabulary)

    def case(name, lengths, steps, vocabulary=14, candidates=(0, 1, 2, 3), mature=4, scale=1.3, pad=PAD, **extra):
        processors, dtype = extra.pop("processors", []), extra.pop("dtype", torch.float64)
        flags = {name: extra.pop(name) for name in ("edge", "layout", "training") if name in extra}
        config = {"mature_layer": mature, "candidate_layers": candidates, "max_length": max(lengths) + steps}
        call = {"ids": prompts(lengths, vocabulary, pad), "config": config | {"pad_id": pad, **extra}}
        call["processors"] = processors
        scripted = tables(len(candidates) + 1, vocabulary, scale, pad)
        layers = (*candidates, mature)
        return {"name": name, "layers": layers, "scripted": scripted, "dtype": dtype, "calls": [call], **flags}

    many = (3, 1, 5, 2, 5, 4)
    yield case("one prompt", (4,), 9)
    yield case("one prompt of one token, one step", (1,), 1)
    yield case("prompts of equal length", (3,) * 5, 6)
    yield case("prompts of unequal length", many, 8)
    yield case("many prompts, one step", tuple(1 + row % 3 for row in range(60)), 1, vocabulary=25)
    yield case("one candidate", many, 4, candidates=(2,))
    yield case("candidates in any order", many, 5, candidates=(4, 0, 5, 2), mature=6)
    yield case("layers of large numbers", many, 4, candidates=(258, 3, 300, 0, 257), mature=512)
    large = case("a large vocabulary", (2, 3, 2), 3, vocabulary=300, scale=2.0, eos_ids=(280, 290, 299))
    large["scripted"][0][:, :, 270:] += 3
    yield large
    alike = case("a candidate that says what the mature layer says", many, 5)
    for part in alike["scripted"]:
        part[1] = part[4]
    yield alike

    # The larger alpha is, the more alike are the probabilities: each value rules out some tokens, and keeps some.
    for relative_top, scale in ((0.0, 1.3), (1e-6, 2.5), (0.02, 1.3), (0.5, 0.7), (0.9, 0.2), (1.0, 0.2)):
        yield case(f"relative_top {relative_top}", many, 5, scale=scale, relative_top=relative_top)
    for keep in (2, 4, 14):
        yield case(f"{keep} tokens kept at least", many, 4, relative_top=0.6, min_tokens_to_keep=keep)
    yield case("more pass than must be kept", many, 4, relative_top=0.01, min_tokens_to_keep=2)
    yield case("tokens to keep without a constraint", many, 4, relative_top=0.0, min_tokens_to_keep=3)
    yield case("tokens to keep at the top", many, 4, relative_top=1.0, min_tokens_to_keep=3)

    ending = case("rows that end at different steps", (3, 1, 5, 2, 5, 4, 2, 2), 16, eos_ids=(3,))
    ending["scripted"][0][4, :, 3] += 1.6
    yield ending
    yield case("several end tokens", (3, 1, 5, 2, 5, 4, 2, 2), 14, eos_ids=(5, 3, 9))
    early = case("all end soon", many, 30, eos_ids=(3,))
    early["scripted"][0][4, :, 3] += 30
    yield early
    inside = case("end tokens inside prompts", many, 5, eos_ids=(3,))
    inside["calls"][0]["ids"][:, -1] = 3
    inside["calls"][0]["ids"][0, -2] = 3
    yield inside
    last = case("padding last, and the end token first", many, 10, pad=13, eos_ids=(0,))
    last["scripted"][0][:4, :, 0] -= 1
    yield last
    same = case("rows end with padding", many, 10, pad=6, eos_ids=(6,))
    same["scripted"][0][:, :, 6] += 41
    yield same
    yield case("room for one", many, 1, eos_ids=(3,))

    bias = 1.5 * randn(14)
    yield case("repetition penalty", many, 7, processors=[("penalty", 1.2)])
    yield case("a strong penalty", many, 7, processors=[("penalty", 3.0)], relative_top=0.01)
    yield case("added, then penalized", many, 5, processors=[("in place", bias), ("penalty", 2.5)])
    yield case("penalized, then added", many, 5, processors=[("penalty", 2.5), ("in place", bias)])
    yield case("seen by processors", many, 4, processors=[("recorder", 0), ("counting", bias), ("recorder", 0)])
    yield case("banned tokens", many, 5, processors=[("ban", (2, 5, 7, 11, 13))])
    reference = torch.randint(2, 14, (6, 5), generator=generator)
    reference[2, 1] = reference[0, 3] = 3
    yield case("follows a reference", many, 5, processors=[("follow", (5, reference))], eos_ids=(3,))
    ended = case("processors and rows that end", many, 10, processors=[("recorder", 0)], eos_ids=(3, 4, 5))
    ended["scripted"][0][4, :, 3:6] += 1.0
    yield ended

    for number in range(10):
        dtype = (torch.float64, torch.float32)[number % 2]
        candidates = tuple(torch.randperm(4, generator=generator)[: integer(2, 4)].tolist())
        options = {"min_tokens_to_keep": integer(1, 4), "eos_ids": one_of((), (3,), (4, 7))}
        options["relative_top"] = 0.1 * integer(0, 1) if number % 2 else one_of(0.0, 0.05, 0.4, 0.8)
        options["processors"] = one_of([], [("penalty", 1.5)], [("ban", (2, 5)), ("penalty", 1.2)])
        given = case(f"combination {number}, {dtype}", many, 6, 12, candidates, dtype=dtype, **options)
        if dtype == torch.float32:
            given["scripted"], given["layers"] = template(generator), (0, 1, 2, 3, 4)
        yield given
    for name, processors in (("", []), (", processors", [("penalty", 1.5), ("recorder", 0)])):
        single = case(f"single precision{name}", many, 7, 12, processors=processors, dtype=torch.float32, eos_ids=(3,))
        yield single | {"scripted": template(generator)}
    yield {"name": "a transformer", "transformer": seed, "ids": prompts((3, 6, 1, 4), 12)}
    yield {"name": "experiment", "seed": seed % 1000}

    yield case("no room", many, 0, edge=True)
    yield case("less than no room", many, -3, eos_ids=(3,), edge=True)
    ruled_out = [("ban", (0,)), ("without kept", 0)]
    yield case("kept tokens ruled out", many, 4, processors=ruled_out, relative_top=0.5, edge=True)
    ruled_out = [("ban", (0, 1, 2)), ("without kept", 0)]
    yield case("others ruled out too", many, 4, processors=ruled_out, relative_top=0.5, edge=True)
    negated = [("negated", 0), ("ban", (0,))]
    yield case("ruled-out tokens win", many, 4, processors=negated, relative_top=0.5, edge=True)
    yield case("a model in training", many, 5, training=True, edge=True)
    far = case("logits far from zero", many, 4, edge=True)
    far["scripted"][0].add_(900)
    yield far
    for layout in ("logits", "ids"):
        yield case(f"{layout} by columns", many, 5, layout=layout, edge=True)
    again = case("called again with other prompts and settings", many, 5, eos_ids=(3,), edge=True)
    first = again["calls"][0]
    other = {"candidate_layers": (3, 1), "mature_layer": 4, "relative_top": 0.4, "eos_ids": (4,), "max_length": 12}
    other = {"ids": prompts((2, 6), 14), "config": first["config"] | other, "processors": [("penalty", 1.3)]}
    lower = other | {"config": first["config"] | {"candidate_layers": (0, 1), "mature_layer": 2}, "processors": []}
    yield again | {"calls": [first, other, lower, first]}
    again = case("called again with what the same tensor then holds", many, 5, edge=True)
    yield again | {"refilled": prompts(many, 14)}
    yield case("called again with other weights", many, 5, edge=True) | {"reweighted": tables(5, 14)}


def template(generator, vocabulary=12, layers=5):
    """The same logits under every seed, with tokens and layers renamed: none of them lie close together."""
    fixed = torch.Generator().manual_seed(TEMPLATE_SEED)
    logits = 1.5 * torch.randn(layers, vocabulary, vocabulary, generator=fixed, dtype=torch.float64)
    logits[:, :, PAD] -= 30
    names = torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(vocabulary - 1, generator=generator)])
    order = torch.cat([torch.randperm(layers - 1, generator=generator), torch.tensor([layers - 1])])
    return logits[order][:, names][:, :, names], torch.zeros_like(logits)


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
        self.calls.append(sorted(set(early_exit_layers)))
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
    """Writes to the scores that it gets."""

    def __init__(self, values):
        self.values = values

    def __call__(self, ids, scores):
        scores += self.values.to(scores.dtype)
        return scores


class Recorder:
    """Keeps the ids that it is called with, and the shape of the scores."""

    def __init__(self, _):
        self.seen = []

    def __call__(self, ids, scores):
        self.seen.append([ids.clone(), list(scores.shape)])
        return scores


def processor(kind, value):
    from dola.processors import Ban, Follow, RepetitionPenalty

    functions = {
        "without kept": lambda ids, scores: torch.where(scores > -999, -inf, scores),
        "negated": lambda ids, scores: -scores,
    }
    kinds = {"penalty": RepetitionPenalty, "ban": Ban, "counting": Counting, "in place": InPlace, "recorder": Recorder}
    if kind == "follow":
        return Follow(*value)
    return functions[kind] if kind in functions else kinds[kind](value)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    if "transformer" in case:
        return {"double": transformer(case)}
    tables, votes = (part.to(case["dtype"]) for part in case["scripted"])
    pad = case["calls"][0]["config"]["pad_id"]
    model = Scripted(case["layers"], tables, votes, pad, case.get("layout") == "logits")
    model.train("training" in case)
    changes = [name for name in ("refilled", "reweighted") if name in case]
    observed, outputs, ids = [], [], None
    for number, call in enumerate(case["calls"] * (1 + len(changes))):
        if number and "refilled" in changes:
            ids.copy_(case["refilled"])
        elif number and "reweighted" in changes:
            model.tables.data.copy_(case["reweighted"][0])
            model.votes.data.copy_(case["reweighted"][1])
        else:
            ids = call["ids"].clone()
        if case.get("layout") == "ids":
            ids = ids.T.contiguous().T
        model.calls.clear()
        model.given.clear()
        output, facts = decode(model, ids, call["config"], call["processors"], "edge" in case)
        facts["calls"] = list(model.calls)
        if "edge" in case:
            facts["logits_unchanged"] = all(torch.equal(given, kept) for given, kept in model.given)
        observed.append(facts)
        outputs.append(output)
    # After the last call, since no call may change what an earlier one has returned.
    for facts, output in zip(observed, outputs, strict=True):
        facts |= contents(output)
    return {"single" if case["dtype"] == torch.float32 else "double": observed}


def decode(model, ids, settings, kinds, edge=False):
    """Call the target, and see what processors were shown; for edge cases also what the call leaves unchanged."""
    from dola.config import DolaConfig
    from dola.decoding import dola_greedy_decode

    processors, before = [processor(*kind) for kind in kinds], ids.clone()
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    flags = [parameter.requires_grad for parameter in model.parameters()]
    training = model.training
    arguments = [model, ids, DolaConfig(**settings), *([processors] if processors else [])]
    output = dola_greedy_decode(*arguments)
    facts = {"seen": [part.seen for part in processors if isinstance(part, Recorder)]}
    if edge:
        kept = all(torch.equal(one, two) for one, two in zip(model.parameters(), weights, strict=True))
        facts["unchanged"] = [torch.equal(before, ids), kept, model.training == training]
        facts["unchanged"].append(all(part.grad is None for part in model.parameters()))
        facts["unchanged"].append([part.requires_grad for part in model.parameters()] == flags)
    return output, facts


def contents(output):
    """All that an output holds. Scores and divergences have a dtype where there are any."""
    counts = output.layer_counts
    filled = output.premature_layers.shape[1] > 0
    return {
        "sequences": output.sequences,
        "scores": [step.clone() for step in output.scores],
        "premature_layers": output.premature_layers,
        "divergences": output.divergences if filled else list(output.divergences.shape),
        "counts": [[layer, int(counts[layer])] for layer in sorted(counts)],
        "dtypes": [str(part.dtype) for part in (*output.scores, output.divergences) if filled],
        "gradients": [part.requires_grad for part in (*output.scores, output.divergences)],
    }


def transformer(case):
    from dola.config import ModelConfig
    from dola.model import EarlyExitLM

    model = EarlyExitLM(ModelConfig(12, PAD, num_layers=3, hidden=8, feedforward=12, seed=case["transformer"]))
    settings = {"mature_layer": 3, "candidate_layers": (0, 1, 2), "max_length": 11, "pad_id": PAD, "eos_ids": (5,)}
    output, facts = decode(model, case["ids"], settings, [("ban", (PAD,)), ("penalty", 1.2)])
    return facts | contents(output)
