"""ORPO: odds ratios, log-probabilities, the pass over both answers and the whole loss; then the experiment."""

from itertools import product
from types import SimpleNamespace

import torch
from torch import nn

WORDS = 8


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def odds(name, dtype="float64", low=-6.0, high=-0.3, **more):
        rows = integer(3, 9)
        logps = low + (high - low) * torch.rand(2, rows, generator=generator, dtype=torch.float64)
        weights = torch.randn(rows, generator=generator, dtype=torch.float64)
        given = {"logps": logps, "weights": weights, "dtype": dtype, "betas": [uniform(0.05, 0.8)]}
        return {"name": f"odds, {name}", **given, **more}

    for dtype in ("float64", "float32"):
        yield odds(dtype, dtype)
        yield odds(f"improbable answers, {dtype}", dtype, low=-20.0, high=-8.0)
    yield odds("probable answers", low=-0.09, high=-0.01)
    yield odds("a large beta", betas=[uniform(1.5, 5)])
    yield odds("settings that change", betas=[0.3, 2.0, 0.0], edge=True)

    def labelled(name, dtype="float64", pad=-100, average=False, both=False, size=2.0, **more):
        rows, length, words = integer(2, 5), integer(5, 9), integer(8, 14)
        labels = torch.randint(words, (rows, length), generator=generator)
        labels[torch.rand(rows, length, generator=generator) < 0.3] = pad
        labels[:, integer(1, 4)] = 3  # Each row has a label that counts.
        logits = size * torch.randn(rows, length, words, generator=generator, dtype=torch.float64)
        weights = torch.randn(rows, generator=generator, dtype=torch.float64)
        options = {"average_log_prob": average, "label_pad_token_id": pad, "is_encoder_decoder": both}
        given = {"logits": logits, "labels": labels, "weights": weights, "dtype": dtype, "options": options}
        return {"name": f"labels, {name}", **given, **more}

    for average, both in product((False, True), (False, True)):
        dtype = ("float32", "float64")[integer(0, 1)]
        name = f"{'averages' if average else 'sums'}{', encoder and decoder' * both}"
        yield labelled(name, dtype, average=average, both=both)
    for pad in (0, integer(4, 7), -integer(1, 9)):
        yield labelled(f"padding is {('a' if pad >= 0 else 'no')} token, {pad == 0}", pad=pad, both=integer(0, 1) == 1)
    for average in (False, True):
        given = labelled(f"nothing counts in a row, {'average' if average else 'sum'}", average=average, edge=True)
        given["labels"][1] = -100
        yield given
    yield labelled("bfloat16", "bfloat16", average=True, edge=True)
    yield labelled("logits in the hundreds", size=200.0, edge=True)
    for number, (name, shape) in enumerate({"fewer rows": (2, 7), "shorter": (3, 6), "one row": (1, 7)}.items()):
        yield {"name": f"labels, refused: {name}", "shape": shape, "both": number % 2 == 1, "edge": True}

    def masks(rows, length, prompt, kind):
        """Where texts have tokens; `any` has gaps everywhere, but two tokens after the prompt in each row."""
        if kind == "any":
            mask = torch.rand(rows, length, generator=generator) < 0.6
            mask[:, [prompt, length - 1]] = True
            return mask
        lengths = torch.randint(prompt + 1, length + 1, (rows, 1), generator=generator)
        places = torch.arange(length)
        return places < lengths if kind == "right" else places >= length - lengths

    def batch(both, kind, padding):
        rows, prompt, items = integer(2, 4), integer(2, 3), {}
        for name in ("chosen", "rejected"):
            length = prompt + integer(2, 6)
            ids = torch.randint(WORDS, (rows, length), generator=generator)
            mask = masks(rows, length, prompt, kind)
            ids = ids.where(mask, padding)
            labels = ids.where(mask & (torch.arange(length) >= prompt), -100)
            if both:
                # Answers alone, of which the first label counts, too.
                labels = ids.where(mask | (torch.arange(length) == 0), -100)
            elif kind == "left":
                labels[:, -1] = ids[:, -1]
            items |= {f"{name}_input_ids": ids, f"{name}_attention_mask": mask.long(), f"{name}_labels": labels}
        items["prompt_input_ids"] = torch.randint(WORDS, (rows, prompt), generator=generator)
        items["prompt_attention_mask"] = masks(rows, prompt, 0, "left").long()
        return items

    def whole(name, dtype="float64", both=False, kind="right", **more):
        padding = integer(0, WORDS - 1)
        tables = torch.randn(3, WORDS, WORDS, generator=generator, dtype=torch.float64)
        given = {"batch": batch(both, kind, padding), "tables": tables, "dtype": dtype, "padding": padding}
        settings = {"beta": uniform(0.1, 0.9), "both": both, "aux": False, "coefficient": None}
        return {"name": f"whole, {name}", "train_eval": "train", "later": [], **given, **settings, **more}

    for both, kind in product((False, True), ("right", "left", "any")):
        name = f"{'encoder and decoder' if both else 'decoder'}, {kind}"
        yield whole(name, ("float64", "float32")[integer(0, 1)], both, kind)
    for both in (False, True):
        aux = {"aux": True, "coefficient": uniform(0.2, 1.5)}
        yield whole(f"auxiliary loss, {both}", both=both, kind="any", **aux)
    yield whole("a coefficient without an auxiliary loss", coefficient=0.7)
    yield whole("evaluation", train_eval="eval", kind="any")
    yield whole("a large beta", beta=uniform(1.5, 5), kind="any")
    yield {"name": "experiment", "seed": seed % 1000}

    given = whole("equal answers", edge=True)
    for name in ("input_ids", "attention_mask", "labels"):
        given["batch"][f"rejected_{name}"] = given["batch"][f"chosen_{name}"].clone()
    yield given
    yield whole("a beta of 0", beta=0, edge=True)
    yield whole("no coefficient of the auxiliary loss", aux=True, edge=True)
    later = [{"beta": 2.0}, {"aux_loss_enabled": True}, {"beta": 0.1, "aux_loss_enabled": False}]
    later += [{"is_encoder_decoder": True}, {"is_encoder_decoder": False}]
    while True:
        given = whole("settings that change", later=later, coefficient=0.6, edge=True)
        # Only where one answer is longer is there padding.
        if given["batch"]["chosen_labels"].shape != given["batch"]["rejected_labels"].shape:
            break
    later[-1]["padding_value"] = (given["padding"] + 3) % WORDS
    yield given


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "logps" in case:
        return _of_odds(case)
    if "shape" in case:
        return {"refused": _refused(case)}
    return _of_labels(case) if "logits" in case else _of_the_whole(case)


