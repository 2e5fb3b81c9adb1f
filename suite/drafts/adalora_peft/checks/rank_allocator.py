"""Schedules, smoothed scores, cuts to a budget, whole runs and patterns of AdaLoRA's allocator; then the experiment."""

from fractions import Fraction

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        # Nothing is nearer to zero than what is promised.
        drawn = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return torch.where(drawn < 0, drawn - 0.05, drawn + 0.05)

    def schedule(name, initial, target, tinit, tfinal, interval, total, steps=None, **more):
        steps = list(range(total + 3)) if steps is None else steps
        kept = [step for step in steps if _clear(initial, target, tinit, tfinal, total, step)]
        return {
            "name": f"schedule, {name}",
            "budgets": [initial, target],
            "settings": {"tinit": tinit, "tfinal": tfinal, "deltaT": interval, "total_step": total},
            "steps": kept,
            **more,
        }

    yield schedule("an ordinary one", 36, 24, 4, 6, 3, 42)
    yield schedule("every step", 30, 7, 3, 5, 1, 24)
    yield schedule("no warm-up", 20, 8, 0, 4, 2, 20)
    yield schedule("no tuning at the end", 20, 8, 4, 0, 2, 20)
    yield schedule("neither", 9, 4, 0, 0, 4, 16)
    yield schedule("of one step", 9, 4, 2, 2, 1, 5)
    yield schedule("a long interval", 50, 10, 5, 9, 17, 46)
    yield schedule("an interval beyond the end", 50, 10, 5, 9, 100, 46)
    yield schedule("nothing at the end", 12, 0, 2, 3, 2, 21)
    yield schedule("two triplets", 2, 1, 2, 3, 2, 21)
    yield schedule(
        "a long one", 1900, 300, 1000, 2500, 50, 50000, [*list(range(0, 50100, 331)), 1000, 1001, 47500, 47501]
    )
    long = [1900, 301, 1000, 2500, 50, 99990]
    near = [step for step in range(1001, 97490) if abs((_budget(*long, step) + 0.5) % 1 - 0.5) < 2e-5]
    yield schedule("near whole numbers", *long, near)
    yield schedule("exact eighths", 512, 0, 8, 8, 4, 24)
    yield schedule("half of a curve of 98 steps", 36, 4, 2, 3, 5, 103)
    yield schedule("odd lengths", 41, 13, 3, 4, 5, 30)
    yield schedule(
        "settings that change", 36, 24, 4, 6, 3, 42, later={"tinit": 8, "tfinal": 2, "deltaT": 2, "total_step": 26}
    )
    yield schedule("budgets that change", 36, 24, 4, 6, 3, 38, budgets_later=[48, 16])

    def combine(name, rank, vectors, dtype="float32"):
        return {"name": f"sums, {name}", "E": normal(rank, 1).abs(), "AB": normal(rank, vectors).abs(), "dtype": dtype}

    yield combine("two vectors", 5, 2)
    yield combine("a square", 2, 2)
    yield combine("one triplet", 1, 2)
    yield combine("one vector", 4, 1)
    yield combine("four vectors", 4, 4, "float64")
    yield combine("no triplets", 0, 2)

    def model(name, layers=((4, 6, 5), (3, 5, 7), (4, 8, 8)), rounds=3, **more):
        parts = []
        for rank, inputs, outputs in layers:
            shapes = {"E": (rank, 1), "A": (rank, inputs), "B": (outputs, rank)}
            parts.append(
                [{which: (normal(*shape), normal(*shape)) for which, shape in shapes.items()} for _ in range(rounds)]
            )
        return {
            "name": name,
            "layers": [list(layer) for layer in layers],
            "rounds": parts,
            "betas": [0.85, 0.7],
            "adapter": "default",
            "other": None,
            "dtype": "float32",
            "layout": "contiguous",
            "factor": 1.0,
            "order": "",
            **more,
        }

    def smoothed(name, *args, **more):
        return model(
            f"scores, {name}", *args, **{"kind": "scores", "betas later": None, "reset": None, "late": False, **more}
        )

    yield smoothed("an ordinary model")
    yield smoothed("one call", rounds=1)
    yield smoothed("many calls", rounds=12)
    yield smoothed("one layer", ((3, 4, 5),))
    yield smoothed("squares", ((4, 4, 4), (4, 4, 4)))
    yield smoothed("widths of one", ((1, 1, 1), (2, 1, 1)))
    yield smoothed("a layer without triplets", ((2, 4, 3), (0, 4, 3)))
    yield smoothed("strong smoothing", betas=[0.99, 0.95])
    yield smoothed("weak smoothing", betas=[0.1, 0.1])
    yield smoothed("weak smoothing, double precision", betas=[0.05, 0.1], dtype="float64")
    yield smoothed("one strong, one weak", betas=[0.1, 0.99])
    yield smoothed("smoothing that changes", **{"betas later": [0.4, 0.3]})
    yield smoothed("double precision", dtype="float64")
    yield smoothed("double precision, many calls", dtype="float64", rounds=9)
    yield smoothed("another adapter", other="task_b")
    yield smoothed("another name", adapter="v1+(first)", other="second", dtype="float64")
    yield smoothed("large entries", factor=100.0)
    yield smoothed("small entries", factor=0.02)
    yield smoothed("double precision, small entries", factor=0.02, dtype="float64")
    yield smoothed("a new start", reset=1)
    yield smoothed("a layer that comes late", late=True)
    for layout in ("transposed", "spread"):
        yield smoothed(f"a layout that is {layout}", layout=layout)
    given = smoothed("gradients of zero")
    for rounds in given["rounds"]:
        for which, (value, _) in rounds[1].items():
            rounds[1][which] = (value, 0 * value)
    yield given

    def cut(name, *args, budgets=(9, 6, 3), **more):
        return model(f"cuts, {name}", *args, **{"kind": "cuts", "budgets": list(budgets), **more})

    yield cut("an ordinary model")
    for order in ("ABE", "BAE", "BEA", "AEB"):
        yield cut(f"parameters in the order {order}", order=order, other="task_b")
    yield cut("one at least", budgets=(1,))
    yield cut("all but one", budgets=(10,))
    yield cut("none is kept", budgets=(0,))
    yield cut("every budget", budgets=(10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), dtype="float64")
    yield cut("one layer", ((5, 4, 5),), budgets=(3,))
    yield cut("one layer of one", ((1, 3, 2),), budgets=(0,))
    yield cut("squares", ((4, 4, 4), (4, 4, 4)), budgets=(5, 2))
    yield cut("widths of one", ((3, 1, 1), (4, 1, 1)), budgets=(4,))
    yield cut("long vectors", ((3, 128, 4), (3, 4, 200), (4, 100, 90)), budgets=(5,), rounds=2)
    yield cut("long inputs", ((4, 256, 2), (4, 2, 256)), budgets=(4, 1))
    yield cut("a layer without triplets", ((2, 4, 3), (0, 4, 3), (4, 3, 4)), budgets=(3,))
    yield cut("many layers", tuple((3, 4 + number, 9 - number) for number in range(7)), budgets=(11,))
    yield cut("many triplets", ((40, 6, 5), (64, 5, 7)), budgets=(50,), rounds=2)
    yield cut("double precision", dtype="float64", budgets=(6, 5))
    yield cut("another adapter", other="task_b", budgets=(5,))
    yield cut("another name", adapter="v1+(first)", other="second", budgets=(5,))
    yield cut("large entries", factor=100.0, budgets=(5,))
    yield cut("small entries", factor=0.02, budgets=(5,))
    yield cut("tiny entries", factor=0.02, budgets=(6, 4), betas=[0.99, 0.99], rounds=2)
    yield cut("one call", rounds=1, budgets=(7,))
    given = cut("scores that fade", budgets=(8, 3), dtype="float64", betas=[0.05, 0.05], rounds=22)
    for rounds in given["rounds"]:
        rounds[1:] = [{which: (value, 0 * value) for which, (value, _) in one.items()} for one in rounds[1:]]
    yield given
    for layout in ("transposed", "spread"):
        yield cut(f"a layout that is {layout}", layout=layout, budgets=(6, 2))
    yield cut("no gradients", budgets=(4,)) | {"frozen": True}
    given = cut("a value of zero that is kept", budgets=(8,))
    for rounds in given["rounds"]:
        value, gradient = rounds[-1]["E"]
        rounds[-1]["E"] = (0 * value, gradient)
    yield given
    given = cut("uneven layers", budgets=(6, 4))
    for number, rounds in enumerate(given["rounds"]):
        for one in rounds:
            for which, (value, gradient) in one.items():
                one[which] = (value, gradient * (0.2, 1.0, 5.0)[number])
    yield given
    given = cut("vectors that matter more than values", budgets=(6, 3))
    for rounds in given["rounds"]:
        for one in rounds:
            one["E"] = (one["E"][0], 0.03 * one["E"][1].sign())
    yield given

    def whole(name, which, *shape):
        # Powers of two, by the number of the triplet: several triplets have the same score, exactly.
        groups = torch.arange(shape[0] if which != "B" else shape[1]) % 3
        value = 2.0 ** (groups.double() - 1)
        return (value[:, None] if which != "B" else value[None, :]).expand(*shape).clone()

    def tied(name, budgets, **more):
        given = cut(name, ((4, 4, 8), (5, 2, 4), (3, 8, 2)), budgets=budgets, betas=[0.5, 0.5], rounds=2, **more)
        for rounds in given["rounds"]:
            for one in rounds:
                for which, (value, _) in one.items():
                    one[which] = (whole(name, which, *value.shape), torch.ones_like(value))
        return given

    yield tied("ties", (10, 6, 2))
    yield tied("ties, in the middle", (9, 7, 5, 4, 3))
    yield tied("ties, double precision", (11, 6, 1), dtype="float64")
    yield tied("ties that leave nothing", (3, 2, 1))
    given = cut("scores that are close", budgets=(9, 6, 2), dtype="float64", rounds=2)
    steps = iter((torch.randperm(12, generator=generator).double() * 1e-6 + 1).tolist())
    for rounds in given["rounds"]:
        factors = torch.tensor([next(steps) for _ in rounds[0]["E"][0]], dtype=torch.float64)
        for one in rounds:
            for which, (value, _) in one.items():
                shaped = factors if which == "B" else factors[:, None]
                one[which] = (torch.ones_like(value), shaped.expand_as(value).clone())
    yield given
    given = cut("scores of zero", budgets=(9, 4))
    for number, rounds in enumerate(given["rounds"]):
        for one in rounds:
            for which, (value, gradient) in one.items():
                one[which] = (value, gradient if number == 1 else 0 * gradient)
    yield given
    given = cut("all scores zero", budgets=(5,))
    for rounds in given["rounds"]:
        for one in rounds:
            for which, (value, gradient) in one.items():
                one[which] = (value, 0 * gradient)
    yield given

    def whole_run(name, *args, settings=(2, 3, 2, 13), target=6, forced=(), **more):
        steps = list(range(settings[3] + 1))
        names = ("tinit", "tfinal", "deltaT", "total_step")
        return model(
            f"run, {name}",
            *args,
            **{
                "kind": "run",
                "rounds": len(steps),
                "settings": dict(zip(names, settings, strict=True)),
                "target": target,
                "steps": steps,
                "forced": list(forced),
                "skipped": [],
                **more,
            },
        )

    yield whole_run("an ordinary one")
    yield whole_run("every step", settings=(1, 2, 1, 11))
    yield whole_run("no warm-up", settings=(0, 3, 2, 11))
    yield whole_run("no tuning at the end", settings=(2, 0, 3, 10))
    yield whole_run("neither", settings=(0, 0, 1, 8))
    yield whole_run("a forced cut at the end", settings=(2, 4, 5, 14), forced=(10,))
    yield whole_run("forced cuts", settings=(2, 4, 5, 14), forced=(4, 8, 10, 12))
    yield whole_run("a forced cut by position", settings=(1, 3, 4, 12), forced=(3,), positional=True)
    yield whole_run("no target", target=0, settings=(2, 3, 2, 13))
    yield whole_run("double precision", dtype="float64", forced=(3,))
    yield whole_run("another adapter", other="task_b", adapter="task_a")
    yield whole_run("one layer", ((6, 5, 4),), target=2)
    yield whole_run("layers without triplets", ((6, 5, 4), (0, 3, 3)), target=4)
    yield whole_run("a new total", settings=(2, 3, 2, 13), retold={"at": 6, "total": 11})
    yield whole_run("a later end of cuts", settings=(2, 3, 2, 13), retold={"at": 6, "total": 13, "tfinal": 1})
    given = whole_run("steps in another order", settings=(2, 3, 2, 13))
    yield given | {"steps": [4, 0, 11, 6, 12, 2, 3, 10, 8, 5, 7]}

    def pattern(name, *args, **more):
        given = model(f"patterns, {name}", *args, rounds=2, **{"kind": "pattern", "short": False, **more})
        given["patterns"] = [
            [(torch.rand(rank, generator=generator) < 0.5).tolist() for rank, *_ in given["layers"]] for _ in range(2)
        ]
        return given

    yield pattern("an ordinary model")
    yield pattern("names without the adapter", short=True)
    yield pattern("another adapter", other="task_b")
    yield pattern("names without the adapter, another adapter", other="task_b", short=True, adapter="task[a]*")
    yield pattern("double precision", dtype="float64")
    yield pattern("one triplet", ((1, 3, 3),))
    yield pattern("a layer without triplets", ((2, 4, 3), (0, 4, 3)))
    yield pattern("spread in memory", layout="spread")
    yield pattern("values that are frozen", frozen=True)
    given = pattern("nothing kept")
    yield given | {"patterns": [[[False] * rank for rank, *_ in given["layers"]]]}
    given = pattern("all kept")
    yield given | {"patterns": [[[True] * rank for rank, *_ in given["layers"]]]}
    given = pattern("no values")
    for rounds in given["rounds"]:
        for one in rounds:
            one["E"] = tuple(0 * item for item in one["E"])
    yield given
    yield {"name": "experiment", "seed": seed % 1000}


