"""Log-probabilities of both models for both kinds of text, and losses, with settings that change; the experiment."""

from contextlib import contextmanager
from types import SimpleNamespace

import torch
from torch import nn

WORDS = 9
LOGPS = ("model_logprobs_model_data", "model_logprobs_ref_data", "ref_logprobs_ref_data", "ref_logprobs_model_data")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def texts(rows, length, context):
        ids = torch.randint(WORDS, (rows, length), generator=generator)
        kept = torch.randint(1, length - context + 1, (rows, 1), generator=generator)
        mask = (torch.arange(length - context) < kept).long()
        # Padding stands at the left of prompts, and its token is any.
        prompt = (torch.arange(context) >= torch.randint(context, (rows, 1), generator=generator)).long()
        return {"input_ids": ids, "attention_mask": torch.cat((prompt, mask), dim=1)}

    def written(name, rows=3, context=3, model=4, reference=6, size=1.0, dtype="float64", **more):
        data = texts(rows, context + model, context), texts(rows, context + reference, context)
        weights = torch.randn(rows, max(model, reference) + 1, generator=generator, dtype=torch.float64)
        tables = size * torch.randn(2, 2, WORDS, WORDS, generator=generator, dtype=torch.float64)
        given = {"data": data, "context": context, "weights": weights, "tables": tables, "dtype": dtype}
        return {"name": f"written, {name}", "adapter": False, "train": True, "seed": 0, **given, **more}

    for dtype in ("float64", "float32"):
        for adapter in (False, True):
            yield written(f"{dtype}, {adapter}", dtype=dtype, adapter=adapter)
            yield written(f"longer texts of the model, {dtype}, {adapter}", model=9, dtype=dtype, adapter=adapter)
            yield written(f"large logits, {dtype}, {adapter}", size=90.0, dtype=dtype, adapter=adapter)
            yield written(f"evaluation mode, {dtype}, {adapter}", train=False, dtype=dtype, adapter=adapter)
    yield written("one row", rows=1)
    yield written("many rows", rows=50)
    yield written("prompts of one token", context=1)
    yield written("long prompts", context=40)
    yield written("completions of one token", model=1, reference=1)
    yield written("one token of the model", model=1, reference=5)
    yield written("one token of the reference", model=5, reference=1)
    yield written("equal lengths", model=5, reference=5)
    yield written("long completions", model=50, reference=45)
    yield written("the smallest", rows=1, context=1, model=1, reference=1, adapter=True)
    yield written("reference in training mode", ref_train=True)
    for adapter in (False, True):
        yield written(f"a part in evaluation mode, {adapter}", adapter=adapter, partly=True)
    for kind in ("all tokens count", "one token counts"):
        given = written(kind)
        for data in given["data"]:
            data["attention_mask"][:, 3:] = int(kind == "all tokens count")
            data["attention_mask"][0, 3] = 1
        yield given
    given = written("masks with holes")
    for data in given["data"]:
        data["attention_mask"][:, 3:] = torch.randint(2, data["attention_mask"][:, 3:].shape, generator=generator)
    yield given
    given = written("padding is a word that counts elsewhere")
    for data in given["data"]:
        data["input_ids"][:, ::2] = 0
    yield given
    yield written("gradients disabled", grad=False)
    yield written("gradients disabled, adapter", grad=False, adapter=True)
    yield written("spread in memory", spread=True)
    yield written("called again", again=True)
    yield written("called again, with an adapter", again=True, adapter=True)

    def losses(name, rows=6, model=4, reference=5, dtype="float64", size=1.0, **more):
        lengths = dict(zip(LOGPS, (model, reference, reference, model), strict=True))
        logps = {
            key: -size * torch.rand(rows, n, generator=generator, dtype=torch.float64) for key, n in lengths.items()
        }
        # What isn't there is 0.
        for pair in ((0, 3), (1, 2)):
            length = lengths[LOGPS[pair[0]]]
            kept = torch.arange(length) < torch.randint(1, length + 1, (rows, 1), generator=generator)
            for index in pair:
                logps[LOGPS[index]] *= kept
        chosen = torch.arange(rows) % 2 == int(torch.randint(2, (), generator=generator))
        weights = torch.randn(2, rows, generator=generator, dtype=torch.float64)
        given = {"logps": logps, "chosen": chosen, "weights": weights, "dtype": dtype, "kind": "sigmoid"}
        settings = {"alpha": 0.3, "beta": 0.4, "epochs": [0], "source": "all"}
        return {"name": f"losses, {name}", **given, **settings, **more}

    for dtype in ("float64", "float32"):
        for kind in ("sigmoid", "ipo"):
            yield losses(f"{kind}, {dtype}", dtype=dtype, kind=kind)
            for name, value in (("all", True), ("none", False)):
                given = losses(f"{kind}, {name} preferred, {dtype}", dtype=dtype, kind=kind)
                yield given | {"chosen": torch.full((6,), value)}
            yield losses(f"{kind}, one pair, {dtype}", rows=1, dtype=dtype, kind=kind)
            yield losses(f"{kind}, sums in the tens, {dtype}", size=20.0, dtype=dtype, kind=kind, beta=0.1, alpha=0.01)
    for kind in ("sigmoid", "ipo"):
        # A softplus may be cut off at 20, so arguments stay far below it or are far above.
        for beta in (0.01, 0.1, 1, 10.0):
            yield losses(f"{kind}, a beta of {beta}", size=0.2 if beta > 1 else 1.0, beta=beta, kind=kind)
        for alpha in (0, 0.0, 1e-5, 1, 10.0):
            yield losses(f"{kind}, an alpha of {alpha}", alpha=alpha, kind=kind)
        while True:
            given = losses(f"{kind}, sums in the hundreds", size=200.0, beta=10.0, alpha=2.0, kind=kind)
            model, other, reference, last = (given["logps"][key].sum(dim=1) for key in LOGPS)
            if (model - other + reference - last).abs().min() > 10:
                break
        yield given
        yield losses(f"{kind}, one token", model=1, reference=1, kind=kind)
        yield losses(f"{kind}, a hundred pairs", rows=100, kind=kind)
        yield losses(f"{kind}, long texts", model=100, reference=80, kind=kind)
        yield losses(f"{kind}, equal lengths", model=5, kind=kind)
        epochs = [0, 1, 2, 5]
        yield losses(f"{kind}, epochs", alpha=[0.5, 0.2, 0.0], beta=[0.1, 0.9], epochs=epochs, kind=kind)
        yield losses(f"{kind}, settings of a subclass", kind=kind, own=(0.9, 0.2))
        yield losses(f"{kind}, epochs of alpha alone", alpha=[0.5, 0.2], epochs=[1, 0], kind=kind)
        for source in ("loss", "preferences", "exploration"):
            yield losses(f"{kind}, gradients from {source}", source=source, kind=kind)
        yield losses(f"{kind}, gradients disabled", grad=False, kind=kind)
        given = losses(f"{kind}, model and reference agree", kind=kind)
        given["logps"][LOGPS[3]], given["logps"][LOGPS[2]] = (given["logps"][LOGPS[index]].clone() for index in (0, 1))
        yield given
        yield losses(f"{kind}, spread in memory", spread=True, kind=kind)
    yield losses("sums in the hundreds, single precision", size=200.0, beta=0.01, alpha=0.001, dtype="float32")
    yield losses("the kind changes", kinds=["sigmoid", "ipo", "sigmoid"], epochs=[0, 0, 0])
    for name in LOGPS:
        yield losses(f"gradient of {name} alone", wanted=(name,))
    for kind in ("hinge", "", "IPO"):
        yield losses(f"refused: {kind}", kind=kind, refused=True)
    yield {"name": "experiment", "experiment": seed % 1000}


