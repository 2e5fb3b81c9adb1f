"""Divergences over their settings, the loss of a trainer, texts of the student, and a step; then the experiment."""

import random
from itertools import product
from types import SimpleNamespace

import torch
from torch import nn

WORDS = 7


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def divergence(name, rows=None, length=None, words=None, dtype="float64", size=2.0, labelled=True, **more):
        rows, length, words = rows or integer(2, 4), length or integer(3, 6), words or integer(4, 9)
        student, teacher = size * torch.randn(2, rows, length, words, generator=generator, dtype=torch.float64)
        labels = torch.randint(words, (rows, length), generator=generator)
        labels[torch.rand(rows, length, generator=generator) < 0.3] = -100
        labels[0, 0] = 0  # One position counts at least.
        weights = torch.randn(rows, length, words, generator=generator, dtype=torch.float64)
        given = {"student": student, "teacher": teacher, "labels": labels if labelled else None, "weights": weights}
        return {"name": f"divergence, {name}", "dtype": dtype, "options": {}, **given, **more}

    yield divergence("defaults")
    yield divergence("defaults in single precision", dtype="float32")
    yield divergence("defaults without labels", labelled=False)
    for reduction, labelled in product(("batchmean", "sum", "mean", "none"), (True, False)):
        options = {"reduction": reduction, "beta": uniform(0.1, 0.9), "temperature": uniform(0.6, 3)}
        dtype = ("float32", "float64")[integer(0, 1)]
        yield divergence(f"{reduction}, {labelled}", options=options, dtype=dtype, labelled=labelled)
    for beta, dtype in product((0, 1.0, uniform(0.02, 0.3), uniform(0.7, 0.98)), ("float32", "float64")):
        name = beta if beta in (0, 1) else "small" if beta < 0.5 else "large"
        options = {"beta": beta} | ({"temperature": uniform(0.3, 2)} if integer(0, 1) else {})
        yield divergence(f"a beta of {name}, {dtype}", options=options, dtype=dtype)
    yield divergence("a low temperature", options={"temperature": uniform(0.1, 0.4), "beta": uniform(0.1, 0.9)})
    yield divergence("a high temperature", options={"temperature": integer(4, 10)})
    yield divergence("two words", words=2, options={"beta": uniform(0.1, 0.9)})
    yield divergence("many words", words=150, options={"beta": uniform(0.1, 0.9)})
    yield divergence("one row", rows=1, options={"beta": uniform(0.1, 0.9)})
    yield divergence("one position", rows=1, length=1, options={"beta": uniform(0.1, 0.9)})
    given = divergence("a row is left out", options={"beta": uniform(0.1, 0.9)})
    given["labels"][1] = -100
    yield given
    given = divergence("student and teacher agree", options={"beta": uniform(0.1, 0.9)})
    yield given | {"teacher": given["student"].clone()}

    def tokens(rows, length):
        drawn = torch.randint(1, WORDS, (rows, length), generator=generator)
        kept = torch.randint(2, length + 1, (rows, 1), generator=generator)
        mask = (torch.arange(length) < kept).long()
        return drawn * mask, mask

    def batch(name, rows=None, prompt=None, length=None, dtype="float64", **more):
        length = length or integer(5, 7)
        ids, mask = tokens(rows or integer(2, 4), length)
        # Labels of the prompt are there, but do not count; of other tokens, some are left out.
        labels = ids.masked_fill((mask == 0) | (torch.rand(ids.shape, generator=generator) < 0.2), -100)
        labels[0] = ids[0].clamp(min=1)
        inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels}
        inputs["prompts"] = ids[:, : prompt or integer(2, 3)].clone()
        tables = torch.randn(2, 2, WORDS, WORDS, generator=generator, dtype=torch.float64)
        given = {"inputs": inputs, "tables": tables, "dtype": dtype, "beta": uniform(0.1, 0.9), "train": True}
        return {"name": name, **given, "seed": integer(0, 2**31 - 1), **more}

    for dtype, outputs in product(("float32", "float64"), (False, True)):
        yield batch(f"loss, {dtype}{', and outputs' * outputs}", dtype=dtype, outputs=[outputs])
    yield batch("loss, a prompt of one", prompt=1)
    yield batch("loss, one token after the prompt", prompt=4, length=5)
    yield batch("loss, one row", rows=1)
    yield batch("loss, student in evaluation mode", train=False)
    yield batch("loss, teacher in training mode", teaching=True)
    for beta in (0.0, 1.0):
        yield batch(f"loss, a beta of {beta}", beta=beta)

    def texts(name, pad, masked=True, rows=4, **more):
        ids, mask = tokens(rows, integer(4, 6))
        inputs = {"prompts": ids[:, :2], "input_ids": ids.flip(0)}
        inputs |= {"prompt_attention_mask": mask[:, :2]} if masked else {}
        return {"name": f"texts, {name}", "sequences": ids, "inputs": inputs, "pad": pad, **more}

    for number, (pad, masked) in enumerate(((0, True), (0, False), (1, False), (2, True), (integer(3, 6), False))):
        yield texts(f"{number}", pad, masked)
    yield texts("one row", 0, rows=1)
    yield texts("a model in evaluation mode", 0, train=False)

    def seed_of_draw(low, high):
        """A seed with which the first number is between these."""
        while True:
            number = integer(0, 2**31 - 1)
            if low < random.Random(number).random() < high:
                return number

    for name, lmbda in (("never", 0.0), ("always", 1.0), ("seldom", 0.3), ("often", 0.7)):
        for number in range(2 if lmbda in (0, 1) else 4):
            # A number that would make a difference if the share were not quite 0 or 1.
            given = {"seed": seed_of_draw(lmbda and 0.8, lmbda or 0.2)} if lmbda in (0, 1) else {}
            yield batch(f"step, {name}, {number}", lmbda=lmbda, **given)
    yield batch("step, several", lmbda=0.5, times=4)
    yield batch("step, another token of padding", lmbda=1.0, pad=integer(2, 5))
    yield batch("step, wrapped", lmbda=1.0, wrapped=True)
    yield {"name": "experiment", "experiment": seed % 1000}

    def edge(case):
        return case | {"edge": True}

    for reduction in ("batchmean", "sum", "mean", "none"):
        given = divergence(f"nothing is counted, {reduction}", options={"reduction": reduction})
        given["labels"][:] = -100
        yield edge(given)
    for beta in (0, uniform(0.1, 0.9), 1):
        name = f"nothing in common, {beta if beta in (0, 1) else 'between'}"
        given = divergence(name, options={"beta": beta, "temperature": uniform(0.1, 0.2)})
        given["student"][..., :2] = torch.tensor([300, -300])
        given["teacher"][..., :2] = torch.tensor([-300, 300])
        yield edge(given)
    yield edge(texts("no token of padding", None))
    yield edge(texts("the default", "default"))
    yield edge(batch("step, no token of padding", lmbda=1.0, pad=None))
    yield edge(batch("loss, settings that change", later=[uniform(0.6, 0.9), 0.0, 0.5]))
    others = [batch("")["inputs"] for _ in range(2)]
    given = {"beta": 0.2, "later": [0.2, 0.2], "others": others, "outputs": [False, True, False]}
    yield edge(batch("loss, other arguments", **given))
    yield edge(batch("step, settings that change", lmbda=1.0, times=3, lmbdas=[0.0, 1.0], pads=[4, 1]))


