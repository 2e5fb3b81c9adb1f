"""Stand-ins for helpers with groups of responses."""

import numpy as np
import torch

__all__ = ["as_torch_index", "group_mean_std"]


def as_torch_index(index, device=None):
    """Numbers of groups from 0, for labels of any kind."""
    return torch.as_tensor(np.unique(np.asarray(index), return_inverse=True)[1], device=device)


def group_mean_std(scores, groups, eps=1e-6, device=None):
    """Mean, standard deviation and size of each group of scores."""
    members = [scores[groups == group] for group in range(int(groups.max()) + 1)]
    means = torch.stack([some.mean() if len(some) > 1 else scores.new_tensor(0.0) for some in members])
    deviations = torch.stack([some.std() if len(some) > 1 else scores.new_tensor(1.0) for some in members])
    return means, deviations.clamp(min=eps), torch.tensor([len(some) for some in members])
