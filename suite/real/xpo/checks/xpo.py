"""Log-probabilities of both models for both kinds of text, losses with their gradients, and the experiment."""

from contextlib import contextmanager
from itertools import product
from types import SimpleNamespace

import torch
from torch import nn

WORDS = 9
LOGPS = ("model_logprobs_model_data", "model_logprobs_ref_data", "ref_logprobs_ref_data", "ref_logprobs_model_data")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def texts(rows, length, context, holes):
        ids = torch.randint(WORDS, (rows, length), generator=generator)
        kept = torch.randint(1, length - context + 1, (rows, 1), generator=generator)
        mask = (torch.arange(length - context) < kept).long()
        if holes:
            mask = torch.randint(2, mask.shape, generator=generator)
        # Padding stands at the left of prompts, and its token is any.
        prompt = (torch.arange(context) >= torch.randint(context, (rows, 1), generator=generator)).long()
        return {"input_ids": ids, "attention_mask": torch.cat((prompt, mask), dim=1)}

    def written(name, rows=None, context=None, model=None, reference=None, size=1.0, dtype="float64", **more):
        rows, context = rows or integer(2, 4), context or integer(2, 4)
        holes = more.pop("holes", False)
        data = [texts(rows, context + (count or integer(2, 6)), context, holes) for count in (model, reference)]
        weights = torch.randn(rows, 12, generator=generator, dtype=torch.float64)
        tables = size * torch.randn(2, 2, WORDS, WORDS, generator=generator, dtype=torch.float64)
        given = {"data": data, "context": context, "weights": weights, "tables": tables, "dtype": dtype}
        return {"name": f"written, {name}", "adapter": False, "train": True, **given, **more}

    for dtype, adapter in product(("float64", "float32"), (False, True)):
        more = {"dtype": dtype, "adapter": adapter}
        name = f"{dtype}{', adapter' * adapter}"
        yield written(f"longer texts of the model, {name}", model=integer(6, 9), reference=integer(2, 5), **more)
        yield written(f"longer texts of the reference, {name}", model=integer(2, 5), reference=integer(6, 9), **more)
        yield written(f"evaluation mode, {name}", train=False, holes=True, **more)
    yield written("one row", rows=1)
    yield written("many rows", rows=20)
    yield written("prompts of one token", context=1)
    yield written("long prompts", context=integer(15, 20), holes=True)
    yield written("completions of one token", model=1, reference=integer(1, 2))
    yield written("equal lengths", model=5, reference=5)
    yield written("reference in training mode", ref_train=True)
    given = written("all tokens count")
    for data in given["data"]:
        data["attention_mask"][:] = 1
    yield given

    def losses(name, rows=None, dtype="float64", size=1.0, **more):
        rows, model, reference = rows or integer(4, 7), integer(2, 5), integer(3, 6)
        lengths = dict(zip(LOGPS, (model, reference, reference, model), strict=True))
        logps = {
            key: -size * torch.rand(rows, n, generator=generator, dtype=torch.float64) for key, n in lengths.items()
        }
        # What isn't there is 0.
        for one, other in ((0, 3), (1, 2)):
            kept = torch.rand(rows, lengths[LOGPS[one]], generator=generator) < 0.8
            for index in (one, other):
                logps[LOGPS[index]] *= kept
        chosen = torch.rand(rows, generator=generator) < 0.5
        if rows > 1:
            chosen[0], chosen[1] = True, False
        weights = torch.randn(2, rows, generator=generator, dtype=torch.float64)
        given = {"logps": logps, "chosen": chosen, "weights": weights, "dtype": dtype, "kinds": ["sigmoid"]}
        settings = {"alpha": uniform(0.05, 0.9), "beta": uniform(0.05, 0.9), "epochs": [0]}
        return {"name": f"losses, {name}", **given, **settings, **more}

    for dtype, kind in product(("float64", "float32"), ("sigmoid", "ipo")):
        more = {"dtype": dtype, "kinds": [kind]}
        yield losses(f"{kind}, {dtype}", **more)
        yield losses(f"{kind}, one pair, {dtype}", rows=1, **more)
        yield losses(f"{kind}, sums in the tens, {dtype}", size=15.0, beta=uniform(0.05, 0.2), **more)
        given = losses(f"{kind}, one side preferred, {dtype}", **more)
        yield given | {"chosen": torch.full_like(given["chosen"], integer(0, 1) == 1)}
    for kind in ("sigmoid", "ipo"):
        more = {"kinds": [kind]}
        yield losses(f"{kind}, a small beta", beta=0.01, **more)
        yield losses(f"{kind}, a large beta", beta=integer(2, 4), size=0.3, **more)
        yield losses(f"{kind}, a small alpha", alpha=1e-5, size=9.0, **more)
        yield losses(f"{kind}, an alpha of 0", alpha=0, **more)
        yield losses(f"{kind}, a large alpha", alpha=integer(2, 5), **more)
        yield losses(f"{kind}, many pairs", rows=40, **more)
        yield losses(f"{kind}, tensors that are not contiguous", transposed=True, **more)
        lists = {name: [uniform(0.1, 0.9) for _ in range(3)] for name in ("alpha", "beta")}
        yield losses(f"{kind}, settings of an epoch", **lists, epochs=[integer(0, 1)], **more)
    yield {"name": "experiment", "experiment": seed % 1000}

    for kind in ("sigmoid", "ipo"):
        while True:
            given = losses(f"{kind}, sums in the hundreds", size=200.0, beta=uniform(2, 5), kinds=[kind], edge=True)
            model, other, reference, last = (given["logps"][key].sum(dim=1) for key in LOGPS)
            # Neither is a softplus to be cut off at 20, nor is one that is.
            if (model - other + reference - last).abs().min() > 30:
                break
        yield given
        lists = {"alpha": [0.5, 0.2, 0.0], "beta": [0.1, 0.9]}
        yield losses(f"{kind}, epochs", **lists, epochs=[0, 1, 2, 5], kinds=[kind] * 4, edge=True)
    yield losses("the kind changes", kinds=["sigmoid", "ipo", "sigmoid"], epochs=[0, 0, 0], edge=True)
    yield losses("another kind", kinds=["hinge"], refused=True, edge=True)
    for adapter in (False, True):
        name = f"large logits{', adapter' * adapter}"
        yield written(name, size=90.0, dtype="float32", adapter=adapter, edge=True)
        context = integer(2, 4)
        others = [written("", rows=3, context=context + more) for more in (1, 0)]
        later = [{"data": given["data"], "context": given["context"]} for given in others]
        name = f"other texts{', adapter' * adapter}"
        yield written(name, rows=3, context=context, adapter=adapter, later=later, edge=True)


