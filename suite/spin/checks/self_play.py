"""Self-play and its baseline, one function after the other. In double precision throughout."""

from contextlib import contextmanager

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def settings(number):
        """Those of a trainer: plain, hinge, without the opponent. Warm-ups are rounded up and down."""
        found = {"betas": tuple(uniform(0.2, 3) for _ in range(3)), "loss_type": "hinge" if number == 1 else "sigmoid"}
        found |= {"learning_rates": tuple(uniform(1e-3, 1e-2) for _ in range(3)), "reference_free": number == 2}
        return found | {"epochs": (2, 1, 2)[number], "batch_size": (4, 5, 3)[number], "warmup": (0.1, 0.2, 0.4)[number]}

    for kind in ("sigmoid", "hinge", "linear"):
        for options in ({}, {"reference_free": False}, {"reference_free": True}):
            logps = -6 * torch.rand(4, 7, generator=generator, dtype=torch.float64)
            found = {"loss_type": kind, "betas": (uniform(0.2, 2),), "learning_rates": (0.1,)}
            name = f"losses, {kind}, {options}"
            yield {"name": name, "logps": logps, "settings": found, "options": options}
    names = ("responses", "supervised", "fine-tuning", "distances", "start", "pass", "loss", "training")
    for stage in (*names, "epochs", "self-play", "baseline"):
        for number in range(3 if stage in ("loss", "training", "epochs", "self-play") else 1):
            found = {"name": f"{stage} {number}", "stage": stage, "seed": seed % 1000 + number}
            yield found | {"settings": settings(number), "rate": uniform(1e-3, 2e-2)}
    for options in ({}, {"longest": 1}, {"longest": 2}, {"longest": 7}):
        yield {"name": f"responses drawn, {options}", "stage": "generate", "seed": seed % 1000, "options": options}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    with double_precision():
        return losses(case) if "logps" in case else stage(case)


def losses(case):
    from spin.alignment.configs import SPINConfig
    from spin.alignment.model import build_model
    from spin.alignment.trainer import SPINTrainer

    trainer = SPINTrainer(build_model(0), SPINConfig(**case["settings"]))
    inputs = [row.clone().requires_grad_() for row in case["logps"]]
    try:
        found, real, generated = trainer.spin_loss(*inputs, **case["options"])
    except ValueError:
        return {"refused": True}
    gradients = torch.autograd.grad((found * torch.linspace(0.5, 1, len(found))).sum(), inputs[:2])
    detached = [not reward.requires_grad for reward in (real, generated)]
    return {"losses": found, "rewards": [real, generated], "gradients": list(gradients), "detached": detached}


def stage(case):
    from spin.alignment.data import demonstrations
    from spin.alignment.model import build_model

    generator = torch.Generator().manual_seed(case["seed"])
    examples, model = demonstrations(9, generator), build_model(case["seed"])
    with torch.no_grad():
        model.head.weight.mul_(3)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    found = {
        "responses": responses, "supervised": supervised, "fine-tuning": fine_tuning, "distances": reported,
        "start": start, "pass": forward, "loss": batch, "training": training, "epochs": epochs,
        "self-play": rounds, "baseline": baseline, "generate": drawn,
    }[case["stage"]](case, model, examples, generator)  # fmt: skip
    moved = [(now.detach() - then).flatten() for now, then in zip(model.parameters(), before, strict=True)]
    return found | {"moved": torch.cat(moved)[::7]}


def responses(case, model, examples, generator):
    from spin.alignment.data import WORDS, collate
    from spin.alignment.model import response_logps

    tokens, labels = collate(examples)
    # Whole rows count too, and rows of which the first token does.
    labels[:3] = torch.where(torch.rand(3, labels.shape[1], generator=generator) < 0.5, tokens[:3], -100)
    labels[0], labels[1, 0], tokens[3:5] = tokens[0], tokens[1, 0], len(WORDS) - 1
    logps = response_logps(model, tokens, labels)
    return {"logps": logps, "gradients": gradients((logps * torch.linspace(0.5, 1, len(logps))).sum(), model)}


def gradients(loss, model):
    found = torch.autograd.grad(loss, list(model.parameters()))
    return torch.cat([item.flatten() for item in found])[::7]


def supervised(case, model, examples, generator):
    from spin.alignment.trainer import supervised_loss

    loss = supervised_loss(model, examples)
    return {"loss": loss, "gradients": gradients(loss, model)}


def fine_tuning(case, model, examples, generator):
    from spin.alignment.configs import SFTConfig
    from spin.alignment.trainer import fine_tune

    fine_tune(model, examples, SFTConfig(steps=4, learning_rate=case["rate"]))
    return {}


def reported(case, model, examples, generator):
    from spin.evaluate import distances

    return {"distances": distances(model)}


def trained_against(case, model, examples, generator):
    """A trainer in its second iteration, whose main player has left the opponent behind; pairs; and the opponent."""
    from spin.alignment.configs import SPINConfig
    from spin.alignment.data import Pair, demonstrations
    from spin.alignment.trainer import SPINTrainer

    trainer = SPINTrainer(model, SPINConfig(**case["settings"]))
    disturb(model, generator)
    trainer.start_iteration(1)
    disturb(model, generator)
    others = demonstrations(len(examples), generator)
    pairs = [Pair(one.prompt, one.response, other.response) for one, other in zip(examples, others, strict=True)]
    return trainer, pairs


def disturb(model, generator):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)


def start(case, model, examples, generator):
    trainer, _ = trained_against(case, model, examples, generator)
    opponent = torch.cat([item.detach().flatten() for item in trainer.opponent.parameters()])
    return {"opponent": opponent[::7], "beta": trainer.beta, "learning_rate": trainer.learning_rate}


def forward(case, model, examples, generator):
    from spin.alignment.data import collate_pairs

    trainer, pairs = trained_against(case, model, examples, generator)
    found = {}
    for name, player in (("player", model), ("opponent", trainer.opponent)):
        found[name] = list(trainer.concatenated_forward(player, collate_pairs(pairs)))
    return found


def batch(case, model, examples, generator):
    trainer, pairs = trained_against(case, model, examples, generator)
    loss, metrics = trainer.batch_metrics(pairs)
    return {"loss": loss, "metrics": metrics, "gradients": gradients(loss, model)}


def training(case, model, examples, generator):
    trainer, pairs = trained_against(case, model, examples, generator)
    return {"metrics": trainer.train(pairs, generator)}


def epochs(case, model, examples, generator):
    from spin.alignment.configs import SPINConfig
    from spin.alignment.trainer import train_epochs

    def batch_loss(numbers):
        middle = sum(numbers) / len(numbers) / 10
        loss = sum(((parameter - middle) ** 2).sum() for parameter in model.parameters())
        return loss, {"items": float(sum(numbers)), "loss": loss.item()}

    args = SPINConfig(**case["settings"])
    return {"metrics": train_epochs(model, list(range(17)), batch_loss, case["rate"], args, generator)}


def rounds(case, model, examples, generator):
    from spin.alignment.configs import SPINConfig
    from spin.play import self_play

    return {"history": self_play(model, examples, SPINConfig(**case["settings"]), generator)}


def baseline(case, model, examples, generator):
    from spin.alignment.configs import SPINConfig
    from spin.play import continued_fine_tuning

    return {"history": continued_fine_tuning(model, examples, SPINConfig(**case["settings"]), generator)}


def drawn(case, model, examples, generator):
    from spin.generate import generate

    return {"responses": generate(model, [item.prompt for item in examples], generator, **case["options"])}
