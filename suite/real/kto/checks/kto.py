"""KTO: mismatched pairs, log-probabilities of completions, and the loss with its gradients; then the experiment."""

import torch

LOGPS = (
    "policy_chosen_logps",
    "policy_rejected_logps",
    "policy_KL_logps",
    "reference_chosen_logps",
    "reference_rejected_logps",
    "reference_KL_logps",
)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def pairs(name, rows, **more):
        lengths = torch.randint(5, (rows,), generator=generator).tolist()
        ids = [torch.randint(50, (length,), generator=generator).tolist() for length in lengths]
        # Masks with zeros in them, so that they are not the lengths again.
        masks = [torch.randint(2, (length,), generator=generator).tolist() for length in lengths]
        return {"name": f"pairs, {name}", "ids": ids, "masks": masks, **more}

    yield pairs("one", 1)
    yield pairs("two", 2)
    yield pairs("five", 5)
    yield pairs("a hundred", 100)
    yield pairs("further keys", 4, more=True)

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
    yield labelled("defaults")
    yield labelled("none left out", share=0.0, options={"average_log_prob": True})
    yield labelled("one row", rows=1)
    yield labelled("many rows", rows=40, length=3)
    yield labelled("long rows", rows=2, length=300, words=5, dtype="float64")
    yield labelled("two words", words=2, dtype="float64")
    yield labelled("many words", words=250, dtype="float64")
    yield labelled("two positions", length=2, share=0.0)
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
    given = labelled("nothing counted at all, with gradients", dtype="float64")
    given["labels"][:] = -100
    yield given
    given = labelled("the first label alone is counted", dtype="float64")
    given["labels"][:, 1:] = -100
    given["labels"][:, 0] = 3
    yield given
    yield labelled("logits in the hundreds", size=150.0, coarse=True)
    yield labelled("logits in the hundreds, double", size=150.0, dtype="float64", options={"average_log_prob": True})
    for both in (False, True):
        given = labelled(f"labels far below all others, {both}", words=90, dtype="float64", share=0.0)
        given |= {"logits": torch.full((3, 7, 90), 500.0), "options": {"is_encoder_decoder": both}}
        given["labels"][:] = 8
        given["logits"][..., 8] = torch.tensor([-500.0, -499.0, 0.0]).unsqueeze(1)
        yield given
    for layout in ("transposed", "expanded", "spread"):
        for both in (False, True):
            yield labelled(f"{layout}, {both}", layout=layout, options={"is_encoder_decoder": both}, dtype="float64")
    yield labelled("settings by position", positional=(True, 2, True), pad=2)
    for name, shapes in {
        "labels too short": ((3, 7), (3, 6)),
        "labels too long": ((3, 7), (3, 8)),
        "fewer rows": ((3, 7), (2, 7)),
        "sizes that are swapped": ((3, 7), (7, 3)),
        "one row that would broadcast": ((3, 7), (1, 7)),
        "one position that would broadcast": ((3, 7), (3, 1)),
        "logits of one row": ((1, 7), (3, 7)),
        "logits of one position": ((3, 1), (3, 7)),
    }.items():
        for both in (False, True):
            yield {"name": f"refused: {name}, {both}", "shapes": shapes, "both": both}

    def loss(name, chosen=4, rejected=3, pairs=7, dtype="float32", size=2.0, drift=1.0, **more):
        counts = dict(zip(LOGPS, 2 * (chosen, rejected, pairs), strict=True))
        logps = {
            name: -10 * size + size * torch.randn(count, generator=generator, dtype=torch.float64)
            for name, count in counts.items()
        }
        logps["policy_KL_logps"] += drift
        weights = torch.randn(chosen + rejected, generator=generator, dtype=torch.float64)
        settings = {"beta": 0.3, "desirable_weight": 1.3, "undesirable_weight": 0.7, "loss_type": "kto"}
        settings |= {"calculate_KL": True} | more.pop("settings", {})
        given = {"logps": logps, "weights": weights, "dtype": dtype, "settings": settings}
        return {"name": f"loss, {name}", "others": None, "later": [], "layout": "plain", **given, **more}

    for dtype in ("float32", "float64"):
        yield loss(f"above zero, {dtype}", dtype=dtype)
        yield loss(f"below zero, {dtype}", dtype=dtype, drift=-9.0)
        for drift in (2.0, -9.0):
            for others in ([1.5], [-6.0, 0.5, 20.0], [-30.0]):
                yield loss(f"processes, {drift}, {others}, {dtype}", dtype=dtype, drift=drift, others=others)
        for kind in ("kto", "apo_zero_unpaired"):
            for known in (True, False):
                settings = {"loss_type": kind, "calculate_KL": known}
                yield loss(f"{settings}, {dtype}", dtype=dtype, settings=settings, drift=3.0)
                for chosen, rejected in ((0, 3), (4, 0), (0, 0), (1, 1)):
                    name = f"{settings}, {chosen} and {rejected}, {dtype}"
                    yield loss(name, chosen, rejected, 3, dtype, settings=settings, drift=3.0)
    yield loss("one of each, one pair", 1, 1, 1, drift=4.0)
    yield loss("as many pairs as examples", 5, 5, 10, dtype="float64")
    yield loss("more pairs", 2, 3, 40, dtype="float64", drift=2.0)
    yield loss("a hundred of each", 100, 100, 100, dtype="float64")
    for beta in (0.01, 0.1, 1, 10.0):
        yield loss(f"a beta of {beta}", settings={"beta": beta}, dtype="float64")
    for weights in ((0, 1), (1, 0), (4.0, 0.25), (10, 10), (1.0, 1.0), (0.0, 0.0)):
        settings = dict(zip(("desirable_weight", "undesirable_weight"), weights, strict=True))
        yield loss(f"weights of {weights}", settings=settings, dtype="float64", drift=2.0)
    yield loss("large values", size=70.0, dtype="float64", settings={"beta": 0.05}, drift=40.0)
    yield loss("large values, large beta", size=70.0, dtype="float64", settings={"beta": 10.0}, drift=-400.0)
    yield loss("large values in single precision", 20, size=70.0, settings={"beta": 10.0}, drift=-400.0, far=True)
    for kind in ("kto", "apo_zero_unpaired"):
        given = loss(f"{kind}, large values, small beta", settings={"beta": 0.01, "loss_type": kind}, dtype="float64")
        for name in ("chosen", "rejected"):
            half = torch.tensor([600.0, -600.0, 850.0, -850.0])[: len(given["logps"][f"policy_{name}_logps"])]
            given["logps"][f"policy_{name}_logps"], given["logps"][f"reference_{name}_logps"] = half, -half
        given["logps"]["policy_KL_logps"] += 300
        yield given
    yield loss("policy and reference agree", dtype="float64", same=True)
    for layout in ("spread", "expanded"):
        yield loss(f"{layout}", layout=layout, dtype="float64", drift=3.0)
    later = [
        {"beta": 1.1},
        {"desirable_weight": 0.2, "undesirable_weight": 3},
        {"loss_type": "apo_zero_unpaired"},
        {"calculate_KL": False},
        {"loss_type": "kto"},
        {"calculate_KL": True},
    ]
    yield loss("settings that change", later=later, dtype="float64", drift=3.0)
    yield loss("settings that change, with other processes", later=later, others=[4.0, -1.0], drift=3.0)
    yield loss("without gradients", grad=False)
    for name in LOGPS:
        if "KL" not in name:
            yield loss(f"a gradient of {name} alone", wanted=(name,), dtype="float64")
    # The losses' logistic function is nearly saturated, for both kinds and both ways.
    for dtype in ("float32", "float64"):
        settings = {"beta": 1.0, "desirable_weight": 10, "undesirable_weight": 10}
        given = loss(f"nearly saturated, {dtype}", 20, 20, 1, dtype, settings=settings, fine=True)
        steps = torch.linspace(3.0, 32.0, 10, dtype=torch.float64)
        for name in ("chosen", "rejected"):
            given["logps"][f"policy_{name}_logps"] = given["logps"][f"reference_{name}_logps"].round()
            moved = given["logps"][f"policy_{name}_logps"] + torch.cat((steps, -steps))
            given["logps"][f"reference_{name}_logps"] = moved
        given["logps"]["policy_KL_logps"] = given["logps"]["reference_KL_logps"] + 0.5
        yield given
    # Numbers of words above 256, of which bfloat16 has only some.
    for both in (False, True):
        options = {"label_pad_token_id": 259, "is_encoder_decoder": both}
        given = labelled(f"more than 256 words, {both}", 4, 4, 300, dtype="bfloat16", pad=259, options=options)
        given["labels"] = torch.tensor([[257, 299, 259, 261], [258, 260, 257, 258], [256, 271, 260, 259], [259] * 4])
        yield given
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "ids" in case:
        return _of_pairs(case)
    if "shapes" in case:
        return {"refused": _refused(case)}
    if "logits" in case:
        return _of_labels(case)
    return _of_losses(case)


