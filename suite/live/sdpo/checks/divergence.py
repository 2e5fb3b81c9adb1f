"""Both functions over their settings, shapes and dtypes, with gradients; then the experiment."""

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

    def shape(words=None):
        return integer(1, 3), integer(2, 4), words or integer(5, 9)

    def case(name, sizes=None, double=None, size=1.2, **more):
        sizes = sizes or shape()
        student, teacher = size * normal(2, *sizes)
        return {
            "name": name,
            "double": bool(integer(0, 1)) if double is None else double,
            "student": student,
            "teacher": teacher,
            "weights": 0.5 + normal(*sizes)[..., 0].abs(),
            **more,
        }

    for double, alpha in product((False, True), (0.0, 1.0, uniform(0.1, 0.4), uniform(0.6, 0.9))):
        kind = (
            f"{'double' if double else 'single'}, {alpha if alpha in (0, 1) else 'small' if alpha < 0.5 else 'large'}"
        )
        yield case(f"divergence, {kind}", double=double, alpha=alpha)
        for tail in (False, True):
            words = integer(6, 9)
            options = {"distillation_topk": integer(2, words - 3), "distillation_add_tail": tail}
            sizes = shape(words)
            name = f"{'tail' if tail else 'no tail'}, {kind}"
            yield case(name, sizes, double, options=options | {"distillation_alpha": alpha})
    for alpha in (0.0, uniform(0.1, 0.9), 1.0):
        less = [uniform(0.1, 0.5), uniform(2, 3)] if alpha == 0 else [uniform(2, 3), uniform(0.1, 0.5)]
        name = f"divergence of sums below one, {alpha if alpha in (0, 1) else 'between'}"
        yield case(name, alpha=alpha, less=less)
    yield case("divergence, one position", (integer(4, 8),), alpha=uniform(0.1, 0.9))
    yield case("divergence, alpha near 0", alpha=uniform(0.001, 0.05))
    yield case("divergence, alpha near 1", alpha=uniform(0.95, 0.999))
    yield case("divergence, an integer", alpha=integer(0, 1))
    for alpha in (0.0, uniform(0.2, 0.8), 1.0):
        kind = alpha if alpha in (0, 1) else "between"
        options = {"distillation_topk": 1, "distillation_add_tail": True, "distillation_alpha": alpha}
        yield case(f"one word and the tail, {kind}", options=options)
        sizes = shape()
        options = {"distillation_topk": sizes[-1], "distillation_add_tail": False, "distillation_alpha": alpha}
        yield case(f"all words, {kind}", sizes, options=options)
    sizes = shape()
    options = {"distillation_topk": sizes[-1], "distillation_add_tail": True, "distillation_alpha": uniform(0.2, 0.8)}
    yield case("all words and the tail", sizes, True, options=options)
    for tail in (False, True):
        options = {
            "distillation_topk": integer(2, 4),
            "distillation_add_tail": tail,
            "distillation_alpha": uniform(0, 1),
        }
        yield case(f"one row{', and the tail' * tail}", (integer(6, 9),), options=options)
        yield case(f"four dimensions{', and the tail' * tail}", (2, 1, 3, integer(6, 9)), options=options)
        options = {
            "distillation_topk": integer(5, 20),
            "distillation_add_tail": tail,
            "distillation_alpha": uniform(0, 1),
        }
        yield case(f"many words{', and the tail' * tail}", (2, 3, 60), options=options)
    for double, end in product((False, True), (0, 1)):
        near = abs(end - 10 ** uniform(-6, -4))
        yield case(f"divergence, {'double' if double else 'single'}, alpha very near {end}", double=double, alpha=near)
    for double, alpha in product((False, True), (0.0, uniform(0.2, 0.8), 1.0)):
        words = integer(6, 9)
        options = {"distillation_topk": 3, "distillation_add_tail": True, "distillation_alpha": alpha}
        name = f"small tails, {'double' if double else 'single'}, {alpha if alpha in (0, 1) else 'between'}"
        given = case(name, shape(words), double, size=0.5, options=options)
        # Both put nearly everything on the same three words.
        inside = torch.randperm(words, generator=generator) < 3
        for which in ("student", "teacher"):
            logits = given[which]
            mass = torch.where(inside, logits, -torch.inf).logsumexp(-1, keepdim=True)
            rest = torch.where(inside, -torch.inf, logits).logsumexp(-1, keepdim=True)
            odds = torch.tensor(uniform(0.0015, 0.005), dtype=torch.float64).logit()
            given[which] = torch.where(inside, logits, logits + mass - rest + odds)
        yield given
    yield {"name": "experiment", "seed": seed % 1000}

    def edge(case):
        return case | {"edge": True}

    for alpha in (0.0, uniform(0.2, 0.8), 1.0):
        kind = alpha if alpha in (0, 1) else "between"
        yield edge(case(f"divergence, no positions, {kind}", (0, integer(2, 4), 5), alpha=alpha))
        options = {"distillation_topk": 3, "distillation_add_tail": bool(integer(0, 1)), "distillation_alpha": alpha}
        sizes = (integer(1, 3), 0, 5) if alpha == 0 else (0, 5) if alpha == 1 else (0, integer(1, 3), 5)
        yield edge(case(f"no positions, {kind}", sizes, options=options))
        for double in (False, True):
            name = f"{kind}, {'double' if double else 'single'}"
            yield edge(case(f"divergence, far apart, {name}", double=double, size=60, alpha=alpha, key="far"))
            options = {"distillation_topk": 3, "distillation_add_tail": False, "distillation_alpha": alpha}
            yield edge(case(f"far apart, {name}", double=double, size=60, options=options, key="far"))


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from trl.experimental.sdpo.loss_utils import compute_divergence, compute_topk_self_distillation_loss

    dtype = torch.float64 if case["double"] else torch.float32
    inputs = [case[name].clamp(-200, 200).to(dtype) for name in ("student", "teacher")]
    if "alpha" in case:
        less = case.get("less", [0.0, 0.0])
        inputs = [item.log_softmax(-1) - shift for item, shift in zip(inputs, less, strict=True)]
    inputs = [item.detach().clone().requires_grad_() for item in inputs]
    kept = [item.detach().clone() for item in inputs]
    if "alpha" in case:
        result = compute_divergence(*inputs, case["alpha"])
    else:
        result = compute_topk_self_distillation_loss(*inputs, **case["options"])
    slopes = torch.autograd.grad((result * case["weights"].to(dtype)).sum(), inputs)
    facts = [str(result.dtype), list(result.shape), [torch.equal(*pair) for pair in zip(inputs, kept, strict=True)]]
    return {"double" if case["double"] else case.get("key", "single"): [result.detach(), *slopes], "facts": facts}
