"""Divergences over their settings, the loss of a trainer, texts of the student, and a step; then the experiment."""

import random
from types import SimpleNamespace

import torch
from torch import nn

WORDS = 7


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def divergence(name, rows=3, length=5, words=6, dtype="float64", size=2.0, share=0.3, **more):
        student, teacher = size * torch.randn(2, rows, length, words, generator=generator, dtype=torch.float64)
        labels = torch.randint(words, (rows, length), generator=generator)
        labels[torch.rand(rows, length, generator=generator) < share] = -100
        weights = torch.randn(rows, length, words, generator=generator, dtype=torch.float64)
        given = {"student": student, "teacher": teacher, "labels": labels, "weights": weights, "dtype": dtype}
        return {"name": f"divergence, {name}", "options": {}, "layout": "plain", **given, **more}

    for reduction in ("batchmean", "sum", "mean", "none", ""):
        for labelled in (True, False):
            options = {"reduction": reduction, "beta": 0.3, "temperature": 1.7}
            for dtype in ("float64", "float32"):
                given = divergence(f"{reduction}, {labelled}, {dtype}", options=options, dtype=dtype)
                yield given if labelled else given | {"labels": None}
            given = divergence(f"{reduction}, {labelled}, no position but one", 1, 1, share=0, options=options)
            yield given if labelled else given | {"labels": None}
        given = divergence(f"{reduction}, nothing is counted", options={"reduction": reduction})
        given["labels"][:] = -100
        yield given
        given = divergence(f"{reduction}, a row is left out", options={"reduction": reduction, "beta": 0.8})
        given["labels"][1] = -100
        yield given
    for reduction in ("SUM", "Mean", "batchMean", "sum ", "batch"):
        yield divergence(f"{reduction!r}, which is no name of a reduction", options={"reduction": reduction})
    yield divergence("defaults")
    yield divergence("defaults, nothing labelled") | {"labels": None}
    yield divergence("defaults in single precision", dtype="float32")
    for beta in (0, 0.0, 1e-3, 0.1, 0.9, 0.999, 1.0, 1):
        for dtype in ("float64", "float32"):
            yield divergence(f"a beta of {beta}, {dtype}", options={"beta": beta}, dtype=dtype)
        yield divergence(f"a beta of {beta}, large logits", options={"beta": beta, "temperature": 0.5}, size=60.0)
        yield divergence(f"a beta of {beta}, number by number", options={"beta": beta, "reduction": "none"})
    for beta in (0, 1e-6, 1 - 1e-6, 1):
        options = {"beta": beta, "temperature": 0.1}
        given = divergence(f"a beta of {beta}, nothing in common", share=0.0, options=options)
        given["student"][..., :2] = torch.tensor([300, -300])
        given["teacher"][..., :2] = torch.tensor([-300, 300])
        yield given
    for temperature in (0.1, 0.9, 2, 10):
        yield divergence(f"a temperature of {temperature}", options={"temperature": temperature, "beta": 0.2})
    # Some labels are 0, or negative without being -100.
    given = divergence("labels of all kinds", options={"beta": 0.4})
    given["labels"].flatten()[:4] = torch.tensor([0, -1, -100, 3])
    yield given
    yield divergence("two words", words=2, options={"beta": 0.4})
    yield divergence("many words", words=190, options={"beta": 0.6})
    yield divergence("one row", rows=1, options={"beta": 0.6})
    yield divergence("one position", length=1, share=0.0, options={"beta": 0.6})
    yield divergence("many rows", rows=50, length=2, options={"beta": 0.6, "temperature": 0.7})
    yield divergence("long rows", rows=2, length=150, options={"beta": 0.6})
    yield divergence("large logits in single precision", size=60.0, dtype="float32", options={"beta": 0.3})
    for beta in (0.0, 0.5, 1.0):
        given = divergence(f"student and teacher agree, {beta}", options={"beta": beta})
        yield given | {"teacher": given["student"].clone()}
        given = divergence(f"student and teacher agree but for a shift, {beta}", options={"beta": beta})
        yield given | {"teacher": given["student"] + 5}
    for layout in ("transposed", "expanded", "spread"):
        yield divergence(layout, layout=layout, options={"beta": 0.3, "temperature": 0.8})
    yield divergence("by position", positional=(0.2, 3.0, "sum"))
    for name in ("student", "teacher"):
        yield divergence(f"a gradient of the {name} alone", options={"beta": 0.7}, wanted=(name,))
    yield divergence("no gradient", wanted=())

    def tokens(rows, length):
        drawn = torch.randint(1, WORDS, (rows, length), generator=generator)
        kept = torch.randint(1, length + 1, (rows, 1), generator=generator)
        mask = (torch.arange(length) < kept).long()
        return drawn * mask, mask

    def batch(rows=3, prompt=2, length=6, dtype="float64", **more):
        ids, mask = tokens(rows, length)
        labels = ids.masked_fill(mask == 0, -100)
        labels[0] = ids[0]
        # Labels of the prompt are there, but do not count.
        inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels, "prompts": ids[:, :prompt].clone()}
        tables = torch.randn(2, 2, WORDS, WORDS, generator=generator, dtype=torch.float64)
        given = {"inputs": inputs, "tables": tables, "dtype": dtype, "beta": 0.3, "train": True, "seed": 0}
        return given | {"seed": int(torch.randint(2**31, (), generator=generator)), **more}

    for dtype in ("float64", "float32"):
        for outputs in ([False, True], [True, False]):
            yield {"name": f"loss, {dtype}, {outputs}", **batch(dtype=dtype, later=[0.3], outputs=outputs)}
    yield {"name": "loss, a prompt of one", **batch(prompt=1)}
    yield {"name": "loss, one token after the prompt", **batch(prompt=5)}
    yield {"name": "loss, one row", **batch(rows=1)}
    yield {"name": "loss, student in evaluation mode", **batch(train=False)}
    yield {"name": "loss, teacher in training mode", **batch(teaching=True)}
    yield {"name": "loss, dropout of the teacher in training mode", **batch(dropping=True)}
    yield {"name": "loss, gradients disabled", **batch(grad=False)}
    given = batch()
    given["inputs"]["labels"][:, 2:] = -100
    yield {"name": "loss, nothing is counted", **given}
    for beta in (0.0, 1.0, 0.75, 1):
        yield {"name": f"loss, a beta of {beta}", **batch(beta=beta)}
    yield {"name": "loss, settings that change", **batch(later=[0.9, 0.0, 0.5])}

    for pad in (0, 1, 3, None, WORDS):
        for masked in (True, False):
            ids, mask = tokens(4, 5)
            ids[0, 1] = 1
            inputs = {"prompts": ids[:, :2], "input_ids": ids}
            inputs |= {"prompt_attention_mask": mask[:, :2]} if masked else {}
            yield {"name": f"texts, {pad}, {masked}", "sequences": ids, "inputs": inputs, "pad": pad}
    yield {"name": "texts, in evaluation mode", "sequences": ids, "inputs": inputs, "pad": 0, "train": False}
    yield {"name": "texts, the default", "sequences": ids, "inputs": inputs, "pad": "default"}
    ids, _ = tokens(1, 3)
    yield {"name": "texts, one row", "sequences": ids, "inputs": {"prompts": ids[:, :2]}, "pad": 0}

    for lmbda in (0, 0.0, 0.2, 0.5, 0.8, 1.0, 1):
        for number in range(4):
            yield {"name": f"step, {lmbda}, {number}", **batch(lmbda=lmbda, step=True)}
    for shift in (0.0, 1e-12, -1e-12):
        yield {"name": f"step, a draw that is lmbda + {shift}", **batch(shift=shift, step=True)}
    yield {"name": "step, wrapped", **batch(lmbda=1.0, step=True, wrapped=True)}
    yield {"name": "step, wrapped, given texts", **batch(lmbda=0.0, step=True, wrapped=True)}
    yield {"name": "step, another token of padding", **batch(lmbda=1.0, step=True, pad=4)}
    given = batch(lmbda=1.0, step=True, pad=None)
    # Each token, so that none can stand in for padding; a tokenizer has other tokens of its own.
    given["inputs"]["input_ids"][0] = torch.arange(1, WORDS)
    yield {"name": "step, no token of padding", **given}
    yield {"name": "step, the token of padding changes", **batch(lmbda=1.0, step=True, times=3, pads=[4, None])}
    yield {"name": "step, student in evaluation mode", **batch(lmbda=1.0, step=True, train=False)}
    yield {"name": "step, no mask of prompts", **batch(lmbda=1.0, step=True, unmasked=True)}
    yield {"name": "step, several", **batch(lmbda=0.5, step=True, times=6)}
    yield {"name": "step, lmbda changes", **batch(lmbda=1.0, step=True, times=3, lmbdas=[0.0, 1.0])}
    yield {"name": "experiment", "experiment": seed % 1000}


