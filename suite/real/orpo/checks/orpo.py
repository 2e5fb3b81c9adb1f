"""Odds ratios, log-probabilities, the pass over both answers and the whole loss, what a model gets; the experiment."""

from types import SimpleNamespace

import torch
from torch import nn

WORDS = 8


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def odds(name, rows=5, dtype="float64", low=-6.0, high=-0.3, beta=0.3, **more):
        logps = low + (high - low) * torch.rand(2, rows, generator=generator, dtype=torch.float64)
        weights = torch.randn(2, rows, generator=generator, dtype=torch.float64)
        return {"name": f"odds, {name}", "logps": logps, "weights": weights, "dtype": dtype, "betas": [beta], **more}

    for dtype in ("float64", "float32"):
        yield odds(f"a few, {dtype}", dtype=dtype)
        yield odds(f"one, {dtype}", rows=1, dtype=dtype)
        yield odds(f"probable answers, {dtype}", low=-0.09, high=-0.01, dtype=dtype, rows=12, near=True)
        yield odds(f"improbable answers, {dtype}", low=-30.0, high=-15.0, dtype=dtype, rows=12)
        given = odds(f"a probable one chosen, {dtype}", dtype=dtype, near=True)
        given["logps"][0], given["logps"][1] = -0.02, -29.0
        yield given
        given = odds(f"a probable one rejected, {dtype}", dtype=dtype, near=True)
        given["logps"][1], given["logps"][0] = -0.02, -29.0
        yield given
    yield odds("a hundred", rows=100, low=-12.0)
    for beta in (0, 0.0, 0.1, 1, 10.0):
        yield odds(f"a beta of {beta}", beta=beta)
    given = odds("equal answers")
    given["logps"][1] = given["logps"][0]
    yield given
    yield odds("settings that change", betas=[0.3, 2.0, 0.0])
    yield odds("spread", spread=True)
    for wanted in ((0,), (1,), ()):
        yield odds(f"gradients of {wanted}", wanted=wanted)
    for source in ("losses", "ratio", "odds"):
        yield odds(f"gradients from {source}", source=source)

    def labelled(name, rows=3, length=7, words=9, dtype="float32", pad=-100, share=0.3, size=2.0, **more):
        labels = torch.randint(words, (rows, length), generator=generator)
        labels[torch.rand(rows, length, generator=generator) < share] = pad
        logits = size * torch.randn(rows, length, words, generator=generator, dtype=torch.float64)
        weights = torch.randn(rows, generator=generator, dtype=torch.float64)
        given = {"logits": logits, "labels": labels, "weights": weights, "dtype": dtype, "pad": pad}
        return {"name": f"labels, {name}", "options": {}, "layout": "plain", **given, **more}

    for dtype in ("float32", "float64", "bfloat16"):
        for average in (False, True):
            for both in (False, True):
                options = {"average_log_prob": average, "is_encoder_decoder": both}
                yield labelled(f"{dtype}, {options}", dtype=dtype, options=options)
    yield labelled("defaults", dtype="float64")
    yield labelled("none left out", share=0.0, options={"average_log_prob": True})
    yield labelled("one row", rows=1)
    yield labelled("many rows", rows=40, length=3)
    yield labelled("long rows", rows=2, length=300, words=5, dtype="float64")
    yield labelled("long rows in half precision", rows=4, length=300, words=5, dtype="bfloat16")
    for far in (-400, 400):
        # Logits that are whole multiples of 2 in half precision, as their normaliser is not.
        given = labelled(f"logits around {far} in half precision", rows=12, share=0.1, size=4.0, dtype="bfloat16")
        given["logits"] += far
        yield given
    yield labelled("two words", words=2, dtype="float64")
    yield labelled("many words", words=250, dtype="float64")
    for pad in (0, 1, 4, 8, -1, -7):
        for both in (False, True):
            options = {"label_pad_token_id": pad, "is_encoder_decoder": both, "average_log_prob": pad == 4}
            yield labelled(f"{pad} is left out, {both}", pad=pad, options=options)
    for both in (False, True):
        for average in (False, True):
            options = {"average_log_prob": average, "is_encoder_decoder": both}
            yield labelled(f"one position, {options}", length=1, share=0.0, options=options)
            given = labelled(f"nothing counted in a row, {options}", options=options, dtype="float64")
            given["labels"][1] = -100
            yield given
    given = labelled("the first label alone is counted", dtype="float64")
    given["labels"][:, 1:] = -100
    given["labels"][:, 0] = 3
    yield given
    yield labelled("logits in the hundreds", size=150.0, near=True)
    yield labelled("logits in the hundreds, double", size=150.0, dtype="float64", options={"average_log_prob": True})
    for layout in ("transposed", "expanded", "spread"):
        for both in (False, True):
            yield labelled(f"{layout}, {both}", layout=layout, options={"is_encoder_decoder": both}, dtype="float64")
    yield labelled("settings by position", positional=(True, 2, True), pad=2)
    shapes = {"shorter": (3, 6), "longer": (3, 8), "fewer rows": (2, 7), "one row": (1, 7), "one position": (3, 1)}
    for name, shape in shapes.items():
        for both in (False, True):
            yield {"name": f"refused: {name}, {both}", "shape": shape, "both": both}

    def batch(rows=3, chosen=7, rejected=5, prompt=2, both=False):
        items, start = {}, torch.randint(1, prompt + 1, (rows, 1), generator=generator)
        for name, length in (("chosen", chosen), ("rejected", rejected)):
            ids = torch.randint(WORDS, (rows, length), generator=generator)
            kept = torch.randint(prompt + 1, length + 1, (rows, 1), generator=generator)
            mask = torch.arange(length) < kept
            # A token that is not attended to within a text, and padding that is no particular token.
            mask[0, 0] = chosen % 2 == 0
            labels = ids.where(mask & (torch.arange(length) >= start), -100)
            if both:
                # Answers alone, of which the first label counts, too.
                labels = ids.where(mask | (torch.arange(length) == 0), -100)
            items |= {f"{name}_input_ids": ids, f"{name}_attention_mask": mask.long(), f"{name}_labels": labels}
            items[f"{name}"] = ["a text"] * rows
        items["prompt_input_ids"] = torch.randint(WORDS, (rows, prompt + 1), generator=generator)
        items["prompt_attention_mask"] = torch.ones(rows, prompt + 1, dtype=torch.int64)
        return items

    def whole(name, dtype="float64", size=1.0, **more):
        sizes = {key: more.pop(key) for key in ("rows", "chosen", "rejected", "prompt", "both") if key in more}
        tables = size * torch.randn(3, WORDS, WORDS, generator=generator, dtype=torch.float64)
        settings = {"both": sizes.get("both", False), "aux": False, "coefficient": None, "beta": 0.4}
        given = {"batch": batch(**sizes), "tables": tables, "dtype": dtype, "train_eval": None}
        return {"name": f"whole, {name}", "later": [], **given, **settings, **more}

    for dtype in ("float64", "float32"):
        for both in (False, True):
            yield whole(f"{dtype}, {both}", dtype=dtype, both=both)
            yield whole(f"rejected are longer, {dtype}, {both}", dtype=dtype, both=both, chosen=4, rejected=8)
            for coefficient in (None, 0.0, 0.7):
                yield whole(f"auxiliary, {coefficient}, {dtype}, {both}", dtype, aux=True, coefficient=coefficient)
    yield whole("a coefficient that nobody asks for", coefficient=0.7)
    yield whole("a coefficient of the class", aux=True, coefficient=0.7, common=True)
    yield whole("an auxiliary loss that nobody asks for", coefficient=0.7, brought=True)
    yield whole("one pair", rows=1)
    yield whole("one pair with a decoder", rows=1, both=True, aux=True, coefficient=0.3)
    yield whole("many pairs", rows=30)
    yield whole("long answers", chosen=100, rejected=60)
    yield whole("equal lengths", chosen=6, rejected=6)
    yield whole("the shortest answers", chosen=2, rejected=2, prompt=1)
    for train_eval in ("train", "eval"):
        yield whole(train_eval, train_eval=train_eval)
    for padding in (1, 3):
        yield whole(f"{padding} as token of padding", padding=padding)
    yield whole("another token of padding with a decoder", padding=3, both=True)
    for beta in (0, 1, 5.0):
        yield whole(f"a beta of {beta}", beta=beta)
    yield whole("sharp logits", size=3.0)
    given = whole("equal answers", chosen=6, rejected=6)
    for name in ("input_ids", "attention_mask", "labels"):
        given["batch"][f"rejected_{name}"] = given["batch"][f"chosen_{name}"].clone()
    yield given
    yield whole("gradients disabled", grad=False)
    yield whole("evaluation mode", train=False)
    later = [{"beta": 2.0}, {"aux_loss_enabled": True}, {"beta": 0.1, "aux_loss_enabled": False}]
    later += [{"padding_value": 5}, {"is_encoder_decoder": True}, {"is_encoder_decoder": False}]
    yield whole("settings that change", later=later, coefficient=0.6)
    yield whole("a batch that is written over", chosen=6, rejected=6, later=[{"written": True}, {"written": True}])
    yield {"name": "experiment", "seed": seed % 1000}


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
        logps = [item.to(dtype, copy=True) for item in case["logps"]]
        if case.get("spread"):
            logps = [torch.stack((item, item + 1), dim=1)[:, 0] for item in logps]
        before = [item.clone() for item in logps]
        for index in case.get("wanted", (0, 1)):
            logps[index].requires_grad_()
        result = trainer.odds_ratio_loss(*logps)
        facts.append([type(result).__name__, len(result), trainer.beta, sorted(vars(trainer))])
        facts.append([[str(item.dtype), list(item.shape), item.requires_grad] for item in result])
        numbers += [item.detach().double() for item in result]
        losses, _, _, ratio, log_odds = result
        weights = case["weights"][0].to(dtype)
        parts = {"losses": (losses * weights).sum(), "ratio": 0.7 * ratio, "odds": 0.3 * log_odds}
        total = parts[case["source"]] if "source" in case else sum(parts.values())
        if total.requires_grad:
            total.backward()
            numbers += [item.grad.double() for item in logps if item.grad is not None]
        facts.append([item.grad is None for item in logps])
        facts.append([torch.equal(item.detach(), old) for item, old in zip(logps, before, strict=True)])
    kind = "near" if case.get("near") and dtype == torch.float32 else "single"
    return {"double" if dtype == torch.float64 else kind: numbers, "facts": facts}


