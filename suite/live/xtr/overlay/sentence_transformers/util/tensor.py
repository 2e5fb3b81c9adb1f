"""A stand-in for the package's conversion of inputs."""

import numpy as np
import torch
from torch import Tensor


def _convert_to_tensor(values) -> Tensor:
    """A tensor as it is; an array, or a list of numbers, lists, arrays or tensors, as a tensor."""
    if isinstance(values, Tensor):
        return values
    if isinstance(values, list) and values and isinstance(values[0], Tensor):
        return torch.stack(values)
    return torch.from_numpy(np.array(values)) if not isinstance(values, list) else torch.tensor(np.array(values))
