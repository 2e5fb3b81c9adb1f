"""spin_loss: losses, rewards, and which gradients flow, for each loss function and setting; then the experiment."""

import torch

VARIANTS = {
    "logistic": {},
    "logistic, reference free": {"reference_free": True},
    "logistic, not reference free by name": {"reference_free": False},
    "hinge": {"loss_type": "hinge"},
    "hinge, reference free": {"loss_type": "hinge", "reference_free": True},
}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def logps(batch, spread, dtype=torch.float32):
        return -20 + spread * torch.randn(4, batch, generator=generator, dtype=dtype)

    def with_ratio(rows, ratio):
        """The main player's real log-probabilities replaced such that its log-ratio exceeds the opponent's by this."""
        return torch.cat([(ratio + rows[1] + rows[2] - rows[3])[None], rows[1:]])

    def case(name, rows, beta, loss_type="sigmoid", **options):
        """The second of three iterations, whose beta is unlike the others."""
        betas = [1.6 * beta + 0.2, beta, 0.4 * beta]
        return {"name": name, "logps": rows, "betas": betas, "iteration": 1, "loss_type": loss_type, "options": options}

    betas = 0.1 + 0.5 * torch.rand(len(VARIANTS), generator=generator)
    for (name, settings), beta in zip(VARIANTS.items(), betas.tolist(), strict=True):
        yield case(name, logps(7, 3.0), beta, **settings)
    for name in ("logistic", "logistic, reference free", "hinge"):
        yield case(f"{name}, one pair in float64", logps(1, 2.0, torch.float64), 0.3, **VARIANTS[name])
    # Margins on each side of the hinge and well away from it: below zero, between zero and one, above one.
    margins = torch.tensor([-4.0, -0.9, 0.3, 0.7, 1.5, 6.0]) + 0.2 * torch.rand(6, generator=generator)
    for loss_type in ("sigmoid", "hinge"):
        yield case(f"{loss_type}, both sides of the hinge", with_ratio(logps(6, 2.0), margins / 0.4), 0.4, loss_type)
        # A beta above one, as at the end of the paper's training. Here and below the numbers are round, so that sums
        # and products are exact in whatever order they are taken.
        yield case(f"{loss_type}, large beta", (64 * logps(5, 0.3)).round() / 64, 5.0, loss_type)
        hundreds = torch.tensor([1.0, -1.0] * 4) * (150 + 500 * torch.rand(8, generator=generator)).round()
        rows = with_ratio(logps(8, 400.0).round(), hundreds)
        yield case(f"{loss_type}, log-ratios of hundreds", rows, 0.75, loss_type)
        yield case(f"{loss_type}, no pairs", logps(0, 1.0), 0.2, loss_type)
        # Player and opponent are the same model when an iteration starts.
        same = logps(3, 2.0)
        same[2:] = same[:2]
        yield case(f"{loss_type}, at the opponent", same, 0.35, loss_type)
        yield {**case(f"{loss_type}, free by position", logps(4, 2.0), 0.25, loss_type), "options": [True]}
    yield {**case("first iteration", logps(4, 2.0), 0.25), "iteration": 0}
    yield {**case("last iteration", logps(4, 2.0), 0.45, "hinge"), "iteration": 2}
    yield {
        **case("settings of the trainer changed", logps(5, 2.0), 0.15),
        "overrides": {"beta": 0.6, "loss_type": "hinge"},
    }
    yield {**case("no gradients wanted", logps(4, 3.0), 0.4), "frozen": True}
    for loss_type in ("logistic", "ipo", "Hinge", ""):
        yield case(f"unknown loss {loss_type!r}", logps(2, 2.0), 0.3, loss_type)
    yield case("unknown loss, reference free", logps(2, 2.0), 0.3, "exponential", reference_free=True)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from spin.alignment.configs import SPINConfig
    from spin.alignment.model import build_model
    from spin.alignment.trainer import SPINTrainer

    betas = tuple(case["betas"])
    config = SPINConfig(betas=betas, learning_rates=(1e-3,) * len(betas), loss_type=case["loss_type"])
    trainer = SPINTrainer(build_model(0), config)
    trainer.start_iteration(case["iteration"])
    for key, value in case.get("overrides", {}).items():
        setattr(trainer, key, value)
    leaves = [row.clone().requires_grad_("frozen" not in case) for row in case["logps"]]
    # Copies that are no leaves can be changed in place, as the log-probabilities of a model could be.
    inputs = [leaf.clone() for leaf in leaves]
    try:
        if isinstance(case["options"], list):
            results = trainer.spin_loss(*inputs, *case["options"])
        else:
            results = trainer.spin_loss(*inputs, **case["options"])
    except ValueError:
        return {"raises": "ValueError", "inputs_afterwards": inputs}
    losses, real_rewards, generated_rewards = results
    observation = {
        "losses": losses,
        "real_rewards": real_rewards,
        "generated_rewards": generated_rewards,
        "have_gradients": [result.requires_grad for result in results],
        "inputs_afterwards": inputs,
        "trainer_afterwards": [trainer.beta, trainer.loss_type],
    }
    if losses.requires_grad:
        # Weights tell a loss a pair from a mean. What flows to the opponent is of no account: it is frozen.
        weights = torch.arange(1, losses.numel() + 1, dtype=losses.dtype)
        gradients = torch.autograd.grad((losses * weights).sum(), leaves[:2], materialize_grads=True)
        observation["gradients"] = dict(zip(("policy_real_logps", "policy_generated_logps"), gradients, strict=True))
    return observation