def _laid_out(item, layout):
    if layout == "transposed":
        return item.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "expanded":
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.clone()


def _of_labels(case):
    from trl.trainer.orpo_trainer import ORPOTrainer

    logits = _laid_out(case["logits"].to(getattr(torch, case["dtype"])), case["layout"]).requires_grad_()
    labels = _laid_out(case["labels"], case["layout"])
    before = logits.detach().clone(), labels.clone()
    if "positional" in case:
        average, pad, both = case["positional"]
        result = ORPOTrainer.get_batch_logps(logits, labels, average, pad, both)
    else:
        result = ORPOTrainer.get_batch_logps(logits, labels, **case["options"])
    facts = [str(result.dtype), list(result.shape), result.requires_grad]
    counted = result.isfinite()
    if counted.any():
        (result.double() * case["weights"])[counted].sum().backward()
    facts += [logits.grad is None, torch.equal(logits.detach(), before[0]), torch.equal(labels, before[1])]
    # What is not a number has gradients that nobody needs.
    gradient = torch.zeros(1) if logits.grad is None else logits.grad.double()[counted]
    numbers = {"result": result.detach().double(), "gradient": gradient}
    kind = {"float64": "double", "bfloat16": "half"}.get(case["dtype"], "near" if case.get("near") else "single")
    return {kind: numbers, "facts": facts}