def _of_pairs(case):
    from trl.trainer.kto_trainer import _get_kl_dataset

    ids, masks = [list(item) for item in case["ids"]], [list(item) for item in case["masks"]]
    batch = {"answer_input_ids": ids, "answer_attention_mask": masks}
    if case.get("more"):
        batch = {
            "prompt": list("abcd"),
            **batch,
            "prompt_input_ids": [[1], [2], [3], [4]],
            "answer": list("wxyz"),
            "answer_lengths": [5, 6, 7, 8],
            "label": [True, False, True, True],
        }
    result = _get_kl_dataset(batch)
    facts = [result is batch, ids == case["ids"], masks == case["masks"]]
    facts.append([type(result[name]).__name__ for name in ("answer_input_ids", "answer_attention_mask")])
    facts += [result["answer_input_ids"] is not ids, result["answer_attention_mask"] is not masks]
    # Once more on its own result.
    first = {name: list(item) for name, item in result.items()}
    again = _get_kl_dataset(result)
    return {"facts": facts, "first": sorted(first.items()), "again": sorted((k, list(v)) for k, v in again.items())}


def _laid_out(item, layout):
    if layout == "transposed":
        return item.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "expanded":
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.clone()


def _of_labels(case):
    from trl.trainer.kto_trainer import KTOTrainer

    logits = _laid_out(case["logits"].to(getattr(torch, case["dtype"])), case["layout"]).requires_grad_()
    labels = _laid_out(case["labels"], case["layout"])
    before = logits.detach().clone(), labels.clone()
    if "positional" in case:
        average, pad, both = case["positional"]
        result = KTOTrainer.get_batch_logps(logits, labels, average, pad, both)
    else:
        result = KTOTrainer.get_batch_logps(logits, labels, **case["options"])
    facts = [str(result.dtype), list(result.shape), result.requires_grad]
    counted = result.isfinite()
    if counted.any():
        (result.double() * case["weights"])[counted].sum().backward()
    facts += [logits.grad is None, torch.equal(logits.detach(), before[0]), torch.equal(labels, before[1])]
    # What is not a number has gradients that nobody needs.
    gradient = torch.zeros(1) if logits.grad is None else logits.grad.double()[counted]
    numbers = {"result": result.detach().double(), "gradient": gradient}
    kind = {"float64": "double", "bfloat16": "half"}.get(case["dtype"], "single")
    # Large logits leave few digits of a probability in single precision.
    return {"coarse" if case.get("coarse") else kind: numbers, "facts": facts}