def _trainer(**settings):
    from trl.trainer.orpo_trainer import ORPOTrainer

    trainer = object.__new__(ORPOTrainer)
    trainer.accelerator = SimpleNamespace(device=torch.device("cpu"))
    vars(trainer).update(settings)
    return trainer


def _of_odds(case):
    trainer, dtype = _trainer(), getattr(torch, case["dtype"])
    numbers, facts = [], []
    for beta in case["betas"]:
        trainer.beta = beta
        logps = [item.to(dtype, copy=True).requires_grad_() for item in case["logps"]]
        losses, chosen, rejected, ratio, log_odds = trainer.odds_ratio_loss(*logps)
        facts.append([[str(item.dtype), list(item.shape)] for item in (losses, chosen, rejected, ratio, log_odds)])
        facts.append([losses.requires_grad, chosen.requires_grad, rejected.requires_grad])
        numbers += [item.detach().double() for item in (losses, chosen, rejected, ratio, log_odds)]
        (losses * case["weights"].to(dtype)).sum().backward()
        numbers += [item.grad.double() for item in logps]
    return {"double" if dtype == torch.float64 else "single": numbers, "facts": facts}


def _of_labels(case):
    from trl.trainer.orpo_trainer import ORPOTrainer

    logits = case["logits"].to(getattr(torch, case["dtype"]), copy=True).requires_grad_()
    labels = case["labels"].clone()
    result = ORPOTrainer.get_batch_logps(logits, labels, **case["options"])
    facts = [str(result.dtype), list(result.shape), torch.equal(labels, case["labels"])]
    if case["dtype"] == "bfloat16":
        return {"facts": facts, "finite": result.isfinite().all().item()}
    # The gradient of a row whose average is NaN is of no use.
    counted = result.isfinite()
    (result.double() * case["weights"])[counted].sum().backward()
    numbers = {"result": result.detach().double(), "gradient": logits.grad.double()[counted]}
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


