"""KTO: mismatched pairs, log-probabilities of completions, and the loss with its gradients; then the experiment."""

from itertools import product

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

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def pairs(name, rows, **more):
        lengths = torch.randint(1, 6, (rows,), generator=generator).tolist()
        ids = [torch.randint(50, (length,), generator=generator).tolist() for length in lengths]
        # Masks with zeros in them, so that they are not the lengths again.
        masks = [torch.randint(2, (length,), generator=generator).tolist() for length in lengths]
        return {"name": f"pairs, {name}", "ids": ids, "masks": masks, **more}

    yield pairs("two", 2)
    yield pairs("several", integer(3, 8))
    yield pairs("further columns", 4, more=True)
    yield pairs("one", 1, edge=True)

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

    for dtype, average, both in product(("float32", "float64"), (False, True), (False, True)):
        name = f"{'averages' if average else 'sums'}{', encoder and decoder' * both}, {dtype}"
        yield labelled(name, dtype, average=average, both=both)
    for pad, both in product((0, integer(4, 7), -integer(1, 9)), (False, True)):
        name = f"{'no' if pad == 0 else 'some' if pad > 0 else 'negative'} token is padding{', both' * both}"
        yield labelled(name, pad=pad, average=integer(0, 1) == 1, both=both)
    for average in (False, True):
        given = labelled(f"nothing counts in a row, {'average' if average else 'sum'}", average=average, edge=True)
        given["labels"][1] = -100
        yield given
        yield labelled(f"bfloat16, {average}", "bfloat16", average=average, edge=True)
    yield labelled("logits in the hundreds", size=200.0, edge=True)
    sizes = {"fewer rows": (2, 7), "shorter": (3, 6), "one row": (1, 7), "one position": (3, 1)}
    for number, (name, shape) in enumerate(sizes.items()):
        yield {"name": f"labels, refused: {name}", "shape": shape, "both": number % 2 == 1, "edge": True}

    def loss(name, chosen=None, rejected=None, dtype="float64", drift=1.0, size=2.0, **more):
        chosen = integer(2, 6) if chosen is None else chosen
        rejected = integer(2, 6) if rejected is None else rejected
        counts = dict(zip(LOGPS, 2 * (chosen, rejected, chosen + rejected), strict=True))
        logps = {
            name: -10 * size + size * torch.randn(count, generator=generator, dtype=torch.float64)
            for name, count in counts.items()
        }
        # Away from zero, so that the sign of the mean is clear.
        logps["policy_KL_logps"] += drift + logps["reference_KL_logps"].mean() - logps["policy_KL_logps"].mean()
        weights = torch.randn(chosen + rejected, generator=generator, dtype=torch.float64)
        settings = {"beta": uniform(0.05, 0.6), "loss_type": "kto", "calculate_KL": True}
        settings |= {"desirable_weight": uniform(1.1, 2), "undesirable_weight": uniform(0.3, 0.9)}
        given = {"logps": logps, "weights": weights, "dtype": dtype, "settings": settings | more.pop("settings", {})}
        return {"name": f"loss, {name}", "others": None, "later": [], **given, **more}

    for dtype, kind, known in product(("float32", "float64"), ("kto", "apo_zero_unpaired"), (True, False)):
        settings = {"loss_type": kind, "calculate_KL": known}
        name = f"{kind}{'' if known else ', no reference point'}, {dtype}"
        yield loss(name, dtype=dtype, settings=settings, drift=uniform(1, 9))
    for dtype in ("float32", "float64"):
        yield loss(f"a negative mean, {dtype}", dtype=dtype, drift=-uniform(1, 4))
    for drift, others in ((2.0, [uniform(1, 2)]), (-2.0, [uniform(4, 9), 1.5]), (3.0, [-uniform(6, 9), 0.5])):
        yield loss(f"processes, {drift} and {len(others)} others", drift=drift, others=others)
    for kind, (chosen, rejected) in product(("kto", "apo_zero_unpaired"), ((0, 3), (4, 0), (1, 1))):
        yield loss(f"{kind}, {chosen} and {rejected}", chosen, rejected, drift=3.0, settings={"loss_type": kind})
    yield loss("a large beta", settings={"beta": uniform(1.5, 4)})
    weights = {"desirable_weight": integer(0, 1), "undesirable_weight": integer(2, 5)}
    yield loss("weights that are integers", settings=weights, drift=2.0)
    yield loss("a weight of 0", settings={"undesirable_weight": 0.0}, drift=2.0)
    yield {"name": "experiment", "seed": seed % 1000}

    later = [
        {"beta": 1.1},
        {"desirable_weight": 0.2, "undesirable_weight": 3},
        {"loss_type": "apo_zero_unpaired"},
        {"calculate_KL": False},
        {"loss_type": "kto"},
    ]
    yield loss("settings that change", later=later, drift=3.0, edge=True)
    for sign in (1, -1):
        far = loss(f"values in the hundreds, {sign}", 4, 4, drift=40.0 * sign, size=60.0, edge=True)
        yield far | {"settings": far["settings"] | {"beta": 20.0}}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "ids" in case:
        return _of_pairs(case)
    if "shape" in case:
        return {"refused": _refused(case)}
    return _of_labels(case) if "logits" in case else _of_losses(case)