def _budget(initial, target, tinit, tfinal, interval, total, step):
    return (initial - target) * (1 - (step - tinit) / (total - tfinal - tinit)) ** 3 + target


def _clear(initial, target, tinit, tfinal, total, step):
    """Whether no rounding can change the budget of a step."""
    if step <= tinit or step > total - tfinal:
        return True
    part = 1 - Fraction(step - tinit, total - tfinal - tinit)
    exact = (initial - target) * part**3 + target
    if exact.denominator == 1:
        return (64 * part).denominator == 1
    return abs(exact - round(exact)) > Fraction(1, 10**8)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "budgets" in case and "steps" in case and "layers" not in case:
        return _schedule(case)
    if "AB" in case:
        return _sum(case)
    return {"scores": _scores, "cuts": _cuts, "run": _run, "pattern": _pattern}[case["kind"]](case)


def _allocator(model, adapter, betas=(0.85, 0.85), target=1, settings=None):
    from peft.tuners.adalora import AdaLoraConfig, RankAllocator

    settings = {"tinit": 1, "tfinal": 1, "deltaT": 1, "total_step": 10, **(settings or {})}
    config = AdaLoraConfig(target_r=target, init_r=4, beta1=betas[0], beta2=betas[1], **settings)
    return RankAllocator(model, config, adapter)


