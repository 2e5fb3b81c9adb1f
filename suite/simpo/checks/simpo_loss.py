"""simpo_loss: losses, rewards, and which gradients flow, for every setting of the trainer; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def logps(batch):
        """Averages over tokens; the first pair is a tie, and the others fall on both sides of the margin."""
        pairs = -0.2 - 2.5 * torch.rand(2, batch, generator=generator, dtype=torch.float64)
        pairs[1, :1] = pairs[0, :1]
        return pairs

    def wide(batch):
        """Pairs up to 10,000 nats apart either way, and of many magnitudes, after a tie."""
        extreme = -9000 - 1000 * torch.rand(2, 2, generator=generator, dtype=torch.float64)
        pairs = torch.cat([logps(batch - 2), extreme * torch.tensor([[0, 1], [1, 0]])], dim=1)
        pairs[:, 1:-2] *= 10.0 ** torch.linspace(-6, 2, batch - 3, dtype=torch.float64)
        return pairs

    def single(pairs, ratio):
        """A pair at the margin, and quarters: sums, and products with eighths, are exact in whatever order."""
        pairs = (4 * pairs).round() / 4
        pairs[0, 1] = pairs[1, 1] + ratio
        return pairs.float()

    def integers(batch):
        """Sums of these, and products with eighths, are exact in half precision too."""
        return -torch.randint(0, 17, (2, batch), generator=generator).double()

    batch = integer(12, 40)
    for loss_type, smoothed, margin in product(("sigmoid", "hinge"), (False, True), (False, True)):
        name = f"{loss_type}{', smoothed' * smoothed}{', with a margin' * margin}"
        for size, low, high in (("small", -3, -1), ("large", 1, 1.5)):
            settings = {
                "beta": 10 ** uniform(low, high),
                "gamma_beta_ratio": 10 ** uniform(low, low + 0.5) * margin,
                "loss_type": loss_type,
                "label_smoothing": uniform(0.01, 0.49) * smoothed,
            }
            yield {"name": f"{name}, {size} beta", "logps": wide(batch), "settings": settings}
        settings = {
            # Odd numerators of at least three keep the excess of quarters off the corner of the hinge.
            "beta": (2 * integer(1, 19) + 1) / 8 * 2.0 ** integer(-8, 2),
            "gamma_beta_ratio": integer(1, 12) / 4 * margin,
            "loss_type": loss_type,
            "label_smoothing": (0.01, 0.49)[integer(0, 1)] * smoothed,
        }
        rows = single(wide(batch + 1), settings["gamma_beta_ratio"])
        yield {"name": f"{name}, float32", "logps": rows, "settings": settings, "changed": True}
        for dtype in (torch.float16, torch.bfloat16):
            settings = {
                "beta": (2 * integer(1, 3) + 1) / 8,
                "gamma_beta_ratio": float(integer(1, 2) * margin),
                "loss_type": loss_type,
                "label_smoothing": integer(1, 3) / 8 * smoothed,
            }
            yield {"name": f"{name}, {dtype}", "logps": integers(8).to(dtype), "settings": settings}

    def settings(**more):
        return {"beta": uniform(1.5, 3.5), "gamma_beta_ratio": uniform(0.2, 0.6)} | more

    for loss_type in ("sigmoid", "hinge"):
        yield {
            "name": f"{loss_type}, small beta and large margin",
            "logps": 6 * logps(9),
            "settings": {"beta": 0.02, "gamma_beta_ratio": uniform(20, 40), "loss_type": loss_type},
        }
        # Settings of which the loss knows nothing, and the same tensors, given before with other values.
        chosen = settings(loss_type=loss_type, label_smoothing=0.1, sft_weight=0.3, length_normalized=False)
        yield {"name": f"{loss_type}, again", "logps": logps(5), "settings": chosen, "again": True}
        for number in (0, 1):
            chosen = settings(loss_type=loss_type)
            yield {"name": f"{loss_type}, pairs: {number}", "logps": logps(number) - 0.1, "settings": chosen}
        name = f"{loss_type}, no gradients wanted"
        yield {"name": name, "logps": logps(4), "settings": settings(loss_type=loss_type), "frozen": [0, 1]}
    for side in (0, 1):
        name = f"gradients of {NAMES[1 - side]} alone"
        yield {"name": name, "logps": logps(5), "settings": settings(beta=1.0), "frozen": [side]}
    unknown = ("ipo", "exponential", "Sigmoid", "HINGE", " hinge", "  sigmoid  ", "hinge\n", "sig", "", None)
    for loss_type, (number, smoothing) in product(unknown, ((3, 0.0), (0, 0.0), (1, 0.1))):
        chosen = settings(loss_type=loss_type, label_smoothing=smoothing)
        name = f"loss type {loss_type!r}, pairs: {number}, smoothing: {smoothing}"
        yield {"name": name, "logps": logps(number), "settings": chosen}
    yield {"name": "defaults, by name", "logps": logps(5), "settings": {}, "by_name": True}
    yield {"name": "experiment", "seed": seed % 1000}


PRECISIONS = {torch.float64: "double", torch.float32: "single"}
NAMES = ("policy_chosen_logps", "policy_rejected_logps")


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    given, frozen = case["logps"], case.get("frozen", ())
    trainer = trainer_of(case)
    leaves = [row.clone().requires_grad_(index not in frozen) for index, row in enumerate(given)]
    # Columns of a table, as the log-probabilities of a model may be; they can be changed in place.
    inputs = leaves if "again" in case else [torch.stack([leaf, leaf], dim=1)[:, 0] for leaf in leaves]
    if "again" in case:
        for rows in (given.flip(1) - 1, given):
            with torch.no_grad():
                _ = [leaf.copy_(row) for leaf, row in zip(leaves, rows, strict=True)]
            torch.autograd.grad(trainer.simpo_loss(*inputs)[0].sum(), leaves)
    wanting, random_state, settings = [row.requires_grad for row in inputs], torch.get_rng_state(), dict(vars(trainer))
    named, message = dict(zip(NAMES, inputs, strict=True)), None
    try:
        results = trainer.simpo_loss(**named) if "by_name" in case else trainer.simpo_loss(*inputs)
    except ValueError as error:
        message = str(error)
    observation = {
        "raised": message is not None,
        "trainer_unchanged": vars(trainer) == settings,
        "random_state_unchanged": torch.equal(torch.get_rng_state(), random_state),
        "inputs_unchanged": [torch.equal(row, before) for row, before in zip(inputs, given, strict=True)],
        "inputs_want_gradients_as_before": [row.requires_grad for row in inputs] == wanting,
    }
    if message is not None:
        names = (str(trainer.loss_type), repr(trainer.loss_type))
        return observation | {"message_names_the_loss_type": any(name in message for name in names)}
    losses, chosen_rewards, rejected_rewards = results
    observation["rewards_have_gradients"] = [chosen_rewards.requires_grad, rejected_rewards.requires_grad]
    numbers = {"losses": losses, "chosen_rewards": chosen_rewards, "rejected_rewards": rejected_rewards}
    wanted = [leaf for leaf in leaves if leaf.requires_grad and len(leaf)]
    if wanted:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        weights = torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)
        total = (losses * weights).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, wanted, materialize_grads=True))
    else:
        observation["losses_have_gradients"] = len(given[0]) > 0 and losses.requires_grad
    return observation | {PRECISIONS.get(given.dtype, "half"): numbers}


def trainer_of(case):
    """A trainer of the case's settings; with `changed`, one that was made for others and called with both before."""
    from scripts.simpo_config import SimPOConfig
    from scripts.simpo_trainer import SimPOTrainer

    settings = case["settings"]
    if settings.get("loss_type", "hinge") not in ("sigmoid", "hinge"):
        # Set later, so that the configuration holds another one.
        trainer = SimPOTrainer(None, SimPOConfig(**settings | {"loss_type": "hinge"}))
        trainer.loss_type = settings["loss_type"]
        return trainer
    if not case.get("changed"):
        return SimPOTrainer(None, SimPOConfig(**settings))
    other = {"sigmoid": "hinge", "hinge": "sigmoid"}[settings["loss_type"]]
    trainer = SimPOTrainer(None, SimPOConfig(beta=1.5, gamma_beta_ratio=0.9, loss_type=other, label_smoothing=0.3))
    trainer.simpo_loss(*(case["logps"].flip(1) - 1))
    for name, value in settings.items():
        setattr(trainer, name, value)
    trainer.simpo_loss(*(case["logps"].flip(1) - 1))
    return trainer