def _of_pairs(case):
    from trl.trainer.kto_trainer import _get_kl_dataset

    batch = {"answer_input_ids": list(case["ids"]), "answer_attention_mask": list(case["masks"])}
    if case.get("more"):
        prompts = {"prompt_input_ids": [[1], [2], [3], [4]], "prompt_attention_mask": [[1], [0], [1], [1]]}
        batch = {"prompt": list("abcd"), **batch, **prompts, "answer": list("wxyz"), "label": [True, False, True, True]}
    given = dict(batch)
    before = {name: list(item) for name, item in given.items()}
    result = _get_kl_dataset(batch)
    unchanged = all(given[name] == item for name, item in before.items())
    return {"lists_unchanged": unchanged, "columns": sorted((name, list(item)) for name, item in result.items())}


def _of_labels(case):
    from trl.trainer.kto_trainer import KTOTrainer

    given = case["logits"].to(getattr(torch, case["dtype"]))
    logits, labels = given.clone().requires_grad_(), case["labels"].clone()
    result = KTOTrainer.get_batch_logps(logits, labels, **case["options"])
    facts = [str(result.dtype), list(result.shape), torch.equal(labels, case["labels"])]
    facts.append(torch.equal(logits.detach(), given))
    if case["dtype"] == "bfloat16":
        return {"facts": facts, "finite": result.isfinite().all().item()}
    # The gradient of a row whose average is NaN is of no use.
    counted = result.isfinite()
    (result.double() * case["weights"])[counted].sum().backward()
    numbers = {"result": result.detach().double(), "gradient": logits.grad.double()[counted]}
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


def _refused(case):
    from trl.trainer.kto_trainer import KTOTrainer

    labels = torch.ones(case["shape"], dtype=torch.int64)
    try:
        KTOTrainer.get_batch_logps(torch.zeros(3, 7, 5), labels, is_encoder_decoder=case["both"])
    except Exception as error:
        return isinstance(error, ValueError)
    return "nothing is raised"


class _Processes:
    """Gathers a tensor of this process and those of the others."""

    device = torch.device("cpu")

    def __init__(self, others):
        self.others = others

    def gather(self, tensor):
        if self.others is None:
            return tensor
        return torch.cat([tensor.reshape(-1), tensor.new_tensor(self.others)])


def _of_losses(case):
    from trl.trainer.kto_trainer import KTOTrainer

    trainer = object.__new__(KTOTrainer)
    trainer.accelerator = _Processes(case["others"])
    vars(trainer).update(case["settings"])
    dtype = getattr(torch, case["dtype"])
    numbers, facts = [], []
    for change in ({}, *case["later"]):
        vars(trainer).update(change)
        logps = {name: item.to(dtype, copy=True).requires_grad_() for name, item in case["logps"].items()}
        if not trainer.calculate_KL:
            logps["policy_KL_logps"] = logps["reference_KL_logps"] = None
        before = {name: item.detach().clone() for name, item in logps.items() if item is not None}
        losses, chosen, rejected, point = trainer.kto_loss(*logps.values())
        facts += [torch.equal(logps[name].detach(), item) for name, item in before.items()]
        # What stands for the rewards of no examples is empty; its dtype is free. The reference point is one number.
        facts.append([str(losses.dtype), [list(item.shape) for item in (losses, chosen, rejected)]])
        facts.append([item.requires_grad for item in (losses, chosen, rejected, point) if item.numel()])
        numbers += [item.detach().double().flatten() for item in (losses, chosen, rejected)] + [point.item()]
        (losses.double() * case["weights"]).sum().backward()
        for item in logps.values():
            if item is None or not len(item):
                continue
            facts.append(item.grad is None)
            if item.grad is not None:
                numbers.append(item.grad.double())
    return {"double" if dtype == torch.float64 else "single": numbers, "facts": facts}
