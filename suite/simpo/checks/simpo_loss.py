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
        """Pairs thousands of nats apart either way, and of many magnitudes, after a tie."""
        extreme = -3000 - 1000 * torch.rand(2, 2, generator=generator, dtype=torch.float64)
        pairs = torch.cat([logps(batch - 2), extreme * torch.tensor([[0, 1], [1, 0]])], dim=1)
        pairs[:, 1:-2] *= 10.0 ** torch.linspace(-6, 2, batch - 3, dtype=torch.float64)
        return pairs

    def single(pairs, ratio):
        """A pair at the margin, and quarters: sums, and products with eighths, are exact in whatever order."""
        pairs = (4 * pairs).round() / 4
        pairs[0, 1] = pairs[1, 1] + ratio
        return pairs.float()

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
            "beta": (2 * integer(1, 19) + 1) / 8,
            "gamma_beta_ratio": integer(1, 12) / 4 * margin,
            "loss_type": loss_type,
            "label_smoothing": 0.49 * smoothed,
        }
        rows = single(wide(batch + 1), settings["gamma_beta_ratio"])
        yield {"name": f"{name}, float32", "logps": rows, "settings": settings, "changed": True}

    def settings(**more):
        return {"beta": uniform(1.5, 3.5), "gamma_beta_ratio": uniform(0.2, 0.6)} | more

    for loss_type in ("sigmoid", "hinge"):
        yield {
            "name": f"{loss_type}, small beta and large margin",
            "logps": 6 * logps(9),
            "settings": {"beta": 0.02, "gamma_beta_ratio": uniform(20, 40), "loss_type": loss_type},
        }
        for dtype in (torch.float16, torch.bfloat16):
            rows = logps(6).to(dtype)
            name = f"{loss_type}, {dtype}"
            chosen = settings(loss_type=loss_type, label_smoothing=0.1)
            yield {"name": name, "logps": rows, "settings": chosen, "coarse": True}
        for number in (0, 1):
            chosen = settings(loss_type=loss_type)
            yield {"name": f"{loss_type}, pairs: {number}", "logps": logps(number) - 0.1, "settings": chosen}
        name = f"{loss_type}, no gradients wanted"
        yield {"name": name, "logps": logps(4), "settings": settings(loss_type=loss_type), "frozen": [0, 1]}
    yield {"name": "gradients of the chosen alone", "logps": logps(5), "settings": settings(beta=1.0), "frozen": [1]}
    for loss_type in ("ipo", "exponential", "Sigmoid", "HINGE", " hinge", "", None):
        chosen = settings(loss_type=loss_type)
        yield {"name": f"loss type {loss_type!r}", "logps": logps(3), "settings": chosen}
    yield {"name": "defaults, by name", "logps": logps(5), "settings": {}, "by_name": True}
    yield {"name": "experiment", "seed": seed % 1000}


NAMES = ("policy_chosen_logps", "policy_rejected_logps")


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    given, frozen = case["logps"], case.get("frozen", ())
    trainer = trainer_of(case)
    leaves = [row.clone().requires_grad_(index not in frozen) for index, row in enumerate(given)]
    # Columns of a table, as the log-probabilities of a model may be; they can be changed in place.
    inputs = [torch.stack([leaf, leaf], dim=1)[:, 0] for leaf in leaves]
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
        return observation | {"message_names_the_loss_type": str(trainer.loss_type) in message}
    losses, chosen_rewards, rejected_rewards = results
    observation["rewards_have_gradients"] = [chosen_rewards.requires_grad, rejected_rewards.requires_grad]
    if case.get("coarse"):
        kinds = [[str(result.dtype), list(result.shape), bool(result.isfinite().all())] for result in results]
        return observation | {"kinds": kinds}
    numbers = {"losses": losses, "chosen_rewards": chosen_rewards, "rejected_rewards": rejected_rewards}
    wanted = [leaf for leaf in leaves if leaf.requires_grad and len(leaf)]
    if wanted:
        # Weights tell a loss a pair from a mean; a path that doesn't exist counts as a gradient of zero.
        weights = torch.linspace(0.5, 1, len(given[0]), dtype=losses.dtype)
        total = (losses * weights).sum()
        numbers["gradients"] = list(torch.autograd.grad(total, wanted, materialize_grads=True))
    else:
        observation["losses_have_gradients"] = len(given[0]) > 0 and losses.requires_grad
    return observation | {"double" if given.dtype == torch.float64 else "single": numbers}


def trainer_of(case):
    """A trainer of the case's settings; with `changed`, one that was made for others and called with both before."""
    from scripts.simpo_config import SimPOConfig
    from scripts.simpo_trainer import SimPOTrainer

    settings = case["settings"]
    if not case.get("changed"):
        return SimPOTrainer(None, SimPOConfig(**settings))
    other = {"sigmoid": "hinge", "hinge": "sigmoid"}[settings["loss_type"]]
    trainer = SimPOTrainer(None, SimPOConfig(beta=1.5, gamma_beta_ratio=0.9, loss_type=other, label_smoothing=0.3))
    trainer.simpo_loss(*(case["logps"].flip(1) - 1))
    for name, value in settings.items():
        setattr(trainer, name, value)
    trainer.simpo_loss(*(case["logps"].flip(1) - 1))
    return trainer
