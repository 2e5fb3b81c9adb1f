"""A stand-in for the configuration: the settings of hyper-connections."""

from dataclasses import dataclass


@dataclass
class DeepseekV4Config:
    """Sizes and constants.

    `hc_mult` is the number of streams, `hc_sinkhorn_iters` the number of iterations t_max, and `hc_eps` the small
    constant of the hyper-connections. `rms_norm_eps` is the one of the norm before their projection.
    """

    hidden_size: int = 16
    hc_mult: int = 4
    hc_sinkhorn_iters: int = 20
    hc_eps: float = 1e-6
    rms_norm_eps: float = 1e-6