def _schedule(case):
    allocator = _allocator(torch.nn.Linear(2, 2), "default", settings=case["settings"])
    allocator.init_bgt, allocator.target_bgt = case["budgets"]
    before = dict(vars(allocator))
    config = dict(vars(allocator.peft_config))
    found = []

    def ask():
        for step in case["steps"]:
            pair = allocator.budget_schedule(step)
            budget, is_cut = pair
            found.append([step, budget, is_cut, type(pair) is tuple, type(budget) is int, type(is_cut) is bool])

    ask()
    unchanged = vars(allocator) == before and vars(allocator.peft_config) == config
    if "later" in case:
        for name, value in case["later"].items():
            setattr(allocator.peft_config, name, value)
        ask_later = [
            step
            for step in case["steps"]
            if _clear(*case["budgets"], *[case["later"][n] for n in ("tinit", "tfinal", "total_step")], step)
        ]
        case = {**case, "steps": ask_later}
        ask()
        allocator.set_total_step(34)
        found.append([list(allocator.budget_schedule(step)) for step in (8, 16, 32, 33)])
    if "budgets_later" in case:
        allocator.init_bgt, allocator.target_bgt = case["budgets_later"]
        case = {**case, "steps": [0, 4, 12, 20, 28, 32, 33, 40]}
        ask()
    found.append(list(allocator.budget_schedule(step=case["steps"][0])))
    return {"found": found, "unchanged": unchanged}