def observe(case):
    if "experiment" in case:
        from experiment import run

        return {"experiment": run(case["experiment"])}
    if "student" in case:
        return _of_the_divergence(case)
    if "sequences" in case:
        return {"facts": _of_texts(case)}
    numbers, facts = _of_steps(case) if case.get("step") else _of_the_loss(case)
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


def _laid_out(item, layout):
    if layout == "transposed":
        return item.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "expanded":
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.clone()


def _of_the_divergence(case):
    from trl.trainer.gkd_trainer import GKDTrainer

    dtype, wanted = getattr(torch, case["dtype"]), case.get("wanted", ("student", "teacher"))
    logits = {name: _laid_out(case[name].to(dtype), case["layout"]) for name in ("student", "teacher")}
    for name in wanted:
        logits[name].requires_grad_()
    labels = case["labels"] if case["labels"] is None else _laid_out(case["labels"], case["layout"])
    before = {name: item.detach().clone() for name, item in logits.items()}
    kept = labels if labels is None else labels.clone()
    if "positional" in case:
        result = GKDTrainer.generalized_jsd_loss(*logits.values(), labels, *case["positional"])
    elif labels is None:
        result = GKDTrainer.generalized_jsd_loss(*logits.values(), **case["options"])
    else:
        result = GKDTrainer.generalized_jsd_loss(*logits.values(), labels=labels, **case["options"])
    facts = [str(result.dtype), list(result.shape)]
    numbers = [result.detach()]
    # Nobody can tell whether the mean of nothing has a gradient.
    certain = not bool(result.isnan().any())
    facts.append(certain and result.requires_grad)
    if wanted and certain:
        weights = case["weights"]
        if result.dim() == 2:
            weights = weights.flatten(0, 1)[: len(result)]
        (result * (weights if result.dim() else 1.5)).sum().backward()
        numbers += [logits[name].grad for name in wanted]
    facts += [torch.equal(item.detach(), before[name]) for name, item in logits.items()]
    facts += [item.grad is None for item in logits.values()] if certain else []
    facts.append(labels is None or torch.equal(labels, kept))
    return {"double" if dtype == torch.float64 else "single": numbers, "facts": facts}


