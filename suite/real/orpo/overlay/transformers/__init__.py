"""A stand-in: names that the trainer imports. No model of transformers is used here."""

from dataclasses import dataclass

from torch import nn

__all__ = [
    "AutoModelForCausalLM",
    "DataCollator",
    "PreTrainedModel",
    "PreTrainedTokenizerBase",
    "Trainer",
    "TrainingArguments",
    "is_torch_xla_available",
    "is_wandb_available",
]

DataCollator = object


class PreTrainedModel(nn.Module):
    """A name for annotations."""


class PreTrainedTokenizerBase:
    """A name for annotations."""


class AutoModelForCausalLM:
    """Would load a model by its name."""


class Trainer:
    """Would train. The toy trainer has a loop of its own."""

    def push_to_hub(self):
        """Would upload the model."""
        raise NotImplementedError


@dataclass
class TrainingArguments:
    """What all trainers' configurations have in common."""

    output_dir: str = ""


def is_wandb_available():
    """It is not."""
    return False


def is_torch_xla_available():
    """It is not."""
    return False
