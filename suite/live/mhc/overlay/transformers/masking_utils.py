"""Stand-in: no attention is computed here."""


def create_sliding_window_causal_mask(**kwargs):
    """Not done here."""
    raise NotImplementedError