def observe(case):
    if "experiment" in case:
        from experiment import run

        return {"experiment": run(case["experiment"])}
    numbers, facts = _of_texts(case) if "data" in case else _of_losses(case)
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


class _Model(nn.Module):
    """Logits by tables and masks; it notes how it is called."""

    def __init__(self, tables, seen, name):
        super().__init__()
        self.tables, self.seen, self.name, self.adapter = nn.Parameter(tables), seen, name, True

    @contextmanager
    def disable_adapter(self):
        self.adapter = False
        try:
            yield
        finally:
            self.adapter = True

    def forward(self, input_ids, attention_mask):
        self.seen.append([self.name, self.adapter, self.training, torch.is_grad_enabled()])
        tables = self.tables if self.adapter else self.tables.flip(0)
        past = (tables[1][input_ids] * attention_mask.unsqueeze(-1)).cumsum(1)
        return SimpleNamespace(logits=tables[0][input_ids] + 0.2 * past)


def _of_texts(case):
    from trl.trainer.xpo_trainer import XPOTrainer

    trainer, seen = object.__new__(XPOTrainer), []
    tables = case["tables"].to(getattr(torch, case["dtype"]))
    model = _Model(tables[0].clone(), seen, "model").train(case["train"])
    reference = _Model(tables[1].clone(), seen, "reference").train(case.get("ref_train", False))
    trainer.ref_model = None if case["adapter"] else reference
    numbers, facts = [], []
    for given in (case, *case.get("later", [])):
        data = [{name: item.clone() for name, item in part.items()} for part in given["data"]]
        result = trainer._compute_logprobs(model, *data, given["context"])
        facts.append([isinstance(result, tuple), [[str(item.dtype), list(item.shape)] for item in result]])
        facts.append([item.requires_grad for item in result])
        numbers += [item.detach() for item in result]
        for item in result[:2]:
            model.zero_grad()
            (item * case["weights"][:, : item.shape[1]]).sum().backward(retain_graph=True)
            numbers.append(model.tables.grad.clone())
        facts.append([model.adapter, trainer.ref_model is (None if case["adapter"] else reference)])
        facts += [[part.training, part.tables.requires_grad, str(part.tables.dtype)] for part in (model, reference)]
        pairs = zip(data, given["data"], strict=True)
        facts += [torch.equal(part[name], item) for part, before in pairs for name, item in before.items()]
    # In which order, and how often models are called, is not looked at.
    facts.append(sorted(map(list, {tuple(call) for call in seen})))
    return numbers, facts


def _of_losses(case):
    from trl.trainer.xpo_trainer import XPOTrainer

    trainer, dtype = object.__new__(XPOTrainer), getattr(torch, case["dtype"])
    trainer._alpha, trainer._beta = case["alpha"], case["beta"]
    trainer.args, trainer.state = SimpleNamespace(), SimpleNamespace()
    numbers, facts = [], []
    for turn, (kind, epoch) in enumerate(zip(case["kinds"], case["epochs"], strict=True)):
        trainer.args.loss_type, trainer.state.epoch = kind, epoch
        # Other pairs each time.
        given = {name: (1 + 0.1 * turn) * case["logps"][name] for name in LOGPS}
        if "transposed" in case:
            given = {name: item.T.contiguous().T for name, item in given.items()}
        logps = {name: item.to(dtype, copy=True).requires_grad_() for name, item in given.items()}
        before = {name: item.detach().clone() for name, item in logps.items()}
        chosen = ~case["chosen"] if turn % 2 else case["chosen"].clone()
        kept = chosen.clone()
        if case.get("refused"):
            return [], [_refused(trainer, [*logps.values(), chosen])]
        result = trainer._compute_losses(*logps.values(), chosen)
        facts.append([isinstance(result, tuple), [[str(item.dtype), list(item.shape)] for item in result]])
        numbers += [item.detach() for item in result]
        loss, preferences, exploration = result
        weights = case["weights"].to(dtype)
        for total in (loss, (weights[0] * preferences).sum(), (weights[1] * exploration).sum()):
            found = torch.autograd.grad(total, [*logps.values()], retain_graph=True, allow_unused=True)
            numbers += [torch.zeros_like(chosen, dtype=dtype) if item is None else item[:, 0] for item in found]
        facts += [torch.equal(item.detach(), before[name]) for name, item in logps.items()]
        facts.append([torch.equal(chosen, kept), trainer.args.loss_type, trainer._alpha, trainer._beta])
    return numbers, facts


def _refused(trainer, given):
    try:
        trainer._compute_losses(*given)
    except Exception as error:
        return isinstance(error, NotImplementedError)
    return "nothing is raised"