def _sum(case):
    allocator = _allocator(torch.nn.Linear(2, 2), "default")
    dtype = DTYPES[case["dtype"]]
    value, vectors = case["E"].to(dtype, copy=True), case["AB"].to(dtype, copy=True)
    kept = value.clone(), vectors.clone()
    output = allocator._combine_ipt(value, vectors)
    facts = {"output": [str(output.dtype), list(output.shape)]}
    results = {"output": output.clone()}
    if len(output):
        output.zero_()
    facts["unchanged"] = torch.equal(value, kept[0]) and torch.equal(vectors, kept[1])
    results["again"] = allocator._combine_ipt(ipt_E=2 * value, ipt_AB=vectors)
    return _sorted(results, dtype) | facts


def _model(case):
    """A model of the layers of a case, with one adapter or two."""
    from peft.tuners.adalora import SVDLinear

    dtype = DTYPES[case["dtype"]]
    model = torch.nn.Module()
    model.embed = torch.nn.Linear(3, 3, dtype=dtype)
    model.blocks = torch.nn.ModuleList()
    for number, (rank, inputs, outputs) in enumerate(case["layers"]):
        block = torch.nn.Module()
        layer = SVDLinear(torch.nn.Linear(inputs, outputs, dtype=dtype), case["adapter"], r=rank)
        if case["other"]:
            layer.update_layer(case["other"], 3, 1, 0.0, False)
        for item in (layer.lora_A, layer.lora_E, layer.lora_B):
            item[case["adapter"]] = torch.nn.Parameter(_laid_out(item[case["adapter"]].detach(), case["layout"]))
        for which in case["order"]:
            # The parts of a layer may be listed in any order.
            layer._modules[f"lora_{which}"] = layer._modules.pop(f"lora_{which}")
        block.add_module("project" if number % 2 else "attend", layer)
        model.blocks.append(block)
    if case["other"]:
        # Another adapter may have gradients, too.
        for name, item in model.named_parameters():
            if case["other"] in name and "lora_" in name:
                item.requires_grad_(True)
                item.grad = torch.full_like(item, 0.5)
    model.embed.weight.grad = torch.ones(3, 3, dtype=dtype)
    model.blocks[0].eval()
    return model


