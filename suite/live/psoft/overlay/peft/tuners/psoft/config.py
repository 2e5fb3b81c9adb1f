"""A stand-in for the configuration of PSOFT, without the choice of modules in a model."""

from dataclasses import dataclass


@dataclass
class PsoftConfig:
    """The settings of one adapter.

    Args:
        r: The rank of the principal subspace.
        psoft_alpha: The numerator of the scaling factor, as in LoRA.
        psoft_dropout: The probability of dropout on the input of the adapter.
        fan_in_fan_out: Whether the base layer stores its weight as (inputs, outputs).
        ab_svd_init: How the singular values are shared between A and B: "psoft_init" or "pissa_init".
        psoft_svd: "full" for a full decomposition, "lowrank" for a randomised one.
        psoft_svd_lowrank_niter: The number of power iterations of the randomised decomposition.
        random_seed: The seed of the randomised decomposition.
        psoft_orth: Whether R is orthogonal (before the vectors) or a free matrix.
        psoft_mag_b: Whether a vector scales the output side of R.
        psoft_mag_a: Whether a vector scales the input side of R.
        use_cayley_neumann: Whether the inverse of the Cayley transform is replaced by a truncated series.
        num_cayley_neumann_terms: The number of terms of the truncated transform.
        cayley_neumann_eps: A bound for the Frobenius norm of Q in the truncated transform, or None.
        init_weights: Whether the adapter starts without effect.
    """

    r: int = 32
    psoft_alpha: float = 32
    psoft_dropout: float = 0.0
    fan_in_fan_out: bool = False
    ab_svd_init: str = "psoft_init"
    psoft_svd: str = "full"
    psoft_svd_lowrank_niter: int = 10
    random_seed: int = 0
    psoft_orth: bool = True
    psoft_mag_b: bool = True
    psoft_mag_a: bool = True
    use_cayley_neumann: bool = False
    num_cayley_neumann_terms: int = 5
    cayley_neumann_eps: float | None = None
    init_weights: bool = True