def observe(case):
    if "experiment" in case:
        from experiment import run

        return {"experiment": run(case["experiment"])}
    if "student" in case:
        return _of_the_divergence(case)
    if "sequences" in case:
        return {"facts": _of_texts(case)}
    numbers, facts = _of_steps(case) if "lmbda" in case else _of_the_loss(case)
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


def _of_the_divergence(case):
    from trl.trainer.gkd_trainer import GKDTrainer

    dtype, labels = getattr(torch, case["dtype"]), case["labels"]
    logits = [case[name].to(dtype, copy=True).requires_grad_() for name in ("student", "teacher")]
    before = [item.detach().clone() for item in logits]
    given = {} if labels is None else {"labels": labels.clone()}
    result = GKDTrainer.generalized_jsd_loss(*logits, **given, **case["options"])
    facts = [str(result.dtype), list(result.shape)]
    numbers = [result.detach()]
    # The gradients of NaN, and of nothing, are of no use.
    if result.numel() and result.isfinite().all() and (labels is None or (labels != -100).any()):
        weights = case["weights"]
        if result.dim() == 2:
            weights = weights[labels != -100]
        (result * (weights if result.dim() else 1.5)).sum().backward()
        numbers += [item.grad for item in logits]
    facts += [torch.equal(*pair) for pair in zip(logits, before, strict=True)]
    facts.append(labels is None or torch.equal(given["labels"], labels))
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
        mask = settings["attention_mask"]
        self.seen.append([self.training, _unwrapped(), len(positional), sorted(settings)])
        self.seen.append([settings["return_dict_in_generate"], settings["input_ids"].tolist()])
        self.seen.append([mask if mask is None else mask.tolist(), settings["generation_config"].name])
        return SimpleNamespace(sequences=self.sequences)


