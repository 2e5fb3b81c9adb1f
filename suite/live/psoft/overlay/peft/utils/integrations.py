"""A stand-in: no parameter is sharded here."""

from contextlib import nullcontext as gather_params_ctx

__all__ = ["gather_params_ctx"]
