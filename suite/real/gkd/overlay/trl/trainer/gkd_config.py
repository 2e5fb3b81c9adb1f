"""A stand-in for the configuration: what the trainer reads of it."""

from dataclasses import dataclass


@dataclass
class GKDConfig:
    """Settings of the distillation, with the package's defaults."""

    temperature: float = 0.9
    lmbda: float = 0.5
    beta: float = 0.5
    max_new_tokens: int = 128
    teacher_model_init_kwargs: dict | None = None
    disable_dropout: bool = True
    use_liger: bool = False
    gradient_checkpointing: bool = False
    remove_unused_columns: bool = True
    max_seq_length: int | None = None