def observe(case):
    if "experiment" in case:
        from experiment import run

        return {"experiment": run(case["experiment"])}
    numbers, facts = _of_texts(case) if "data" in case else _of_losses(case)
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


class _Model(nn.Module):
    """Logits by tables, masks and dropout; it notes how it is called."""

    def __init__(self, tables, seen, name):
        super().__init__()
        self.tables, self.dropout = nn.Parameter(tables), nn.Dropout(0.3)
        self.seen, self.name, self.adapter, self.returned = seen, name, True, []
        self.register_forward_hook(lambda *_: seen.append([name, "called as such"]))

    @contextmanager
    def disable_adapter(self):
        self.adapter = False
        try:
            yield
        finally:
            self.adapter = True

    def forward(self, *positional, **named):
        facts = [self.name, self.adapter, self.training, torch.is_grad_enabled(), len(positional), sorted(named)]
        # What the reference does first, nobody says; nor does it matter where gradients are asked for.
        self.seen.append([*facts, positional[0].tolist(), named["attention_mask"].tolist()])
        ids, mask = positional[0], named["attention_mask"].unsqueeze(-1)
        tables = self.tables if self.adapter else self.tables.flip(0)
        logits = self.dropout(tables[0][ids]) if self.adapter and self.name == "model" else tables[0][ids]
        logits = logits + 0.2 * (tables[1][ids] * mask).cumsum(1)
        self.returned.append((logits, logits.detach().clone()))
        return SimpleNamespace(logits=logits)


def _spread(item):
    return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)


