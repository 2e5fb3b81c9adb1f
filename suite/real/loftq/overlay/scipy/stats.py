"""A stand-in: of SciPy's distributions the standard normal one, and of its methods the quantiles."""

from scipy.special import ndtri


class norm:
    """The standard normal distribution."""

    @staticmethod
    def ppf(q):
        """Return the quantile, or an array of them, for probabilities between 0 and 1."""
        return ndtri(q)
