"""The settings of the search, of the language model and of the games."""

from dataclasses import dataclass


@dataclass
class SearchConfig:
    """Settings of one tree search. They may be changed while a tree is in use.

    cpuct: how much selection explores, 0 or more. q_0: the value of an act that was never tried. num_mcts_sims: how
    many searches are made before an act is chosen. max_realizations: how many dialogues are kept for a node; once as
    many are, none is generated there any more. response_selection: whether the best of the kept utterances is said,
    or any of them.
    """

    cpuct: float = 1.0
    q_0: float = 0.0
    num_mcts_sims: int = 10
    max_realizations: int = 3
    response_selection: bool = True


@dataclass(frozen=True)
class PromptConfig:
    """How the language model is asked.

    prior_samples: acts that are sampled for a prior. value_samples: answers that are sampled for a value.
    value_temperature: how widely these answers spread. window: the number of turns that fit into a prompt.
    """

    prior_samples: int = 15
    value_samples: int = 10
    value_temperature: float = 1.1
    window: int = 12


@dataclass(frozen=True)
class GameConfig:
    """The rules of a dialogue.

    max_rounds: after as many rounds the persuader has no act left. patience: a persuadee who has declined as many
    times leaves.
    """

    max_rounds: int = 7
    patience: int = 2
