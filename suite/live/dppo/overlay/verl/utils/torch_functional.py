"""Stand-ins for sums and means of the values that a mask selects."""

import torch


def masked_sum(values, mask, axis=None):
    """The sum of the values where the mask is not 0. Others do not count, even if they are NaN."""
    return torch.where(mask.bool(), values * mask, 0.0).sum(axis)


def masked_mean(values, mask, axis=None):
    """The mean of the values where the mask is not 0."""
    return masked_sum(values, mask, axis) / (mask.sum(axis) + 1e-8)


def masked_whiten(values, mask, shift_mean=True):
    """Values with a mean of 0, unless `shift_mean` is false, and a variance of 1."""
    mean = masked_mean(values, mask)
    whitened = (values - mean) * torch.rsqrt(masked_mean((values - mean).square(), mask) + 1e-8)
    return whitened if shift_mean else whitened + mean
