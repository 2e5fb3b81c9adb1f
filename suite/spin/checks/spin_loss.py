"""spin_loss: losses, rewards, and which gradients flow, for each loss function and setting; then the experiment."""

from itertools import product

import torch

OTHER = {"sigmoid": "hinge", "hinge": "sigmoid"}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def logps(batch, scale=40.0):
        return -scale * torch.rand(4, batch, generator=generator, dtype=torch.float64)

    def with_ratio(rows, ratio):
        """The main player's real log-probabilities replaced such that its log-ratio exceeds the opponent's by this."""
        return torch.cat([(ratio + rows[1] + rows[2] - rows[3])[None], rows[1:]])

    def wide(batch):
        """Pairs at the opponent, with log-probabilities down to -10,000 on either side, and of many magnitudes."""
        extreme = 9000 + 1000 * torch.rand(4, 2, generator=generator, dtype=torch.float64)
        sides = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]])
        pairs = torch.cat([logps(1).expand(4, 1), -sides * extreme, logps(batch - 3)], dim=1)
        pairs[:, 3:] *= 10.0 ** torch.linspace(-6, 1, batch - 3, dtype=torch.float64)
        return pairs

    def single(pairs):
        """Multiples of a quarter: sums, and products with eighths, are exact in whatever order they are taken."""
        return ((4 * pairs).round() / 4).float()

    def integers(batch):
        """Sums of these, and products with eighths, are exact in half precision too."""
        return -torch.randint(0, 9, (4, batch), generator=generator).double()

    def case(name, rows, beta, loss_type="sigmoid", **more):
        """The second of three iterations, whose beta is unlike the others."""
        betas = [1.6 * beta + 0.2, beta, 0.4 * beta]
        return {"name": name, "logps": rows, "betas": betas, "iteration": 1, "loss_type": loss_type, **more}

    batch = integer(12, 40)
    for loss_type, free in product(("sigmoid", "hinge"), (False, True)):
        name = f"{loss_type}, reference free {free}"
        options = {"reference_free": free}
        for size, low, high in (("small", -3, -1), ("large", 1, 1.5)):
            yield case(f"{name}, {size} beta", wide(batch), 10 ** uniform(low, high), loss_type, options=options)
        # Odd numerators of at least three keep margins of quarters off the corner of the hinge.
        beta = (2 * integer(1, 19) + 1) / 8 * 2.0 ** integer(-8, 3)
        yield case(f"{name}, float32", single(wide(batch + 1)), beta, loss_type, options=options, called_before=True)
        for dtype in (torch.float16, torch.bfloat16):
            beta = (2 * integer(1, 3) + 1) / 8
            yield case(f"{name}, {dtype}", integers(8).to(dtype), beta, loss_type, options=options)
        before = {"reference_free": not free}
        yield case(f"{name}, again", logps(5), uniform(0.01, 0.1), loss_type, options=options, before=before)
    # Margins on each side of the hinge and well away from it: below zero, between zero and one, above one.
    margins = torch.tensor([-4.0, -0.9, 0.3, 0.7, 1.5, 6.0], dtype=torch.float64)
    margins = margins + 0.2 * torch.rand(6, generator=generator, dtype=torch.float64)
    for loss_type, beta in product(("sigmoid", "hinge"), (0.002, 0.4, 40.0)):
        rows = with_ratio(logps(6), margins / beta)
        yield case(f"{loss_type}, both sides of the hinge, beta {beta}", rows, beta, loss_type)
    for loss_type in ("sigmoid", "hinge"):
        far = torch.cat([logps(8, 3.0)[:2], -9000 - 1000 * torch.rand(2, 8, generator=generator)]).float()
        name = f"{loss_type}, free of a far opponent"
        yield case(name, far, uniform(1, 3), loss_type, options={"reference_free": True})
        for number in (0, 1):
            yield case(f"{loss_type}, pairs: {number}", logps(number), uniform(0.1, 1), loss_type)
        yield case(f"{loss_type}, free by position", logps(5), uniform(0.1, 1), loss_type, options=[True])
        changed = {"beta": uniform(0.1, 1), "loss_type": loss_type}
        yield case(f"{loss_type}, trainer changed", logps(5), 0.15, OTHER[loss_type], overrides=changed)
    yield case("first iteration", logps(5), 0.25) | {"iteration": 0}
    yield case("last iteration", logps(5), 0.45, "hinge") | {"iteration": 2}
    yield case("all by name", logps(5), 0.6, by_name=True)
    yield case("no gradients wanted", logps(5), 1.0, frozen=[0, 1, 2, 3])
    yield case("gradients wanted of the opponent too", logps(5), 0.3, frozen=[])
    unknown = ("logistic", "ipo", "Hinge", "SIGMOID", " sigmoid", "sig", "hinge\n", "", None)
    for loss_type, number in product(unknown, (2, 0)):
        yield case(f"unknown loss {loss_type!r}, pairs: {number}", logps(number), 0.3, loss_type)
    for loss_type in ("ipo", None):
        yield case(f"unknown loss {loss_type!r} later", logps(2), 0.3, loss_type, called_before=True)
    yield case("unknown loss, reference free", logps(2), 0.3, "exponential", options={"reference_free": True})
    yield {"name": "experiment", "seed": seed % 1000}


