"""The iterations of self-play (algorithm 1), and the baseline that goes on with supervised fine-tuning instead."""

from torch import Generator, Tensor

from spin.alignment.configs import SPINConfig
from spin.alignment.data import Example, Pair
from spin.alignment.model import TinyLM
from spin.alignment.trainer import SPINTrainer, supervised_loss, train_epochs
from spin.evaluate import distances
from spin.generate import generate


def self_play(model: TinyLM, examples: list[Example], args: SPINConfig, generator: Generator) -> list[dict[str, float]]:
    """Train the model in place; for each iteration the metrics of its last step, and the distances that it reached.

    From the second iteration on, the pairs of the iteration before are used again beside the new ones (section 6.1).
    """
    trainer = SPINTrainer(model, args)
    history, earlier = [], []
    for iteration in range(args.iterations):
        trainer.start_iteration(iteration)
        responses = generate(trainer.opponent, [example.prompt for example in examples], generator)
        fresh = [Pair(one.prompt, one.response, other) for one, other in zip(examples, responses, strict=True)]
        metrics = trainer.train(earlier + fresh, generator)
        history.append(metrics | distances(model))
        earlier = fresh
    return history


def continued_fine_tuning(
    model: TinyLM, examples: list[Example], args: SPINConfig, generator: Generator
) -> list[dict[str, float]]:
    """The baseline: nothing but the loss differs from `self_play`, and what it reports is the same but for rewards.

    As many updates, by the same optimizer at the same rates, on batches with as many demonstrations.
    """

    def batch_loss(batch: list[Example]) -> tuple[Tensor, dict[str, float]]:
        loss = supervised_loss(model, batch)
        return loss, {"loss": loss.item()}

    history = []
    for iteration, learning_rate in enumerate(args.learning_rates):
        # Self-play sees each demonstration in two pairs from its second iteration on.
        shown = examples * min(2, iteration + 1)
        metrics = train_epochs(model, shown, batch_loss, learning_rate, args, generator)
        history.append(metrics | distances(model))
    return history
