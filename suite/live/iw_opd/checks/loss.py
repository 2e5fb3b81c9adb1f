"""Loss, gradients and metrics over settings, masks and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def batch(rows=None, length=None, words=None, rollout=True, items=None, gaps=True, spread=1.0):
        rows = integer(2, 4) if rows is None else rows
        length, words = length or integer(4, 7), words or integer(4, 7)
        tokens = torch.randint(words, (rows, length), generator=generator)
        # The first tokens may belong to a prompt, the last ones are padding, and some between do not count.
        start = torch.randint(0, 2, (rows, 1), generator=generator) if length > 2 else torch.zeros(rows, 1)
        end = torch.randint(min(3, length), length + 1, (rows, 1), generator=generator)
        counted = (torch.arange(length) >= start) & (torch.arange(length) < end)
        if gaps:
            counted &= torch.rand(rows, length, generator=generator) > 0.15
        if rows:
            counted[0, min(1, length - 1)] = True
        return {
            "student_logits": 1.5 * normal(rows, length, words),
            "completion_tokens": tokens,
            "labels": tokens.masked_fill(~counted, -100),
            "teacher_actual_logprobs": -(spread * normal(rows, length)).abs() - 0.5,
            "rollout_logprobs": -(spread * normal(rows, length)).abs() - 0.5 if rollout else None,
            "num_items_in_batch": torch.tensor(integer(5, 40)) if items == "tensor" else items,
        }

    def case(name, double=None, train=True, more=0, settings=None, **given):
        settings = {"iw_opd_gamma": uniform(0.2, 3), "temperature": uniform(0.4, 2)} if settings is None else settings
        return {
            "name": name,
            "double": bool(integer(0, 1)) if double is None else double,
            "settings": settings,
            "batches": [batch(**given) for _ in range(1 + more)],
            "modes": [train] * (1 + more),
            "changes": [{}] * (1 + more),
        }

    for double, rollout in product((False, True), (False, True)):
        kind = f"{'double' if double else 'single'}, {'rollout' if rollout else 'current'}"
        yield case(f"defaults, {kind}", double, settings={}, rollout=rollout, more=1)
        yield case(f"all settings, {kind}", double, rollout=rollout)
        yield case(f"a number of items, {kind}", double, rollout=rollout, items=integer(5, 40))
    yield case("items as a tensor", items="tensor")
    yield case("one item", items=1)
    yield case("a gamma of 0", settings={"iw_opd_gamma": 0.0, "temperature": uniform(0.4, 2)})
    yield case("a gamma of 1", settings={"iw_opd_gamma": 1.0, "temperature": uniform(0.4, 2)})
    yield case("a large gamma", settings={"iw_opd_gamma": uniform(5, 20)})
    yield case("a low temperature", settings={"temperature": uniform(0.1, 0.3)}, rollout=False)
    yield case("a high temperature", settings={"temperature": uniform(3, 9)}, rollout=False)
    for epsilon in (uniform(3, 6), uniform(8, 50)):
        name = "a large epsilon" if epsilon < 7 else "a larger epsilon"
        yield case(name, settings={"iw_opd_epsilon": epsilon, "iw_opd_gamma": uniform(0.2, 3)}, rows=5)
    yield case("evaluation", train=False, more=1)
    yield case("small differences", spread=0.01)
    yield case("no gaps", gaps=False)
    yield case("one row", rows=1)
    yield case("one position", length=1, rows=3)
    yield case("one token", length=1, rows=1)
    cold = {"temperature": uniform(0.01, 0.02), "iw_opd_gamma": uniform(0.2, 3)}
    yield case("a very low temperature", False, settings=cold, rows=4) | {"key": "far"}
    given = case("several numbers of items", more=2)
    for number, items in enumerate((integer(5, 9), None, integer(11, 40))):
        given["batches"][number]["num_items_in_batch"] = items
    yield given
    yield case("two positions", length=2)
    yield case("long", rows=2, length=40)
    given = case("another model than the trainer's", train=False)
    yield given | {"apart": True}
    yield {"name": "experiment", "seed": seed % 1000}

    def edge(case):
        return case | {"edge": True}

    for value, rollout in product((float("nan"), float("-inf")), (True, False)):
        given = case(f"{value} from the teacher, {rollout}", rollout=rollout)
        given["batches"][0]["teacher_actual_logprobs"][0, 1] = value
        yield edge(given)
        given = case(f"{value} elsewhere, {rollout}", rollout=rollout)
        apart = given["batches"][0]["labels"] == -100
        apart[0, 0] = True
        given["batches"][0]["labels"][0, 0] = -100
        given["batches"][0]["teacher_actual_logprobs"][apart] = value
        if rollout:
            given["batches"][0]["rollout_logprobs"][apart] = value
        yield edge(given)
    for items in (None, integer(2, 9)):
        given = case(f"nothing counts, {'items' if items else 'no items'}", items=items)
        given["batches"][0]["labels"][:] = -100
        yield edge(given)
    for items, rollout in ((None, True), (integer(2, 9), True), (None, False)):
        kind = f"{'items' if items else 'no items'}, {'rollout' if rollout else 'current'}"
        yield edge(case(f"no rows, {kind}", rows=0, items=items, rollout=rollout))
    given = case("a row without tokens")
    given["batches"][0]["labels"][-1] = -100
    yield edge(given)
    given = case("settings that change", more=3)
    names = ("iw_opd_gamma", "temperature", "iw_opd_epsilon")
    drawn = [(uniform(0.2, 3), uniform(0.4, 2), uniform(1, 6)) for _ in range(3)]
    yield edge(
        given
        | {
            "changes": [{}, *(dict(zip(names, values, strict=True)) for values in drawn)],
            "modes": [True, False, False, True],
        }
    )


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from toy import Table, trainer_of

    dtype = torch.float64 if case["double"] else torch.float32
    model = Table(2)
    trainer = trainer_of(model, None, **case["settings"])
    numbers, facts = [], []
    for given, train, change in zip(case["batches"], case["modes"], case["changes"], strict=True):
        model.train(train)
        for name, value in change.items():
            setattr(trainer, name, value)
        inputs = {
            name: item.to(dtype) if isinstance(item, torch.Tensor) and item.is_floating_point() else item
            for name, item in given.items()
        }
        inputs = {name: item.clone() if isinstance(item, torch.Tensor) else item for name, item in inputs.items()}
        learned = [name for name, item in inputs.items() if isinstance(item, torch.Tensor) and item.is_floating_point()]
        kept = {name: item.clone() for name, item in inputs.items() if isinstance(item, torch.Tensor)}
        # Gradients are asked for from all inputs that could have any.
        for name in learned:
            inputs[name].requires_grad_()
        if not case.get("apart"):
            inputs = {name: item for name, item in inputs.items() if item is not None}
        try:
            loss = trainer._compute_iw_opd_loss(**inputs)
        except ValueError:
            facts.append("refused")
            continue
        slopes = torch.autograd.grad(
            loss, [inputs[name] for name in learned], allow_unused=True, materialize_grads=True
        )
        numbers.append([loss.detach(), *slopes])
        facts.append([str(loss.dtype), list(loss.shape), model.training])
        facts.append([torch.equal(inputs[name].nan_to_num(7.0), item.nan_to_num(7.0)) for name, item in kept.items()])
    metrics = {mode: dict(sorted(trainer._metrics[mode].items())) for mode in ("train", "eval")}
    for lists in metrics.values():
        facts.append([isinstance(value, float) for values in lists.values() for value in values])
    facts.append([trainer.iw_opd_gamma, trainer.iw_opd_epsilon, trainer.temperature, sorted(trainer._metrics)])
    return {"double" if case["double"] else case.get("key", "single"): [numbers, metrics], "facts": facts}
