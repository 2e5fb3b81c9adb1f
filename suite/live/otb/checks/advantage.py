"""Advantages and returns over groups, lengths, weights, masks and dtypes; then the experiment."""

from itertools import product

import numpy as np
import torch

TENSORS = ("token_level_rewards", "response_mask", "old_log_probs", "sum_pi_squared")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, sizes=None, lengths=None, double=False, mask="same", labels="integers", steps=None, **more):
        sizes = sizes or [integer(2, 4) for _ in range(integer(2, 3))]
        rows = sum(sizes)
        steps = steps or integer(4, 7)
        lengths = torch.tensor(lengths) if lengths else torch.randint(1, steps + 1, (rows,), generator=generator)
        kind = torch.float64 if double else torch.float32
        kept = torch.arange(steps) < lengths[:, None]
        # Groups are mixed, so that neighbours are not of one group.
        order = torch.randperm(rows, generator=generator)
        groups = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        if more.pop("mixed", True):
            groups, kept = groups[order], kept[order]
        numbers = torch.randperm(50, generator=generator)[: len(sizes)].tolist()
        index = [f"prompt {numbers[group]}" if labels == "strings" else numbers[group] for group in groups.tolist()]
        chosen = uniform(rows, steps, low=0.02, high=0.98)
        # The square of the chosen token, and of others that share what is left.
        squares = chosen.square() + (1 - chosen).square() * uniform(rows, steps, low=0.1, high=0.9)
        return {
            "name": name,
            "token_level_rewards": (normal(rows, steps) + more.pop("shift", 0.5)).to(kind),
            "response_mask": kept.to({"same": kind, "boolean": torch.bool, "integers": torch.int64}[mask]),
            "index": index,
            "labels": labels,
            "old_log_probs": chosen.log().to(kind),
            "sum_pi_squared": squares.to(kind),
            "weights": uniform(rows, steps, low=0.2, high=5.0).to(kind) if more.pop("weighted", False) else None,
            "options": {},
            "double": double,
            **more,
        }

    for double, weighted in product((False, True), repeat=2):
        kind = f"{'double' if double else 'single'}{', with weights' if weighted else ''}"
        yield case(f"usual, {kind}", double=double, weighted=weighted)
        yield case(f"tail kept, {kind}", double=double, weighted=weighted, options={"handle_zero_tail": False})
        yield case(f"epsilon, {kind}", double=double, weighted=weighted, options={"epsilon": uniform(1).item() + 0.2})
    for mask, labels in (("boolean", "strings"), ("integers", "strings"), ("boolean", "integers")):
        yield case(f"mask {mask}, labels {labels}", mask=mask, labels=labels)
        options = {"handle_zero_tail": False, "epsilon": uniform(1).item() + 0.1}
        yield case(
            f"mask {mask}, labels {labels}, all options", mask=mask, labels=labels, options=options, weighted=True
        )
    yield case("groups of one", [1, 1, 1])
    yield case("groups of one among others", [1, 3, 1, 2], weighted=True)
    yield case("one group", [integer(4, 6)], mixed=False)
    yield case("pairs", [2, 2, 2])
    yield case("a tail", [3, 2], [2, 6, 4, 1, 5], steps=7)
    yield case("a tail, kept", [3, 2], [2, 6, 4, 1, 5], steps=7, options={"handle_zero_tail": False})
    yield case("a tail, with weights", [4], [1, 2, 2, 7], steps=7, weighted=True, double=True)
    yield case("two longest", [3, 2], [2, 6, 6, 5, 5], steps=7)
    yield case("two longest, kept", [3, 2], [2, 6, 6, 5, 5], steps=7, options={"handle_zero_tail": False})
    yield case("no padding", [3, 3], [5] * 6, steps=5)
    yield case("one step", [3, 2], [1] * 5, steps=1)
    yield case("a tail as long as the responses", [2, 3], [1, 6, 6, 1, 3], steps=6)
    yield case("many responses", [16, 12], steps=10, weighted=True)
    given = case("rewards at the end", [3, 3], steps=6)
    last = given["response_mask"] * (1 - given["response_mask"].roll(-1, 1) * (torch.arange(6) < 5))
    yield given | {"token_level_rewards": given["token_level_rewards"] * last}
    yield case("rewards in the hundreds", shift=300.0, double=True)
    given = case("inputs with gradients", weighted=True)
    yield given | {"gradients": True}
    yield case("by position", weighted=True, positional=True, options={"handle_zero_tail": False, "epsilon": 0.3})
    yield case("further settings", further=True)
    yield {"name": "experiment", "seed": seed % 1000}

    yield case("a group without tokens", [2, 3], [0, 0, 2, 4, 3], steps=5, edge=True)
    for weighted in (False, True):
        kind = "with" if weighted else "without"
        options = {"handle_zero_tail": False}
        yield case(
            f"a single response with tokens, {kind} weights",
            [2, 3],
            [0, 4, 0, 3, 0],
            weighted=weighted,
            options=options,
            edge=True,
        )
    yield case("a response without tokens", [3, 2], [0, 4, 4, 0, 3], steps=5, edge=True)
    for double in (False, True):
        given = case(f"certain tokens, {'double' if double else 'single'}", double=double, edge=True)
        nothing = torch.zeros_like(given["old_log_probs"])
        yield given | {"old_log_probs": nothing, "sum_pi_squared": nothing + 1}
    given = case("a certain step", [4], double=True, edge=True)
    given["old_log_probs"][:, 0], given["sum_pi_squared"][:, 0] = 0.0, 1.0
    yield given


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from verl.trainer.ppo.core_algos import compute_optimal_token_baseline_advantage

    given = {name: case[name].clone() for name in TENSORS}
    weights = None if case["weights"] is None else case["weights"].clone()
    if case.get("gradients"):
        for name in ("token_level_rewards", "old_log_probs", "sum_pi_squared"):
            given[name].requires_grad_()
        weights.requires_grad_()
    index = np.array(case["index"], dtype=object if case["labels"] == "strings" else np.int64)
    options = dict(case["options"])
    if case.get("further"):
        options |= {"config": None, "something": 3}
    if weights is not None:
        options["rollout_is_weights"] = weights
    if case.get("positional"):
        rewards, mask, chosen, squares = given.values()
        arguments = (rewards, mask, index, chosen, squares, weights, *case["options"].values())
        found = compute_optimal_token_baseline_advantage(*arguments)
    else:
        found = compute_optimal_token_baseline_advantage(index=index, **given, **options)
    advantages, returns = found
    facts = [[str(item.dtype), list(item.shape), item.requires_grad] for item in found]
    facts.append([torch.equal(item.detach(), case[name]) for name, item in given.items()])
    facts.append(list(index) == case["index"])
    if weights is not None:
        facts.append(torch.equal(weights.detach(), case["weights"]))
    # Another batch: the responses in the opposite order, other groups, and one step less.
    turned = {name: item.detach().flip(0)[:, : max(1, item.shape[1] - 1)] for name, item in given.items()}
    if weights is not None:
        options["rollout_is_weights"] = weights.detach().flip(0)[:, : max(1, weights.shape[1] - 1)]
    again = compute_optimal_token_baseline_advantage(index=np.roll(index, 1), **turned, **options)
    results = [item.detach() for item in (advantages, returns, *again)]
    return {"double" if case["double"] else "single": results, "facts": facts}
