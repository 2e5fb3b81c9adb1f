"""Loss, gradients and metrics over settings, masks, log ratios and dtypes; then the experiment."""

from itertools import product

import torch

WORDS = 6
EXTRAS = (
    "pixel_values",
    "image_grid_thw",
    "num_images",
    "pixel_attention_mask",
    "image_sizes",
    "token_type_ids",
    "mm_token_type_ids",
    "image_position_ids",
)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def batch(low, high, rows=None, length=None, prompt=None, tools=False, old=True, extras=(), spread=0.6, idle=0):
        rows, length, prompt = rows or integer(3, 5), length or integer(4, 7), prompt or integer(2, 3)
        kept = torch.randint(min(length, 2) if length != 2 else 1, length + 1, (rows, 1), generator=generator)
        padded = torch.randint(0, prompt, (rows, 1), generator=generator)
        # Log ratios stay away from the bounds.
        ratios = spread * normal(rows, length)
        for bound in (-low, high):
            near = (ratios - bound).abs() < 1e-3
            ratios[near] += 0.01
        inputs = {
            "prompt_ids": torch.randint(WORDS, (rows, prompt), generator=generator),
            "prompt_mask": (torch.arange(prompt) >= padded).long(),
            "completion_ids": torch.randint(WORDS, (rows, length), generator=generator),
            "completion_mask": (torch.arange(length) < kept).long(),
            "advantages": 1.5 * normal(rows),
        }
        if idle:
            # A group in which all rewards are equal.
            inputs["advantages"][:idle] = 0
        if tools:
            # The first token always counts.
            drawn = torch.rand(rows, length, generator=generator) < 0.7
            inputs["tool_mask"] = (drawn | (torch.arange(length) == 0)).long()
        inputs |= {name: normal(rows, 1, WORDS) for name in extras}
        return {"inputs": inputs, "ratios": ratios if old else None, "reference": 0.5 * normal(rows, length)}

    def case(name, double=None, train=True, more=0, epsilon="drawn", epsilon_high="drawn", beta=0.0, steps=1, **given):
        low = 0.4 if epsilon == "default" else given.pop("epsilon_value", uniform(0.1, 0.6))
        high = uniform(0.1, 0.6) if epsilon_high == "drawn" else low if epsilon_high is None else epsilon_high
        settings = {"beta": beta, "gradient_accumulation_steps": steps}
        settings |= {} if epsilon == "default" else {"epsilon": low}
        settings |= {} if epsilon_high is None else {"epsilon_high": high}
        settings |= {"top_entropy_quantile": given.pop("quantile")} if "quantile" in given else {}
        return {
            "name": name,
            "settings": settings,
            "double": bool(integer(0, 1)) if double is None else double,
            "table": normal(2, WORDS, WORDS),
            "batches": [batch(low, high, **given) for _ in range(1 + more)],
            "modes": [train] * (1 + more),
            "changes": [{}] * (1 + more),
        }

    for double, (name, epsilon, high) in product(
        (False, True), (("default", "default", None), ("one bound", "drawn", None), ("two bounds", "drawn", "drawn"))
    ):
        kind = "double" if double else "single"
        yield case(f"{name}, {kind}", double, epsilon=epsilon, epsilon_high=high, more=1)
    for double, old in product((False, True), (False, True)):
        kind = f"{'double' if double else 'single'}, {'old' if old else 'current'}"
        yield case(f"KL, {kind}", double, beta=uniform(0.02, 0.5), old=old)
        quantile, beta = uniform(0.3, 0.9), uniform(0.02, 0.5)
        yield case(f"KL, tools and entropy, {kind}", double, beta=beta, quantile=quantile, tools=True, old=old)
    yield case("tools", tools=True)
    yield case("few tokens of high entropy", quantile=uniform(0.1, 0.3))
    yield case("many tokens of high entropy", quantile=uniform(0.6, 0.95))
    yield case("steps are accumulated", steps=integer(2, 8), beta=uniform(0.02, 0.5))
    yield case("evaluation", train=False, steps=integer(2, 8), beta=uniform(0.02, 0.5), more=1)
    yield case("a large beta", beta=uniform(2, 9))
    yield case("one position", length=1, rows=4)
    yield case("one position, evaluation", length=1, train=False, beta=0.1)
    yield case("one row", rows=1)
    yield case("one token", rows=1, length=1, beta=uniform(0.1, 0.5))
    for number in range(2):
        yield case(f"two positions, {number}", rows=8, length=2, spread=1.5)
    yield case("advantages of zero", rows=5, idle=2, spread=2.5)
    yield case("a beta of 1", beta=1.0)
    yield case("bounds of 0 and 1", epsilon_value=1.0, epsilon_high=0.0, spread=1.5)
    yield case("bounds of 1 and 0", epsilon_value=0.0, epsilon_high=1.0, spread=1.5)
    yield case("bounds of 1", epsilon_value=1.0, epsilon_high=1.0, spread=2.5)
    yield case("the highest entropy alone", quantile=0.0)
    yield case("long", rows=2, length=40, quantile=uniform(0.3, 0.9))
    yield case("ratios far from one", spread=2.5, more=1)
    for name, sign in (("good", 1), ("bad", -1)):
        given = case(f"{name} completions")
        rows = given["batches"][0] = batch(given["settings"]["epsilon"], given["settings"]["epsilon_high"], rows=4)
        rows["inputs"]["advantages"] = sign * (0.2 + normal(4).abs())
        yield given
    for part in (EXTRAS[:4], EXTRAS[4:], EXTRAS):
        yield case(f"multimodal, {part[0]} and {len(part) - 1} more", extras=part, beta=0.1)
    # In single precision, rounding would decide.
    given = case("far from the reference", double=True, beta=uniform(0.02, 0.5))
    given["batches"][0]["reference"] += uniform(11, 13)
    yield given
    given = case("ratios far above one", double=True)
    given["batches"][0]["ratios"] += uniform(11, 13)
    given["batches"][0]["inputs"]["advantages"] = -0.2 - normal(len(given["batches"][0]["ratios"])).abs()
    yield given
    given = case("another model than the trainer's", steps=3)
    yield given | {"apart": True}
    yield {"name": "experiment", "seed": seed % 1000}

    def edge(case):
        return case | {"edge": True}

    for beta, quantile in product((0.0, 0.3), (1.0, 0.5)):
        given = case(f"a completion without tokens, {beta}, {quantile}", beta=beta, quantile=quantile, rows=4)
        given["batches"][0]["inputs"]["completion_mask"][integer(0, 3)] = 0
        yield edge(given)
    given = case("a completion that tools wrote", tools=True, beta=uniform(0.1, 0.5))
    given["batches"][0]["inputs"]["tool_mask"][1] = 0
    yield edge(given)
    for quantile in (1.0, 0.4):
        given = case(f"no tokens at all, {quantile}", beta=0.2, quantile=quantile)
        given["batches"][0]["inputs"]["completion_mask"][:] = 0
        yield edge(given)
    given = case("settings that change", more=4, beta=0.1)
    given["changes"] = [{}]
    for beta, quantile, steps in ((0.0, 1.0, 2), (0.3, 0.6, 1), (0.3, 1.0, 3), (0.0, 0.4, 2)):
        low, high = uniform(0.1, 0.6), uniform(0.1, 0.6)
        change = {"beta": beta, "top_entropy_quantile": quantile, "current_gradient_accumulation_steps": steps}
        given["changes"].append(change | {"epsilon_low": low, "epsilon_high": high})
        given["batches"][len(given["changes"]) - 1] = batch(low, high)
    yield edge(given | {"modes": [True, False, True, False, True]})


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from toy import Policy
    from trl.experimental.gmpo import GMPOConfig, GMPOTrainer

    dtype = torch.float64 if case["double"] else torch.float32
    seen, numbers, facts = [], [], []

    class Model(Policy):
        def forward(self, **inputs):
            seen.append(sorted(inputs))
            weights = {name: 0.2 + 0.1 * number for number, name in enumerate(EXTRAS)}
            return super().forward(**{name: value * weights.get(name, 1) for name, value in inputs.items()})

    model = Model(WORDS, dtype)
    model.table.data.copy_(case["table"])
    trainer = GMPOTrainer(model, None, GMPOConfig(**case["settings"]))
    if case.get("apart"):
        # The trainer's own model tells the mode.
        trainer.model = Policy(WORDS, dtype).eval()
    for given, train, change in zip(case["batches"], case["modes"], case["changes"], strict=True):
        for name, value in change.items():
            setattr(trainer, name, value)
        model.train(train)
        inputs = {
            name: value.to(dtype) if value.is_floating_point() else value.clone()
            for name, value in given["inputs"].items()
        }
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        extras = {name: value for name, value in inputs.items() if name in EXTRAS}
        with torch.no_grad():
            length = inputs["completion_ids"].shape[1]
            logps, _, _ = trainer._get_per_token_logps_and_entropies(model, ids, mask, length, **extras)
        if given["ratios"] is not None:
            inputs["old_per_token_logps"] = logps - given["ratios"].to(dtype)
        if trainer.beta != 0:
            inputs["ref_per_token_logps"] = logps + given["reference"].to(dtype)
        kept = {name: value.clone() for name, value in inputs.items()}
        seen.clear()
        loss = trainer._compute_loss(model, inputs)
        model.zero_grad()
        if loss.requires_grad:
            loss.backward()
        slope = torch.zeros_like(model.table) if model.table.grad is None else model.table.grad.clone()
        numbers.append([loss.detach(), slope])
        facts.append([str(loss.dtype), list(loss.shape), list(seen), model.training])
        facts.append([list(inputs) == list(kept), [torch.equal(inputs[name], kept[name]) for name in kept]])
    metrics = {mode: dict(sorted(trainer._metrics[mode].items())) for mode in ("train", "eval")}
    for lists in metrics.values():
        facts.append([isinstance(value, float) for values in lists.values() for value in values])
    settings = [trainer.beta, trainer.epsilon_low, trainer.epsilon_high, trainer.top_entropy_quantile]
    facts.append([*settings, trainer.current_gradient_accumulation_steps, sorted(trainer._metrics)])
    shares = {mode: {name: lists.pop(name) for name in list(lists) if "/" in name} for mode, lists in metrics.items()}
    return {"double" if case["double"] else "single": [numbers, metrics], "shares": shares, "facts": facts}