def _of_texts(case):
    from trl.trainer.xpo_trainer import XPOTrainer

    trainer, seen = object.__new__(XPOTrainer), []
    tables = case["tables"].to(getattr(torch, case["dtype"]))
    model = _Model(tables[0].clone(), seen, "model").train(case["train"])
    reference = _Model(tables[1].clone(), seen, "reference").train(case.get("ref_train", False))
    if case.get("partly"):
        model.dropout.eval()
        reference.dropout.train()
    trainer.ref_model = None if case["adapter"] else reference
    numbers, facts = [], []
    datasets = [case["data"]]
    if case.get("again"):
        datasets.append([{name: item.flip(0)[1:] for name, item in data.items()} for data in case["data"]])
    for number, pair in enumerate(datasets):
        laid_out = _spread if case.get("spread") else torch.clone
        data = [{name: laid_out(item) for name, item in part.items()} for part in pair]
        torch.manual_seed(case["seed"])
        seen.clear()
        model.zero_grad()
        with torch.set_grad_enabled(case.get("grad", True)):
            # Called again, a prompt's last token belongs to the completion.
            result = trainer._compute_logprobs(model, *data, case["context"] - number)
            facts.append(torch.is_grad_enabled())
        facts.append([type(result).__name__, len(result)])
        facts.append([[str(item.dtype), list(item.shape), item.requires_grad] for item in result])
        facts += [seen[:4], sorted(seen[4:], key=str), model.adapter]
        facts.append([part.training for part in (*model.modules(), *reference.modules())])
        facts.append([torch.equal(item, old) for item, old in (*model.returned, *reference.returned)])
        numbers += [item.detach() for item in result]
        if result[0].requires_grad:
            for item, factor in zip(result[:2], (1.0, 0.6), strict=True):
                weights = case["weights"][number : number + len(item), : item.shape[1]]
                (factor * item * weights.to(item.dtype)).sum().backward(retain_graph=True)
                numbers.append(model.tables.grad.clone())
        facts.append([reference.tables.grad is None, trainer.ref_model is (None if case["adapter"] else reference)])
        facts.append([list(part) for part in data])
        facts.append([torch.equal(part[name], old[name]) for part, old in zip(data, pair, strict=True) for name in old])
        facts.append(sorted(vars(trainer)))
    return numbers, facts


def _of_losses(case):
    from trl.trainer.xpo_trainer import XPOTrainer

    kind, dtype = XPOTrainer, getattr(torch, case["dtype"])
    if "own" in case:
        kind = type("Other", (XPOTrainer,), dict(zip(("alpha", "beta"), case["own"], strict=True)))
    trainer = object.__new__(kind)
    trainer.args, trainer.state = SimpleNamespace(loss_type=case["kind"]), SimpleNamespace()
    trainer._alpha, trainer._beta = case["alpha"], case["beta"]
    numbers, facts = [], []
    for number, epoch in enumerate(case["epochs"]):
        trainer.state.epoch = epoch
        if "kinds" in case:
            trainer.args.loss_type = case["kinds"][number]
        laid_out = _spread if case.get("spread") else torch.clone
        # Other numbers each time.
        logps = {name: laid_out((item * (1 + 0.1 * number)).to(dtype)) for name, item in case["logps"].items()}
        before = {name: item.clone() for name, item in logps.items()}
        chosen = case["chosen"].clone() if number % 2 == 0 else ~case["chosen"]
        kept, wanted = chosen.clone(), case.get("wanted", LOGPS)
        if case.get("grad", True):
            for name in wanted:
                logps[name].requires_grad_()
        if case.get("refused"):
            try:
                trainer._compute_losses(*logps.values(), chosen)
                return [], ["nothing is raised"]
            except Exception as error:
                return [], [isinstance(error, NotImplementedError)]
        result = trainer._compute_losses(*logps.values(), chosen)
        facts.append([type(result).__name__, len(result)])
        facts.append([[str(item.dtype), list(item.shape)] for item in result])
        # The exploration terms alone may be computed with texts that they do not depend on.
        facts.append([item.requires_grad for item in (result if LOGPS[1] in wanted else result[:2])])
        numbers += [item.detach() for item in result]
        loss, preferences, exploration = result
        weights = case["weights"].to(dtype)
        total = {
            "all": loss + (weights[0] * preferences).sum() + (weights[1] * exploration).sum(),
            "loss": loss,
            "preferences": (weights[0] * preferences).sum(),
            "exploration": (weights[1] * exploration).sum(),
        }[case["source"]]
        if total.requires_grad:
            total.backward()
            for item in logps.values():
                numbers.append(torch.zeros_like(item) if item.grad is None else item.grad)
                if case["source"] == "all":
                    facts.append(item.grad is None)
        facts += [torch.equal(item.detach(), before[name]) for name, item in logps.items()]
        facts.append([torch.equal(chosen, kept), trainer._alpha, trainer._beta, sorted(vars(trainer))])
        facts.append([sorted(vars(trainer.args)), trainer.args.loss_type, sorted(vars(trainer.state))])
    return numbers, facts