def _refused(case):
    from trl.trainer.kto_trainer import KTOTrainer

    try:
        logits, labels = (torch.zeros(shape) for shape in case["shapes"])
        KTOTrainer.get_batch_logps(logits.unsqueeze(-1).repeat(1, 1, 5), labels.long(), is_encoder_decoder=case["both"])
    except Exception as error:
        return isinstance(error, ValueError)
    return "nothing is raised"


class _Processes:
    """Gathers what this process hands over, and what others would; notes it."""

    device = torch.device("cpu")

    def __init__(self, others):
        self.others, self.seen, self.held = others, [], []

    def gather(self, tensor):
        self.seen.append([tensor.detach().double().reshape(-1).clone(), tensor.requires_grad])
        if self.others is not None:
            tensor = torch.cat([tensor.reshape(-1), tensor.new_tensor(self.others)])
        self.held.append([tensor, tensor.detach().clone()])
        return tensor


def _of_losses(case):
    from trl.trainer.kto_trainer import KTOTrainer

    trainer = object.__new__(KTOTrainer)
    trainer.accelerator = _Processes(case["others"])
    vars(trainer).update(case["settings"])
    dtype = getattr(torch, case["dtype"])
    numbers, facts = [], []
    for change in ({}, *case["later"]):
        vars(trainer).update(change)
        # Equal to the name of a loss, but another object than any in the code.
        trainer.loss_type = "".join(list(trainer.loss_type))
        logps = {name: _laid_out(item.to(dtype), case["layout"]) for name, item in case["logps"].items()}
        if case.get("same"):
            for name in LOGPS[:3]:
                logps[name] = logps[name.replace("policy", "reference")].clone()
        if case["layout"] != "plain":
            # No more than one value in memory, but different for policy and reference.
            logps["policy_KL_logps"] = logps["policy_KL_logps"].clone() + 20
        if not trainer.calculate_KL:
            logps["policy_KL_logps"] = logps["reference_KL_logps"] = None
        if change and change.get("beta"):
            # Other data, too.
            logps = {name: item if item is None else item.flip(0) * 0.9 for name, item in logps.items()}
        before = {name: item if item is None else item.clone() for name, item in logps.items()}
        settings = {name: item for name, item in vars(trainer).items() if name != "accelerator"}
        wanted = case.get("wanted", LOGPS)
        for name, item in logps.items():
            if item is not None and case.get("grad", True) and name in wanted:
                item.requires_grad_()
        trainer.accelerator.seen.clear()
        trainer.accelerator.held.clear()
        result = trainer.kto_loss(*logps.values())
        facts.append([type(result).__name__, len(result)])
        # Nobody can tell whether an empty tensor has a gradient.
        facts.append([[str(item.dtype), list(item.shape)] for item in result])
        facts.append([item.requires_grad for item in result if item.numel()])
        numbers += [item.detach().double() for item in result]
        facts.append([flag for _, flag in trainer.accelerator.seen] if not case.get("grad", True) else None)
        numbers.append([item for item, _ in trainer.accelerator.seen])
        facts.append([torch.equal(item, kept) for item, kept in trainer.accelerator.held])
        if result[0].requires_grad:
            (result[0].double() * case["weights"]).sum().backward()
        for name, item in logps.items():
            facts.append(item is None or torch.equal(item.detach(), before[name]))
            if item is not None and len(item):
                facts.append(item.grad is None)
            if item is not None and len(item) and item.grad is not None:
                facts.append(str(item.grad.dtype))
                numbers.append(item.grad.double())
        facts.append(settings == {name: item for name, item in vars(trainer).items() if name != "accelerator"})
    if case.get("far"):
        # Cancellation leaves few digits: what is saturated, and the reference point.
        return {"single": [numbers[0], numbers[3]], "facts": facts}
    kind = "double" if dtype == torch.float64 else "single"
    if case.get("fine") and kind == "double":
        return {"fine": numbers[0], kind: numbers[1:], "facts": facts}
    return {kind: numbers, "facts": facts}
