"""Weights over signs, ratios, parameters and dtypes, and calls on an object; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def real(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def given(rows=None, steps=None, sampler=False, spread=0.4, shift=0.0):
        rows, steps = rows or integer(4, 7), steps or integer(4, 8)
        kept = torch.randint(1, steps + 1, (rows, 1), generator=generator)
        mask = (torch.arange(steps) < kept).long()
        # A tool wrote some of the tokens.
        mask[:, 1:] *= (torch.rand(rows, steps - 1, generator=generator) < 0.8).long()
        tensors = {
            "advantages": normal(rows, 1),
            "log_ratio_per_token": spread * normal(rows, steps) + shift,
            "mask": mask,
            "importance_sampling_ratio": None,
        }
        # Both signs occur.
        tensors["advantages"][:2] = tensors["advantages"][:2].abs() * torch.tensor([[1.0], [-1.0]])[:rows]
        if sampler:
            tensors["importance_sampling_ratio"] = (0.3 * normal(rows, steps) * mask).exp()
        return tensors

    def case(name, double=None, key=None, options=None, tensors=None, edge=False, **more):
        double = bool(integer(0, 1)) if double is None else double
        tensors = given(**more) if tensors is None else tensors
        kind = torch.float64 if double else torch.float32
        tensors = {
            name: item.to(kind) if item is not None and item.is_floating_point() else item
            for name, item in tensors.items()
        }
        return {
            "name": name,
            "tensors": tensors,
            "options": options or {},
            "key": key or ("double" if double else "single"),
        } | ({"edge": True} if edge else {})

    def drawn():
        return {
            "k_pos": real(0.3, 4.0),
            "lambda_pos": real(0.3, 4.0),
            "k_neg": real(0.3, 4.0),
            "lambda_neg": real(0.3, 4.0),
        }

    for double, sampler, some in product((False, True), (False, True), ((), ("k_pos", "lambda_neg"), tuple(drawn()))):
        options = {name: value for name, value in drawn().items() if name in some}
        yield case(f"{double}, {sampler}, {', '.join(some)}", double, options=options, sampler=sampler)
    for number in (0.0, 1.0):
        yield case(f"parameters of {number}", options=dict.fromkeys(drawn(), number), spread=0.6, sampler=True)
    yield case("whole numbers", options={"k_pos": 3, "lambda_pos": 1, "k_neg": 1, "lambda_neg": 2}, sampler=True)
    yield case("a rate below zero", options=drawn() | {"lambda_pos": -real(0.5, 2.0), "lambda_neg": -1e-3})
    tensors = given(rows=6, sampler=True)
    tensors["advantages"][2:5] = 0.0
    yield case("advantages of zero", tensors=tensors)
    for sign in (-1, 1):
        tensors = given(rows=4, spread=0.3)
        tensors["advantages"] = sign * tensors["advantages"].abs()
        yield case(f"advantages of the sign {sign}", tensors=tensors)
    yield case("large advantages", tensors=(lambda x: x | {"advantages": 300 * x["advantages"]})(given()))
    yield case("one completion", rows=1, sampler=True)
    yield case("one token", rows=3, steps=1, sampler=True)
    yield case("a long completion", rows=2, steps=60, spread=0.1)

    # Limits. Small powers and rates keep the weights away from 0.
    small = {"k_pos": 0.07, "lambda_pos": 1e-4, "k_neg": 0.11, "lambda_neg": 1e-4}
    for number, double in enumerate((False, True)):
        tensors = given(rows=6, steps=6, sampler=bool(number))
        tensors["mask"][:] = 1
        ratios = tensors["log_ratio_per_token"]
        # One token beyond its limit, the others in the opposite direction; then sums beyond the sequence's limit.
        ratios[0] = -1.5 * normal(6).abs() - 1.0
        ratios[0, 1] = real(24, 40)
        ratios[1] = 1.5 * normal(6).abs() + 1.0
        ratios[1, 2] = -real(24, 40)
        ratios[2:4] = -real(4, 6)
        ratios[4, :2] = torch.tensor([-real(30, 50), real(17, 19)])
        ratios[5] = real(30, 60) * torch.tensor([1, -1, 1, -1, 1, -1])
        yield case(f"limits, {number}", double, options=small, tensors=tensors)
        tensors = given(rows=4, steps=5, sampler=True)
        tensors["mask"][:] = 1
        tensors["log_ratio_per_token"][:] = 10.0 + normal(4, 5) * 0.2
        tensors["importance_sampling_ratio"][:, :3] = (-real(24, 26) + normal(4, 3)).exp()
        yield case(f"small ratios to the sampler, {number}", double, options=small, tensors=tensors)
        tensors = given(rows=4, steps=4, sampler=True)
        tensors["mask"][:] = 1
        tensors["log_ratio_per_token"][:] = -8.0 + normal(4, 4) * 0.2
        tensors["importance_sampling_ratio"][:, 1] = (real(24, 30) + normal(4)).exp()
        yield case(f"large ratios to the sampler, {number}", double, options=small, tensors=tensors)
        rates = {"lambda_pos": 4e-8, "lambda_neg": 0.0}
        inside = given(rows=4, steps=2, shift=3.7 + number)
        inside["mask"][:] = 1
        yield case(f"small rates, {number}", double, options=small | rates | {"k_pos": 0.5}, tensors=inside)
    for double in (False, True):
        # Without a power, the weight below the sequence's limit depends on the rate alone.
        options = {"k_pos": 0.0, "lambda_pos": real(5, 18), "k_neg": 0.0, "lambda_neg": real(5, 18)}
        kind = "double" if double else "single"
        tensors = given(rows=4, steps=6, shift=-real(5, 8))
        tensors["mask"][:] = 1
        yield case(f"no power, far below the limit, {kind}", double, options=options, tensors=tensors)
    yield {"name": "experiment", "seed": seed % 1000}

    for number in range(2):
        tensors = given(rows=5, steps=6, sampler=True)
        for row in range(3):
            counted = tensors["mask"][row].nonzero()[0, 0]
            tensors["importance_sampling_ratio"][row, counted] = 0.0
            tensors["log_ratio_per_token"][row, counted] = real(15, 19)
        yield case(f"a ratio of 0 to the sampler, {number}", bool(number), tensors=tensors, edge=True)
        tensors = given(rows=5, steps=5, sampler=bool(number))
        tensors["log_ratio_per_token"][integer(0, 4), 0] = torch.nan
        tensors["mask"][:, 0] = 1
        yield case(f"a log ratio that is NaN, {number}", bool(number), tensors=tensors, edge=True)
        tensors = given(rows=5, steps=5, sampler=bool(number))
        tensors["mask"][integer(0, 4)] = 0
        if number:
            tensors["importance_sampling_ratio"] = (0.3 * normal(5, 5) * tensors["mask"]).exp()
        yield case(f"no tokens, {number}", bool(number), tensors=tensors, edge=True)
    tensors = given(rows=4, steps=4)
    tensors["mask"][:] = 1
    tensors["log_ratio_per_token"][:2] = real(2.3, 2.5)
    yield case(
        "an overflow",
        False,
        options={"k_pos": 55.0, "lambda_pos": 1e-3, "k_neg": 50, "lambda_neg": 1e-3},
        tensors=tensors,
        edge=True,
    )


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from trl.trainer.grpo_trainer import GRPOTrainer

    tensors = {name: item if item is None else item.clone() for name, item in case["tensors"].items()}
    tensors["log_ratio_per_token"].requires_grad_()
    weights = GRPOTrainer.get_gamma_weights(**tensors, **case["options"])
    again = weights
    if len(case["options"]) in (0, 4):
        again = GRPOTrainer().get_gamma_weights(*tensors.values(), *case["options"].values())
    same = [
        item is None or torch.equal(item.detach().nan_to_num(nan=-77.0), case["tensors"][name].nan_to_num(nan=-77.0))
        for name, item in tensors.items()
    ]
    return {
        case["key"]: [weights.detach(), again.detach()],
        "facts": [list(weights.shape), str(weights.dtype), weights.requires_grad, same],
    }