def _layers(model):
    return [next(block.children()) for block in model.blocks]


def _laid_out(item, layout):
    if layout == "transposed":
        return item.T.contiguous().T
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.contiguous()


def _give(case, model, number, count=None):
    """The entries and gradients of a call."""
    adapter = case["adapter"]
    for layer, rounds in list(zip(_layers(model), case["rounds"], strict=True))[:count]:
        for which, (value, gradient) in rounds[number].items():
            held = getattr(layer, f"lora_{which}")
            if number % 2:
                # Another parameter may stand in its place.
                held[adapter] = torch.nn.Parameter(_laid_out(held[adapter].detach().clone(), case["layout"]))
            parameter = held[adapter]
            with torch.no_grad():
                parameter.copy_(case["factor"] * value)
            parameter.grad = _laid_out((case["factor"] * gradient).to(parameter.dtype), case["layout"])


def _kept(model):
    kept = {
        name: [
            item.detach().clone(),
            None if item.grad is None else item.grad.clone(),
            item.requires_grad,
            id(item),
            item.data_ptr(),
        ]
        for name, item in model.named_parameters()
    }
    return kept | {"modes": [module.training for module in model.modules()]}


def _changed(model, before, but=""):
    """The names of parameters that are not what they were: their entries, their gradients, or themselves."""
    changed = [] if before["modes"] == [module.training for module in model.modules()] else ["modes"]
    for name, item in model.named_parameters():
        value, gradient, flag, identity, place = before[name]
        same_gradient = (
            item.grad is None if gradient is None else item.grad is not None and torch.equal(item.grad, gradient)
        )
        if not (same_gradient and flag == item.requires_grad and identity == id(item) and place == item.data_ptr()) or (
            not torch.equal(item.detach(), value) and not (but and but in name)
        ):
            changed.append(name)
    return changed


def _sorted(results, dtype):
    return {
        "single" if dtype == torch.float32 else "double": {
            name: item.detach().double() for name, item in results.items()
        }
    }


def _put_down(allocator, scale, results, facts, which):
    for name in ("ipt", "exp_avg_ipt", "exp_avg_unc"):
        held = getattr(allocator, name)
        facts[f"{which}, {name}"] = [
            [key, str(item.dtype), list(item.shape), item.requires_grad] for key, item in sorted(held.items())
        ]
        for key, item in held.items():
            results[f"{which}, {name}, {key}"] = item.detach().double() / scale


