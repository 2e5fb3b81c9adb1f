"""Settings of the model, of its training, and of decoding."""

from dataclasses import dataclass

FILTERED_SCORE = -1000.0
"""The score of a token that the plausibility constraint rules out: low, but finite."""


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the transformer. `heads` divides `hidden`, and the size of a head is even."""

    vocab_size: int
    pad_id: int
    num_layers: int = 4
    hidden: int = 24
    heads: int = 2
    feedforward: int = 48
    norm_eps: float = 1e-6
    rotary_base: float = 100.0
    seed: int = 0


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained.

    early_exit_weight: weight of the loss of the early exits beside the loss of the last layer.
    """

    steps: int = 14
    learning_rate: float = 0.03
    warmup: int = 3
    early_exit_weight: float = 1.0
    clip_norm: float = 1.0


@dataclass(frozen=True)
class DolaConfig:
    """Settings of decoding by contrasting layers.

    mature_layer: the layer whose prediction is contrasted; at most the number of the model's layers.
    candidate_layers: the layers that may become premature layer, in any order. Layer 0 is the word embeddings.
    relative_top: the paper's alpha.
    min_tokens_to_keep: as many of a row's most likely tokens pass the plausibility constraint at least.
    max_length: the most tokens that a row may have, its prompt and its padding included.
    eos_ids: the tokens that end a row; none of them, and a row never ends.
    pad_id: what stands before shorter prompts and after rows that have ended.
    """

    mature_layer: int
    candidate_layers: tuple[int, ...]
    max_length: int
    pad_id: int
    eos_ids: tuple[int, ...] = ()
    relative_top: float = 0.1
    min_tokens_to_keep: int = 1

    def __post_init__(self) -> None:
        if not self.candidate_layers or len(set(self.candidate_layers)) < len(self.candidate_layers):
            raise ValueError("there must be candidate layers, and each of them once")
        if min(self.candidate_layers) < 0 or max(self.candidate_layers) >= self.mature_layer:
            raise ValueError("candidate layers lie below the mature layer")
        if not 0 <= self.relative_top <= 1:
            raise ValueError("relative_top lies between 0 and 1")
        if self.min_tokens_to_keep < 1:
            raise ValueError("at least one token is kept")
