"""From a picture to what a model takes."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Transform:
    """Resize the shorter side, crop the centre, normalise the channels.

    Called with a picture of shape (height, width, 3) and type uint8, it returns a tensor of shape (3, side, side) and
    torch's default type, without a dimension for the batch.
    """

    side: int
    mean: tuple[float, float, float] = (0.48, 0.46, 0.41)
    std: tuple[float, float, float] = (0.27, 0.26, 0.28)

    def __call__(self, picture: NDArray[np.uint8]) -> Tensor:
        values = torch.tensor(picture).permute(2, 0, 1).to(torch.get_default_dtype()) / 255
        height, width = values.shape[1:]
        factor = self.side / min(height, width)
        if factor != 1:
            size = round(height * factor), round(width * factor)
            values = F.interpolate(values.unsqueeze(0), size=size, mode="bilinear", align_corners=False)[0]
        top, left = ((length - self.side) // 2 for length in values.shape[1:])
        values = values[:, top : top + self.side, left : left + self.side]
        return (values - torch.tensor(self.mean).view(3, 1, 1)) / torch.tensor(self.std).view(3, 1, 1)