def _scores(case):
    dtype = DTYPES[case["dtype"]]
    model = _model(case)
    allocator = _allocator(model, case["adapter"], case["betas"])
    scale = case["factor"] ** 2
    results, facts = {}, {}
    attributes = sorted(vars(allocator))
    late = None
    if case["late"]:
        late = model.blocks[-1]
        del model.blocks[-1]
    for number in range(len(case["rounds"][0])):
        if late is not None and number == 1:
            model.blocks.append(late)
        _give({**case, "rounds": case["rounds"][: len(model.blocks)]}, model, number)
        if case["reset"] == number:
            allocator.reset_ipt()
        if case["betas later"] and number == 1:
            allocator.beta1, allocator.beta2 = case["betas later"]
        before = _kept(model)
        with torch.set_grad_enabled(number % 2 == 0):
            returned = allocator.update_ipt(model)
            facts[f"call {number}, changed"] = [_changed(model, before), returned is None, torch.is_grad_enabled()]
        # Later gradients do not reach back.
        for item in model.parameters():
            if item.grad is not None:
                item.grad.mul_(3.0)
        _put_down(allocator, scale, results, facts, f"call {number}")
    for name in list(allocator.exp_avg_ipt):
        score = allocator._element_score(name)
        facts[f"score of {name}"] = [str(score.dtype), list(score.shape)]
        results[f"score of {name}"] = score.clone().double() / scale**2
        with torch.no_grad():
            score.zero_()
    _put_down(allocator, scale, results, facts, "later")
    # A model without one of the layers leaves what is known of that one.
    if len(model.blocks) > 1:
        del model.blocks[0]
        allocator.update_ipt(model)
        _put_down(allocator, scale, results, facts, "less")
    facts["attributes"] = sorted(vars(allocator)) == attributes
    facts["betas"] = [allocator.beta1, allocator.beta2]
    return _sorted(results, dtype) | facts


def _pattern_of(pattern):
    if pattern is None:
        return None
    return [
        type(pattern) is dict,
        *[
            [name, type(kept) is list, [item is True for item in kept], all(type(item) is bool for item in kept)]
            for name, kept in sorted(pattern.items())
        ],
    ]


def _values(case, model):
    return {
        f"E of {number}": layer.lora_E[case["adapter"]].detach().clone() for number, layer in enumerate(_layers(model))
    }


