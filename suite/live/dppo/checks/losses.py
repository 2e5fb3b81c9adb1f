"""Losses, gradients and metrics over thresholds, truncations, weights, aggregations and dtypes; then the experiment."""

import math
from itertools import product

import torch

MODES = ["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean"]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def number(low, high):
        return uniform(1, low=low, high=high).item()

    def clear(old, new, thresholds, limit):
        """Whether each token is masked without doubt, and truncated without doubt."""
        p, q = new.exp(), old.exp()
        kl = q * (old - new) + (1 - q) * ((1 - q + 1e-8) / (1 - p + 1e-8)).log()
        apart = torch.ones_like(p, dtype=torch.bool)
        for threshold in thresholds:
            for divergence in ((p - q).abs(), kl):
                apart &= (divergence - threshold).abs() > 1e-3 * (1 + threshold)
        ratio = (new - old).clamp(-20, 20).exp()
        return apart & ((p - q).abs() > 1e-4) & ((ratio / limit - 1).abs() > 1e-3)

    def case(name, kind, double=False, settings=None, info=None, mask="same", weighted=False, **more):
        rows, steps = more.pop("shape", None) or (integer(2, 4), integer(4, 7))
        settings = settings or {"clip_ratio": number(0.03, 0.3)}
        thresholds = [value for name, value in settings.items() if name != "clip_ratio_c"]
        # The second call of a case has this threshold.
        thresholds.append(0.9 * settings["clip_ratio"])
        limit = settings.get("clip_ratio_c", 20.0)
        old, new = torch.zeros(rows, steps).double(), torch.zeros(rows, steps).double()
        doubt = torch.ones(rows, steps, dtype=torch.bool)
        # Half of the tokens are nearly as likely as before, and some were very unlikely.
        while doubt.any():
            p = uniform(rows, steps, low=0.02, high=0.97)
            near = (p + uniform(rows, steps, low=-0.15, high=0.15)).clamp(0.01, 0.98)
            far = uniform(rows, steps, low=0.001, high=0.97) ** 2
            q = torch.where(uniform(rows, steps) < 0.5, near, far)
            old, new = torch.where(doubt, q.log(), old), torch.where(doubt, p.log(), new)
            doubt = ~clear(old, new, thresholds, limit)
        kept = torch.arange(steps) < torch.randint(1, steps + 1, (rows, 1), generator=generator)
        dtype = torch.float64 if double else torch.float32
        return {
            "name": f"{kind}, {name}",
            "kind": kind,
            "old_log_prob": old.to(dtype),
            "log_prob": new.to(dtype),
            "advantages": torch.randn(rows, steps, generator=generator, dtype=torch.float64).to(dtype),
            "response_mask": kept.to({"same": dtype, "boolean": torch.bool, "integers": torch.int64}[mask]),
            "rollout_is_weights": uniform(rows, steps, low=0.2, high=2.0).to(dtype) if weighted else None,
            "settings": settings,
            "info": info or {},
            "double": double,
            **more,
        }

    for kind in ("tv", "kl"):
        for double, weighted in product((False, True), repeat=2):
            which = f"{'double' if double else 'single'}{', with weights' if weighted else ''}"
            settings = {"clip_ratio": 9.0, "clip_ratio_low": number(0.02, 0.1), "clip_ratio_high": number(0.15, 0.3)}
            if weighted:
                low, high = settings["clip_ratio_high"], settings["clip_ratio_low"]
                settings |= {"clip_ratio_low": low, "clip_ratio_high": high}
            yield case(f"two thresholds, {which}", kind, double, settings, weighted=weighted)
        yield case("one threshold", kind, shape=(4, 8))
        settings = {"clip_ratio": number(0.02, 0.05), "clip_ratio_high": number(0.2, 0.3)}
        yield case("threshold above alone", kind, settings=settings, mask="boolean")
        settings = {"clip_ratio": number(0.02, 0.05), "clip_ratio_low": number(0.2, 0.3)}
        yield case("threshold below alone", kind, settings=settings, mask="integers")
        for limit in (number(1.2, 2.0), number(0.5, 0.9)):
            settings = {"clip_ratio": number(0.1, 0.3), "clip_ratio_c": limit}
            yield case(f"truncated {'above' if limit > 1 else 'below'} one", kind, settings=settings, double=limit < 1)
        for mode in MODES[1:]:
            yield case(mode, kind, mode=mode, weighted=mode == "token-sum")
        info = {"dp_size": 2, "batch_num_tokens": integer(30, 60), "global_batch_size": integer(7, 12)}
        yield case("a global batch", kind, info=info, weighted=True)
        info = info | {"loss_scale_factor": integer(20, 40)}
        yield case("a global batch, norm", kind, info=info, mode=MODES[3], double=True)
        # Very unlikely tokens, with ratios that are truncated or limited.
        settings = {"clip_ratio": number(0.97, 1.5) if kind == "tv" else number(60.0, 90.0)}
        given = case("ratios beyond the limits", kind, settings=settings, shape=(3, 6), double=kind == "tv")
        sign = torch.where(uniform(3, 6) < 0.5, -1.0, 1.0)
        gap = uniform(3, 6, low=22.0, high=35.0)
        place = uniform(3, 6, low=-12.0, high=-4.0)
        given["old_log_prob"] = torch.where(sign > 0, place - gap, place).to(given["log_prob"].dtype)
        given["log_prob"] = torch.where(sign > 0, place, place - gap).to(given["log_prob"].dtype)
        given["settings"] |= {"clip_ratio_c": 30.0}
        yield given
        yield given | {"name": f"{given['name']}, hardly truncated", "settings": settings | {"clip_ratio_c": 1e10}}
        given = case("some advantages are zero", kind, settings={"clip_ratio": number(0.01, 0.04)}, shape=(4, 7))
        given["advantages"][uniform(4, 7) < 0.4] = 0.0
        yield given
        yield case("by position", kind, weighted=True, positional=True, mode=MODES[2])
    # The difference of logarithms in the divergence is not limited.
    q = number(0.3, 0.9)
    threshold = 20 * q + (1 - q) * math.log(1 - q) + 0.5 * q * (5 + math.log(q))
    given = case("tokens that have become impossible", "kl", settings={"clip_ratio": threshold}, shape=(3, 4))
    given["old_log_prob"][:] = math.log(q)
    given["log_prob"] = uniform(3, 4, low=-40.0, high=-25.0).to(given["log_prob"].dtype)
    yield given
    for kind, double in product(("tv", "kl"), (False, True)):
        # Their probability is more than the limited ratio allows.
        name = f"tokens that were impossible, {'double' if double else 'single'}"
        given = case(name, kind, double, settings={"clip_ratio": number(0.005, 0.015)}, shape=(3, 5))
        given["old_log_prob"] = uniform(3, 5, low=-60.0, high=-35.0).to(given["log_prob"].dtype)
        given["log_prob"] = uniform(3, 5, low=0.02, high=0.4).log().to(given["log_prob"].dtype)
        given["advantages"][:, 0] = given["advantages"][:, 0].abs() + 0.3
        given["response_mask"][:, 0] = 1
        yield given
    for kind, side in product(("tv", "kl"), ("low", "high")):
        # All tokens lie between the two thresholds, and the first columns move away from the old policy.
        settings = {"clip_ratio": number(0.01, 0.03), f"clip_ratio_{side}": number(0.25, 0.3)}
        given = case(f"between the thresholds, {side}", kind, side == "low", settings, shape=(3, 5))
        sign = torch.where(uniform(3, 5) < 0.5, -1.0, 1.0)
        sign[:, 0], sign[:, 1] = 1.0, -1.0
        q = uniform(3, 5, low=0.35, high=0.6)
        p = q + sign * uniform(3, 5, low=0.15, high=0.2)
        given["old_log_prob"], given["log_prob"] = (item.log().to(given["log_prob"].dtype) for item in (q, p))
        given["advantages"][:, :2] = sign[:, :2] * (given["advantages"][:, :2].abs() + 0.1)
        given["response_mask"][:, :2] = 1
        yield given
    yield {"name": "experiment", "seed": seed % 1000}

    for kind in ("tv", "kl"):
        for wrong in ("none", "algorithm"):
            yield case(f"configuration {wrong}", kind, wrong=wrong, edge=True)
        for shift in (-0.2, 0.2):
            # The first column becomes certain, the second was; both move away from the old policy.
            q = number(0.2, 0.6)
            if kind == "tv":
                high, low = (1 - q) * (1 + shift), (1 - q) * (1 - shift)
            else:
                high = q * math.log(q) + (1 - q) * math.log((1 - q) / 1e-8) + shift
                low = -math.log(q) - shift
            settings = {"clip_ratio": 1.0, "clip_ratio_high": high, "clip_ratio_low": low}
            given = case(f"certain tokens, {shift}", kind, edge=True, double=shift > 0, settings=settings)
            given["log_prob"][:, 0], given["old_log_prob"][:, 0] = 0.0, math.log(q)
            given["log_prob"][:, 1], given["old_log_prob"][:, 1] = math.log(q), 0.0
            given["log_prob"][0, 2] = given["old_log_prob"][0, 2] = 0.0
            for column, sign in ((0, 1), (1, -1)):
                given["advantages"][:, column] = sign * (0.3 + given["advantages"][:, column].abs())
            given["response_mask"][:, :3] = 1
            yield given | {"plain": True}
    for kind in ("tv", "kl"):
        yield case("configuration of a special algorithm", kind, wrong="special", edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from verl.trainer.config import AlgoConfig
    from verl.trainer.ppo import core_algos
    from verl.workers.config import ActorConfig

    loss_of = getattr(core_algos, f"compute_policy_loss_dppo_{case['kind']}")
    names = ("old_log_prob", "log_prob", "advantages", "response_mask")
    tensors = [case[name].clone() for name in names]
    old, new, advantages, mask = tensors
    if case.get("wrong"):
        try:
            special = type("SpecialConfig", (AlgoConfig,), dict(case["settings"]))
            loss_of(*tensors, config={"none": None, "algorithm": AlgoConfig(), "special": special()}[case["wrong"]])
        except AssertionError:
            return {"raises": "AssertionError"}
        return {"raises": "nothing"}
    settings = dict(case["settings"])
    limit = settings.pop("clip_ratio_c", None)
    config = ActorConfig(**settings, global_batch_info=dict(case["info"]))
    if limit is not None:
        config.clip_ratio_c = limit
    kept = dict(vars(config))
    new.requires_grad_()
    old.requires_grad_()
    weights = None if case["rollout_is_weights"] is None else case["rollout_is_weights"].clone()
    mode = case.get("mode", "token-mean")
    if case.get("positional"):
        loss, metrics = loss_of(*tensors, mode, config, weights)
    else:
        options = {"loss_agg_mode": mode} if "mode" in case else {}
        options |= {"rollout_is_weights": weights} if weights is not None else {}
        loss, metrics = loss_of(*tensors, config=config, **options)
    gradients = torch.autograd.grad(loss, [new, old], allow_unused=True, materialize_grads=True)
    results = [loss.detach(), *gradients, dict(metrics)]
    facts = [str(loss.dtype), list(loss.shape), sorted(type(item).__name__ for item in metrics.values())]
    if case.get("plain"):
        return {"double" if case["double"] else "single": results, "facts": facts}
    # Other data, other thresholds and another batch.
    config.clip_ratio, config.clip_ratio_low = 0.9 * config.clip_ratio, None
    again = new.detach().flip(0).requires_grad_()
    other = None if weights is None else weights.flip(0)
    loss, metrics = loss_of(
        old.detach().flip(0), again, -advantages.flip(0), mask.flip(0), config=config, rollout_is_weights=other
    )
    results += [loss.detach(), *torch.autograd.grad(loss, again), dict(metrics)]
    facts.append([torch.equal(item.detach(), case[name]) for name, item in zip(names, tensors, strict=True)])
    if weights is not None:
        facts.append(torch.equal(weights, case["rollout_is_weights"]))
    facts.append(vars(config) == kept | {"clip_ratio": config.clip_ratio, "clip_ratio_low": None})
    return {"double" if case["double"] else "single": results, "facts": facts}