def _refused(case):
    from trl.trainer.orpo_trainer import ORPOTrainer

    labels = torch.zeros(case["shape"], dtype=torch.int64)
    try:
        ORPOTrainer.get_batch_logps(torch.zeros(3, 7, 5), labels, is_encoder_decoder=case["both"])
    except Exception as error:
        return isinstance(error, ValueError)
    return "nothing is raised"


class _Model(nn.Module):
    """Logits by tables of what it is called with, which it notes."""

    def __init__(self, tables, coefficient, common, brought):
        super().__init__()
        self.brought = brought
        self.tables, self.seen = nn.Parameter(tables), []
        self.register_forward_hook(lambda model, *_: model.seen.append("called as such"))
        self.config = SimpleNamespace()
        if common:
            self.config = type("Config", (), {"router_aux_loss_coef": coefficient})()
        elif coefficient is not None:
            self.config.router_aux_loss_coef = coefficient

    def forward(self, *positional, **named):
        self.seen.append([[item.tolist() for item in positional], sorted(named), self.training])
        shown = {name: item.tolist() if isinstance(item, torch.Tensor) else item for name, item in named.items()}
        self.seen.append([shown[name] for name in sorted(shown)])
        ids, mask = positional[0], named["attention_mask"].unsqueeze(-1)
        logits = self.tables[0][ids] + 0.2 * (self.tables[1][ids] * mask).cumsum(1)
        if "decoder_input_ids" in named:
            logits = logits.mean(1, keepdim=True) + self.tables[2][named["decoder_input_ids"]]
        outputs = SimpleNamespace(logits=logits)
        if named.get("output_router_logits") or self.brought:
            outputs.aux_loss = self.tables.square().mean()
        return outputs