def _refused(case):
    from trl.trainer.orpo_trainer import ORPOTrainer

    labels = torch.ones(case["shape"], dtype=torch.int64)
    try:
        ORPOTrainer.get_batch_logps(torch.zeros(3, 7, 5), labels, is_encoder_decoder=case["both"])
    except Exception as error:
        return isinstance(error, ValueError)
    return "nothing is raised"


class _Model(nn.Module):
    """Logits by tables of the tokens and of those before them that the mask holds a 1 for."""

    def __init__(self, tables, coefficient):
        super().__init__()
        self.tables, self.config = nn.Parameter(tables), SimpleNamespace()
        if coefficient is not None:
            self.config.router_aux_loss_coef = coefficient

    def forward(self, input_ids, attention_mask, use_cache=None, decoder_input_ids=None, output_router_logits=False):
        seen = self.tables[1][input_ids] * attention_mask.unsqueeze(-1)
        logits = self.tables[0][input_ids] + 0.2 * seen.cumsum(1)
        if decoder_input_ids is not None:
            logits = logits.mean(1, keepdim=True) + self.tables[2][decoder_input_ids]
        outputs = SimpleNamespace(logits=logits)
        if output_router_logits:
            outputs.aux_loss = self.tables.square().mean()
        return outputs


def _state(model, batch, case):
    """What a call leaves of a model and a batch."""
    unchanged = {name: torch.equal(item, case["batch"][name]) for name, item in batch.items()}
    return [model.training, str(model.tables.dtype), model.tables.requires_grad, unchanged]


def _of_the_whole(case):
    dtype = getattr(torch, case["dtype"])
    model = _Model(case["tables"].to(dtype, copy=True), case["coefficient"]).train(case["train_eval"] == "train")
    trainer = _trainer(
        beta=case["beta"],
        is_encoder_decoder=case["both"],
        aux_loss_enabled=case["aux"],
        label_pad_token_id=-100,
        padding_value=case["padding"],
        decoder_start_token_id=1,
        pad_token_id=2,
    )
    numbers, facts = [], []
    for change in ({}, *case["later"]):
        vars(trainer).update(change)
        batch = {name: item.clone() for name, item in case["batch"].items()}
        parts = trainer.concatenated_forward(model, batch)
        facts.append([[str(item.dtype), list(item.shape)] for item in parts])
        facts.append(_state(model, batch, case))
        numbers += [item.detach().double() for item in parts]
        loss, metrics = trainer.get_batch_loss_metrics(model, batch, case["train_eval"])
        model.zero_grad()
        loss.backward()
        facts.append([str(loss.dtype), list(loss.shape)])
        facts.append(_state(model, batch, case))
        # A share of pairs may be a mean in single precision.
        values = {name: float(value) for name, value in sorted(metrics.items())}
        numbers += [
            loss.detach().double(),
            {n: round(v, 5) if n.endswith("accuracies") else v for n, v in values.items()},
        ]
        numbers.append(model.tables.grad.double())
    return {"double" if dtype == torch.float64 else "single": numbers, "facts": facts}
