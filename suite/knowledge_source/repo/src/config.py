"""Settings of the framework, and the names that its modules share."""

from dataclasses import dataclass

# The parts of a layer whose activations are kept: the output of the MLP, its hidden layer, the output of the attention.
MODULES = ("mlp", "mlp_l1", "mhsa")

# The tokens of a probing prompt whose activations are kept (Section 4): the control, and the last token of the
# counter-knowledge object, of the subject in the query and of the relation in the query.
POSITIONS = ("first", "object", "subject_query", "relation_query")

# What a probe predicts. The third source of knowledge, which is neither, has no label.
LABELS = {"CK": 0, "PK": 1}
NOT_DEFINED = "ND"

# Of the examples of a relation a prompt shows this many, the first ones.
NB_EXAMPLES_SHOWN = 1


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    strength: the range in which the model's confidence in a fact lies; copying from the context has the strength 1.
    """

    nb_subjects: int = 6
    string_similarity_ratio: float = 0.8
    nb_counter_parametric_knowledge: int = 2
    max_gen_tokens: int = 10
    width: int = 16
    hidden: int = 64
    noise: float = 0.03
    strength: tuple[float, float] = (0.45, 1.45)
    seed: int = 0


def activation_column(module: str, position: str) -> str:
    """The column of prompting results that holds, for each prompt, an array (layers, width of the module)."""
    return f"{position}_{module}_activations"
