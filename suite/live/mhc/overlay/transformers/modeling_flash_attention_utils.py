"""Stand-in for a type in annotations."""

from typing import TypedDict


class FlashAttentionKwargs(TypedDict, total=False):
    """Not used here."""
