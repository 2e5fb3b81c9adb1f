"""A stand-in for the helpers of trl that GMPO imports."""

import torch


def get_config_model_id(config):
    """Return the name that the configuration of a model gives, or an empty string."""
    return getattr(config, "_name_or_path", "")


def nanmin(tensor: torch.Tensor) -> torch.Tensor:
    """Return the smallest value of a vector, leaving out NaN. NaN if there is no other."""
    known = tensor[~tensor.isnan()]
    return known.min() if len(known) else tensor.new_tensor(float("nan"))


def nanmax(tensor: torch.Tensor) -> torch.Tensor:
    """Return the largest value of a vector, leaving out NaN. NaN if there is no other."""
    known = tensor[~tensor.isnan()]
    return known.max() if len(known) else tensor.new_tensor(float("nan"))
