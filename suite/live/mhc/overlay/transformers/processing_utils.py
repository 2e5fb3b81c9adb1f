"""Stand-in for a name in annotations."""

from typing import Unpack

__all__ = ["Unpack"]