def _trainer(case):
    from toy import trainer_of

    tables = case["tables"].to(getattr(torch, case["dtype"]))
    student, teacher = _Model(tables[0]), _Model(tables[1])
    trainer = trainer_of(student, teacher, beta=case["beta"], disable_dropout=False, temperature=0.6)
    student.train(case["train"])
    teacher.train(case.get("teaching", False))
    return trainer, student, teacher


def _kept(inputs):
    return {name: (item, item.clone()) for name, item in inputs.items()}


def _as_before(inputs, kept):
    return list(inputs) == list(kept) and all(torch.equal(item, kept[name][1]) for name, item in inputs.items())


def _left(model):
    """What a call leaves of a model."""
    return [model.training, model.table.requires_grad, str(model.table.dtype)]


def _of_the_loss(case):
    trainer, student, teacher = _trainer(case)
    numbers, facts = [], []
    for turn, beta in enumerate((case["beta"], *case.get("later", []))):
        given = case["others"][turn - 1] if turn and "others" in case else case["inputs"]
        inputs = {name: item.clone() for name, item in given.items()}
        kept = _kept(inputs)
        trainer.beta = beta
        student.zero_grad()
        torch.manual_seed(case["seed"])
        more = {"return_outputs": case["outputs"][turn]} if "outputs" in case else {}
        result = trainer.compute_loss(student, inputs, **more)
        if more.get("return_outputs"):
            facts.append([isinstance(result, tuple), len(result), result[1].own is student])
            numbers.append(result[1].logits.detach())
            result = result[0]
        facts.append([str(result.dtype), list(result.shape), trainer.beta, _left(student), _left(teacher)])
        result.backward()
        numbers += [result.detach(), student.table.grad.clone()]
        facts.append([teacher.table.grad is None, _as_before(inputs, kept)])
        facts.append([list(student.seen), list(teacher.seen)])
    return numbers, facts


def _of_texts(case):
    from trl.trainer.gkd_trainer import GKDTrainer

    sequences = case["sequences"].clone()
    model, config = _Model(torch.zeros(2, 2, 2), sequences), SimpleNamespace(name="of these texts")
    model.train(case.get("train", True))
    inputs = dict(case["inputs"])
    kept = _kept(inputs)
    pad = () if case["pad"] == "default" else (case["pad"],)
    results = GKDTrainer.generate_on_policy_outputs(model, inputs, config, *pad)
    facts = [isinstance(results, tuple), torch.equal(sequences, case["sequences"]), _as_before(inputs, kept)]
    facts += [[str(item.dtype), list(item.shape), item.tolist()] for item in results]
    return [*facts, model.seen, _left(model)]


class _Wrapper(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module, self.calls = module, 0

    def forward(self, **inputs):
        self.calls += 1
        return self.module(**inputs)


def _of_steps(case):
    trainer, student, teacher = _trainer(case)
    # The token of the end is one that the texts hold.
    end = case["inputs"]["input_ids"][0, 0].item()
    trainer.tokenizer = SimpleNamespace(pad_token_id=case.get("pad", 0), eos_token_id=end)
    trainer.generation_config.name = "of the trainer"
    trainer.accelerator = SimpleNamespace(unwrap_model=lambda model: getattr(model, "module", model))
    model = _Wrapper(student) if case.get("wrapped") else student
    random.seed(case["seed"])
    torch.manual_seed(case["seed"])
    numbers, facts = [], []
    for time in range(case.get("times", 1)):
        trainer.lmbda = case["lmbda"]
        if time and "lmbdas" in case:
            trainer.lmbda, trainer.tokenizer.pad_token_id = case["lmbdas"][time - 1], case["pads"][time - 1]
        inputs = {name: item.clone() for name, item in case["inputs"].items()}
        inputs["prompt_attention_mask"] = inputs["attention_mask"][:, : inputs["prompts"].shape[1]].clone()
        # What the student writes is longer than what is given.
        written = inputs["input_ids"].flip(0, 1)
        student.sequences = torch.cat((inputs["prompts"], written, written.roll(1)), dim=1)
        kept = _kept(inputs)
        student.zero_grad()
        student.seen.clear()
        result = trainer.training_step(model, inputs)
        numbers += [result.detach(), student.table.grad.clone()]
        facts.append([list(result.shape), result.requires_grad])
        facts.append({name: item.tolist() for name, item in inputs.items()})
        facts.append([torch.equal(*pair) for pair in kept.values()])
        facts.append([list(student.seen), model.calls if case.get("wrapped") else None])
        settings = trainer.lmbda, trainer.tokenizer.pad_token_id, trainer.beta
        facts.append([*settings, _left(student), _left(teacher)])
    return numbers, facts