def _of_the_whole(case):
    dtype = getattr(torch, case["dtype"])
    own = case["coefficient"], case.get("common", False), case.get("brought", False)
    model = _Model(case["tables"].to(dtype, copy=True), *own)
    model.train(case.get("train", True))
    trainer = _trainer(
        beta=case["beta"],
        is_encoder_decoder=case["both"],
        aux_loss_enabled=case["aux"],
        label_pad_token_id=-100,
        padding_value=case.get("padding", 0),
        decoder_start_token_id=1,
        pad_token_id=2,
    )
    batch = {name: item.clone() if isinstance(item, torch.Tensor) else item for name, item in case["batch"].items()}
    names, numbers, facts = list(batch), [], []
    for change in ({}, *case["later"]):
        if change.get("written"):
            # Pairs are parted, past what counts how often a tensor was changed.
            for name, item in batch.items():
                if name.startswith("chosen_"):
                    item.numpy()[:] = item.roll(1, 0).numpy()
        else:
            vars(trainer).update(change)
        before = {name: item.clone() for name, item in batch.items() if isinstance(item, torch.Tensor)}
        settings = {name: item for name, item in vars(trainer).items() if name != "accelerator"}
        model.seen.clear()
        with torch.set_grad_enabled(case.get("grad", True)):
            parts = trainer.concatenated_forward(model, batch)
            facts.append([list(model.seen), type(parts).__name__, len(parts)])
            facts.append([[str(item.dtype), list(item.shape), item.requires_grad] for item in parts])
            numbers += [item.detach().double() for item in parts]
            model.zero_grad()
            if parts[0].requires_grad:
                # What the negative log-likelihood depends on, and what the others do.
                parts[4].backward(retain_graph=True)
                numbers.append(model.tables.grad.double())
                model.zero_grad()
                (parts[0].sum() + 0.5 * parts[1].square().sum()).backward()
                numbers.append(model.tables.grad.double())
            model.seen.clear()
            model.zero_grad()
            if case["train_eval"] is None:
                result = trainer.get_batch_loss_metrics(model, batch)
            else:
                result = trainer.get_batch_loss_metrics(model, batch, case["train_eval"])
        loss, metrics = result
        facts.append([type(result).__name__, len(model.seen), str(loss.dtype), list(loss.shape), loss.requires_grad])
        facts.append([list(metrics), sorted({type(item).__name__ for item in metrics.values()})])
        # A share of pairs is a mean in single precision.
        shares = {name: round(value, 5) for name, value in metrics.items() if name.endswith("accuracies")}
        numbers += [loss.detach().double(), list((metrics | shares).values())]
        if loss.requires_grad:
            loss.backward()
            numbers.append(model.tables.grad.double())
        facts.append(settings == {name: item for name, item in vars(trainer).items() if name != "accelerator"})
        facts.append([model.training, sorted(vars(model.config)), list(batch) == names])
        facts.append([torch.equal(batch[name], item) for name, item in before.items()])
    return {"double" if dtype == torch.float64 else "single": numbers, "facts": facts}