def _unwrapped():
    from trl.models import utils

    return len(utils.unwrapped)


class _Model(nn.Module):
    """A table with dropout, that looks at its mask and notes how it is called, and how many models are unwrapped."""

    def __init__(self, table, sequences=None):
        super().__init__()
        self.table, self.dropout = nn.Parameter(table.clone()), nn.Dropout(0.4)
        self.sequences, self.seen = sequences, []

    def forward(self, *positional, **inputs):
        self.seen.append([len(positional), sorted(inputs), self.training, torch.is_grad_enabled(), _unwrapped()])
        logits = self.dropout(self.table[0][inputs["input_ids"]])
        past = self.table[1][inputs["input_ids"]] * inputs["attention_mask"].unsqueeze(-1)
        return SimpleNamespace(logits=logits + 0.3 * past.cumsum(1), own=self)

    def generate(self, *positional, **settings):
        self.seen.append([self.training, self.table.requires_grad, _unwrapped()])
        mask = settings["attention_mask"]
        self.seen.append([len(positional), sorted(settings), settings["return_dict_in_generate"] is True])
        self.seen.append([settings["input_ids"].tolist(), mask if mask is None else mask.tolist()])
        self.seen.append(settings["generation_config"])
        return SimpleNamespace(sequences=self.sequences)


def _trainer(case):
    from toy import trainer_of

    tables = case["tables"].to(getattr(torch, case["dtype"]))
    student, teacher = _Model(tables[0]), _Model(tables[1])
    trainer = trainer_of(student, teacher, beta=case["beta"], disable_dropout=False, temperature=0.6)
    student.train(case["train"])
    teacher.train(case.get("teaching", False))
    if case.get("dropping"):
        teacher.dropout.train()
    for model in (student, teacher):
        model.register_forward_hook(lambda model, *_: model.seen.append(["called as such"]))
    return trainer, student, teacher


def _kept(inputs):
    return {name: (item, item.clone()) for name, item in inputs.items()}


def _as_before(inputs, kept):
    return list(inputs) == list(kept) and all(
        item is kept[name][0] and torch.equal(item, kept[name][1]) for name, item in inputs.items()
    )


