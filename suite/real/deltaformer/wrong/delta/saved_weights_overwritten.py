"""Overwrites the weights that its backward pass has saved, so that a second pass is wrong."""

import math

import torch


def tril_softmax(scores, strict=True):
    length = scores.shape[-1]
    seen = torch.ones(length, length, dtype=torch.bool, device=scores.device).tril(-1 if strict else 0)
    masked = scores.masked_fill(~seen, float("-inf"))
    top = masked.detach().amax(dim=-1, keepdim=True)
    top = top.masked_fill(top == float("-inf"), 0.0)
    powers = (masked - top).exp()
    total = powers.sum(dim=-1, keepdim=True)
    total = total.masked_fill(total == 0, 1.0)
    return powers / total


class _Weights(torch.autograd.Function):
    """The causal softmax, with a gradient that needs no memory of its own."""

    @staticmethod
    def forward(ctx, scores, strict):
        weights = tril_softmax(scores, strict)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, gradient):
        (weights,) = ctx.saved_tensors
        inner = (gradient * weights).sum(dim=-1, keepdim=True)
        buffer = weights.data
        buffer.mul_(gradient - inner)
        return buffer, None


def naive_deltaformer_attn(q, k, v, beta=None):
    assert q.dim() == 4, "q,k,v must be [B,T,H,D]"
    assert k.shape == v.shape == q.shape, "q,k,v must be [B,T,H,D]"
    assert beta is None or beta.shape == q.shape[:3], "beta must be [B,T,H]"
    queries, keys, values = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(q.shape[-1])
    write = _Weights.apply(scores, True)
    if beta is not None:
        write = write * beta.transpose(1, 2).unsqueeze(-1)
    system = write + torch.eye(q.shape[1], dtype=write.dtype, device=write.device)
    u = torch.linalg.solve_triangular(system, values, upper=False)
    return (_Weights.apply(scores, False) @ u).transpose(1, 2)