PRECISIONS = {torch.float64: "double", torch.float32: "single"}
NAMES = ("policy_real_logps", "policy_generated_logps", "opponent_real_logps", "opponent_generated_logps")


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    given, options = case["logps"], case.get("options", {})
    trainer = trainer_of(case)
    frozen = case.get("frozen", (2, 3))
    leaves = [row.clone().requires_grad_(index not in frozen) for index, row in enumerate(given)]
    # Columns of a table, as the log-probabilities of a model may be; they can be changed in place.
    inputs = leaves if "before" in case else [torch.stack([leaf, leaf], dim=1)[:, 0] for leaf in leaves]
    if "before" in case:
        # The same tensors, before with other values and options; then their values change in place.
        earlier = given.flip(1) - 1
        calls = [(earlier, case["before"]), (earlier - 1, options)] * 2
        for number, (rows, chosen) in enumerate(calls):
            # No counter of versions sees what changes through `data`.
            _ = [leaf.data.copy_(row) for leaf, row in zip(leaves, rows, strict=True)]
            losses, *_ = trainer.spin_loss(*inputs, **chosen)
            # The last two stay without a way back.
            if number < 2:
                torch.autograd.grad(losses.sum(), leaves[:2])
        _ = [leaf.data.copy_(row) for leaf, row in zip(leaves, given, strict=True)]
    flags, random_state, settings = [flags_of(row) for row in inputs], torch.get_rng_state(), dict(vars(trainer))
    players = trainer.model.train(case["iteration"] != 2), trainer.opponent.train(case["iteration"] == 1)
    modes = [player.training for player in players]
    raised = False
    try:
        if isinstance(options, list):
            results = trainer.spin_loss(*inputs, *options)
        elif "by_name" in case:
            results = trainer.spin_loss(**dict(zip(NAMES, inputs, strict=True)))
        else:
            results = trainer.spin_loss(*inputs, **options)
    except ValueError:
        raised = True
    observation = {
        "raised": raised,
        "trainer_unchanged": vars(trainer) == settings,
        "modes_unchanged": [player.training for player in players] == modes,
        "random_state_unchanged": torch.equal(torch.get_rng_state(), random_state),
        "inputs_unchanged": [torch.equal(row, before) for row, before in zip(inputs, given, strict=True)],
        "flags_unchanged": [flags_of(row) for row in inputs] == flags,
    }
    if raised:
        return observation
    losses, real_rewards, generated_rewards = results
    observation["rewards_have_gradients"] = [real_rewards.requires_grad, generated_rewards.requires_grad]
    numbers = {"losses": losses, "real_rewards": real_rewards, "generated_rewards": generated_rewards}
    if inputs[0].requires_grad:
        # Weights tell a loss a pair from a mean. What flows to the opponent is of no account: it is frozen.
        weights = torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)
        gradients = torch.autograd.grad((losses * weights).sum(), leaves[:2], materialize_grads=True)
        numbers["gradients"] = dict(zip(NAMES, gradients, strict=False))
    else:
        observation["losses_have_gradients"] = losses.requires_grad
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}


def flags_of(row):
    return row.requires_grad, row.retains_grad, bool(row._backward_hooks)


def trainer_of(case):
    """A trainer in the case's iteration; its configuration holds the opposite of the case's reference_free."""
    from spin.alignment.configs import SPINConfig
    from spin.alignment.trainer import SPINTrainer

    betas, options = tuple(case["betas"]), case.get("options", {})
    free = isinstance(options, dict) and options.get("reference_free", False)
    rates = (1e-3,) * len(betas)
    # A setting that was read from a file is equal to the constant, and not the same object.
    loss_type = case["loss_type"] and "".join(list(case["loss_type"]))
    config = SPINConfig(betas=betas, learning_rates=rates, loss_type=loss_type, reference_free=not free)
    # The loss needs no model, and one without weights is copied fast when an iteration starts.
    trainer = SPINTrainer(torch.nn.Identity(), config)
    if case.get("called_before"):
        # In the first iteration with the other settings, then with the same ones and other log-probabilities.
        trainer.loss_type = OTHER.get(loss_type, "hinge")
        trainer.spin_loss(*(case["logps"].flip(1) - 1), reference_free=not free)
        trainer.loss_type = loss_type
        trainer.start_iteration(case["iteration"])
        if loss_type in OTHER:
            trainer.spin_loss(*(case["logps"].flip(1) - 2), reference_free=free)
    trainer.start_iteration(case["iteration"])
    for key, value in case.get("overrides", {}).items():
        setattr(trainer, key, value)
    return trainer