def _of_the_loss(case):
    trainer, student, teacher = _trainer(case)
    inputs = {name: item.clone() for name, item in case["inputs"].items()}
    kept, numbers, facts = _kept(inputs), [], []
    for time, beta in enumerate((case["beta"], *case.get("later", []))):
        trainer.beta = beta
        student.zero_grad()
        torch.manual_seed(case["seed"])
        with torch.set_grad_enabled(case.get("grad", True)):
            if "outputs" in case:
                result = trainer.compute_loss(student, inputs, return_outputs=case["outputs"][time])
            else:
                result = trainer.compute_loss(student, inputs)
            facts.append(torch.is_grad_enabled())
        if "outputs" in case and case["outputs"][time]:
            facts.append([type(result).__name__, len(result), result[1].own is student])
            numbers.append(result[1].logits.detach())
            result = result[0]
        facts.append([str(result.dtype), list(result.shape)])
        numbers += [result.detach()]
        if result.isfinite():
            facts.append(result.requires_grad)
        if result.requires_grad and result.isfinite():
            result.backward()
            numbers.append(student.table.grad.clone())
        facts.append([teacher.table.grad is None, teacher.training, student.training, _as_before(inputs, kept)])
        facts.append([teacher.dropout.training, teacher.table.requires_grad])
        facts.append([list(student.seen), list(teacher.seen), trainer.beta, trainer.teacher_model is teacher])
    return numbers, facts


def _of_texts(case):
    from trl.trainer.gkd_trainer import GKDTrainer

    sequences = case["sequences"].clone()
    model, config = _Model(torch.zeros(2, 2, 2), sequences), SimpleNamespace()
    model.train(case.get("train", True))
    inputs = dict(case["inputs"])
    kept = _kept(inputs)
    if case["pad"] == "default":
        results = GKDTrainer.generate_on_policy_outputs(model, inputs, config)
    else:
        results = GKDTrainer.generate_on_policy_outputs(model, inputs, config, case["pad"])
    facts = [type(results).__name__, len(results), results[0] is sequences, torch.equal(sequences, case["sequences"])]
    facts += [[str(item.dtype), list(item.shape), item.tolist()] for item in results]
    facts += [_as_before(inputs, kept), model.seen.pop() is config, model.seen]
    facts.append([model.training, model.table.requires_grad])
    results[2].zero_()
    return [*facts, torch.equal(sequences, case["sequences"])]


class _Wrapper(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module, self.calls = module, 0

    def forward(self, **inputs):
        self.calls += 1
        return self.module(**inputs)


def _of_steps(case):
    trainer, student, teacher = _trainer(case)
    others = {"eos_token_id": 1, "bos_token_id": 2, "unk_token_id": 3, "padding_side": "left"}
    trainer.tokenizer = SimpleNamespace(pad_token_id=case.get("pad", 0), **others)
    trainer.generation_config.pad_token_id = trainer.generation_config.eos_token_id = 5
    trainer.accelerator = SimpleNamespace(unwrap_model=lambda model: getattr(model, "module", model))
    model = _Wrapper(student) if case.get("wrapped") else student
    random.seed(case["seed"])
    state = random.getstate()
    draw = random.random()
    trainer.lmbda = draw + case["shift"] if "shift" in case else case["lmbda"]
    random.setstate(state)
    torch.manual_seed(case["seed"])
    numbers, facts = [], []
    for time in range(case.get("times", 1)):
        if time and "lmbdas" in case:
            trainer.lmbda = case["lmbdas"][time - 1]
        if time and "pads" in case:
            trainer.tokenizer.pad_token_id = case["pads"][time - 1]
        inputs = {name: item.clone() for name, item in case["inputs"].items()}
        if not case.get("unmasked"):
            inputs["prompt_attention_mask"] = inputs["attention_mask"][:, : inputs["prompts"].shape[1]].clone()
        inputs["further"] = torch.ones(2)
        # What the student writes is longer than what is given.
        written = inputs["input_ids"].flip(0, 1)
        student.sequences = torch.cat((inputs["prompts"], written, written.roll(1)), dim=1)
        kept, given = _kept(inputs), student.sequences.clone()
        student.zero_grad()
        student.seen.clear()
        result = trainer.training_step(model, inputs)
        numbers += [result.detach(), student.table.grad.clone()]
        facts.append([list(result.shape), result.requires_grad, random.random(), torch.equal(student.sequences, given)])
        facts.append([list(inputs), {name: item.tolist() for name, item in inputs.items()}])
        facts.append([torch.equal(*pair) for pair in kept.values()])
        facts.append([inputs[name] is kept[name][0] for name in kept])
        configs = [item for item in student.seen if not isinstance(item, list)]
        facts.append([item is trainer.generation_config for item in configs])
        facts.append([item for item in student.seen if isinstance(item, list)])
        facts.append([model.calls if case.get("wrapped") else None, student.training, teacher.training])
    return numbers, facts