def _cuts(case):
    dtype = DTYPES[case["dtype"]]
    model = _model(case)
    allocator = _allocator(model, case["adapter"], case["betas"])
    for number in range(len(case["rounds"][0])):
        _give(case, model, number)
        allocator.update_ipt(model)
    if case.get("frozen"):
        for item in model.parameters():
            item.requires_grad_(False)
            item.grad = None
    results, facts = {}, {}
    for number, budget in enumerate(case["budgets"]):
        before = _kept(model)
        scores = {
            name: [item.clone() for item in held.values()]
            for name, held in (("i", allocator.exp_avg_ipt), ("u", allocator.exp_avg_unc))
        }
        names = list(allocator.exp_avg_ipt)
        with torch.set_grad_enabled(number % 2 == 0):
            pattern = allocator.mask_to_budget(model, budget)
            facts[f"cut {number}, gradients"] = torch.is_grad_enabled()
        facts[f"cut {number}"] = _pattern_of(pattern)
        facts[f"cut {number}, changed"] = _changed(model, before, f"lora_E.{case['adapter']}")
        facts[f"cut {number}, scores"] = [
            list(allocator.exp_avg_ipt) == names,
            all(torch.equal(a, b) for a, b in zip(scores["i"], allocator.exp_avg_ipt.values(), strict=True)),
            all(torch.equal(a, b) for a, b in zip(scores["u"], allocator.exp_avg_unc.values(), strict=True)),
        ]
        for name, item in _values(case, model).items():
            results[f"cut {number}, {name}"] = item
        # What was returned is the caller's own, and what was cut may grow back, also in another parameter.
        for kept in pattern.values():
            kept[:] = [True] * len(kept)
        for layer in _layers(model):
            value = layer.lora_E[case["adapter"]].detach() + 0.25
            if number % 2:
                layer.lora_E[case["adapter"]] = torch.nn.Parameter(value, not case.get("frozen"))
            else:
                layer.lora_E[case["adapter"]].data.copy_(value)
    facts["budgets"] = [allocator.init_bgt, allocator.target_bgt, list(allocator.name_set)]
    pattern = allocator.mask_to_budget(model=model, budget=case["budgets"][0])
    facts["again"] = _pattern_of(pattern)
    if len(model.blocks) > 1:
        # A model that has lost a layer, and an allocator that was told so.
        del model.blocks[-1]
        allocator.init_bgt = sum(rank for rank, *_ in case["layers"][:-1])
        facts["a layer less"] = _pattern_of(allocator.mask_to_budget(model, allocator.init_bgt // 2))
    return _sorted(results, dtype) | facts


def _run(case):
    dtype = DTYPES[case["dtype"]]
    model = _model(case)
    allocator = _allocator(model, case["adapter"], case["betas"], 1, case["settings"])
    allocator.target_bgt = case["target"]
    results, facts, found = {}, {}, []
    for number, step in enumerate(case["steps"]):
        if case.get("retold", {}).get("at") == step:
            allocator.set_total_step(case["retold"]["total"])
            allocator.peft_config.tfinal = case["retold"].get("tfinal", allocator.peft_config.tfinal)
        _give(case, model, number)
        before = _kept(model)
        if step in case["forced"]:
            pair = (
                allocator.update_and_allocate(model, step, True)
                if case.get("positional")
                else allocator.update_and_allocate(model, global_step=step, force_mask=True)
            )
        else:
            pair = allocator.update_and_allocate(model, step)
        budget, pattern = pair
        found.append([step, budget, type(pair) is tuple, type(budget) is int, _pattern_of(pattern)])
        found.append(_changed(model, before, f"lora_E.{case['adapter']}"))
        for name, item in _values(case, model).items():
            results[f"step {number}, {name}"] = item
        for name in sorted(allocator.exp_avg_unc):
            results[f"step {number}, {name}"] = allocator._element_score(name)
    _put_down(allocator, 1.0, results, facts, "at the end")
    facts["found"] = found
    facts["settings"] = [getattr(allocator.peft_config, name) for name in ("tinit", "tfinal", "deltaT", "total_step")]
    facts["pattern of the configuration"] = allocator.peft_config.rank_pattern is None
    return _sorted(results, dtype) | facts


def _pattern(case):
    dtype = DTYPES[case["dtype"]]
    model = _model(case)
    allocator = _allocator(model, case["adapter"], case["betas"])
    results, facts = {}, {}
    names = [name for name, _ in model.named_parameters() if f"lora_E.{case['adapter']}" in name]
    for number, lists in enumerate(case["patterns"]):
        _give(case, model, number)
        for layer in _layers(model):
            layer.lora_E[case["adapter"]].requires_grad_(not case.get("frozen"))
        given = {
            name.replace(f".{case['adapter']}", "") if case["short"] else name: list(kept)
            for name, kept in zip(names, lists, strict=True)
        }
        # The order of a pattern says nothing.
        given = dict(reversed(given.items()))
        kept = {name: list(item) for name, item in given.items()}
        before = _kept(model)
        with torch.set_grad_enabled(number % 2 == 0):
            facts[f"pattern {number}, returned"] = allocator.mask_using_rank_pattern(model, given) is None
            facts[f"pattern {number}, gradients"] = torch.is_grad_enabled()
        facts[f"pattern {number}, changed"] = _changed(model, before, f"lora_E.{case['adapter']}")
        facts[f"pattern {number}, unchanged"] = given == kept
        for name, item in _values(case, model).items():
            results[f"pattern {number}, {name}"] = item
    facts["scores"] = [len(allocator.ipt), len(allocator.exp_avg_ipt), len(allocator.exp_avg_unc)]
    # With the names in full, and in short afterwards.
    _give(case, model, 0)
    for short in (True, False):
        allocator.mask_using_rank_pattern(
            model,
            {
                name.replace(f".{case['adapter']}", "") if short else name: [
                    place % 2 == short for place in range(rank)
                ]
                for name, (rank, *_) in zip(names, case["layers"], strict=True)
            },
        )
        for name, item in _values(case, model).items():
            results[f"{short}, {name}"] = item
    return _sorted(results, dtype) | facts
