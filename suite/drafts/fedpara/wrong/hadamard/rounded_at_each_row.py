"""In bfloat16 gradients of w1b and w2b are added up row by row with a rounding at each of up to 200 rows."""

import torch

_HELD = {}


def _side(t, a, b):
    return torch.einsum("ijkl,ip,jq->pqkl", t, a, b)


def _core_grads(inner, t, a, b):
    """Gradients of a core and both of its factors, from that of the side they make."""
    by_a = torch.einsum("pqkl,ip->iqkl", inner, a)
    grad_t = torch.einsum("iqkl,jq->ijkl", by_a, b)
    grad_b = torch.einsum("iqkl,ijkl->jq", by_a, t)
    grad_a = torch.einsum("pqkl,ijkl,jq->ip", inner, t, b)
    return grad_t, grad_a, grad_b


def _turned(left, right):
    if left.dtype != torch.bfloat16:
        return left.T @ right
    total = torch.zeros(left.shape[1], right.shape[1], dtype=left.dtype)
    for one, other in zip(left, right):
        total = total + one[:, None] * other
    return total


class HadaWeight:
    @staticmethod
    def forward(ctx, w1a, w1b, w2a, w2b, scale=torch.tensor(1)):
        ctx.save_for_backward(w1a, w1b, w2a, w2b, scale)
        return (w1a @ w1b) * (w2a @ w2b) * scale

    @staticmethod
    def backward(ctx, grad_out):
        w1a, w1b, w2a, w2b, scale = ctx.saved_tensors
        grad_out = grad_out * scale
        inner = grad_out * (w2a @ w2b)
        grad_w1a, grad_w1b = inner @ w1b.T, _turned(w1a, inner)
        inner = grad_out * (w1a @ w1b)
        grad_w2a, grad_w2b = inner @ w2b.T, _turned(w2a, inner)
        return grad_w1a, grad_w1b, grad_w2a, grad_w2b, None


class HadaWeightCP:
    @staticmethod
    def forward(ctx, t1, w1a, w1b, t2, w2a, w2b, scale=torch.tensor(1)):
        ctx.save_for_backward(t1, w1a, w1b, t2, w2a, w2b, scale)
        return _side(t1, w1a, w1b) * _side(t2, w2a, w2b) * scale

    @staticmethod
    def backward(ctx, grad_out):
        t1, w1a, w1b, t2, w2a, w2b, scale = ctx.saved_tensors
        grad_out = grad_out * scale
        first = _core_grads(grad_out * _side(t2, w2a, w2b), t1, w1a, w1b)
        second = _core_grads(grad_out * _side(t1, w1a, w1b), t2, w2a, w2b)
        return *first, *second, None


class LoHaLayer:
    def get_delta_weight(self, adapter_name: str) -> torch.Tensor:
        factors = [item[adapter_name] for item in (self.hada_w1_a, self.hada_w1_b, self.hada_w2_a, self.hada_w2_b)]
        w1a, w1b, w2a, w2b = factors
        scale = torch.tensor(self.scaling[adapter_name])
        base_weight = self.get_base_layer().weight
        if adapter_name in self.hada_t1:
            weight = make_weight_cp(self.hada_t1[adapter_name], w1a, w1b, self.hada_t2[adapter_name], w2a, w2b, scale)
        else:
            weight = make_weight(w1a, w1b, w2a, w2b, scale)
        weight = weight.reshape(base_weight.shape)
        rank_dropout = self.rank_dropout[adapter_name]
        if self.training and rank_dropout:
            drawn = torch.rand(len(weight), dtype=torch.float32)
            stays = (drawn > rank_dropout).to(weight.dtype)
            stays = stays / stays.mean()
            weight = weight * stays.reshape(-1, *[1] * (weight.dim() - 1))
        return weight


def make_weight(w1a, w1b, w2a, w2b, scale):
    return HadaWeight.apply(w1a, w1b, w2a, w2b, scale)


def make_weight_cp(t1, w1a, w1b, t2, w2a, w2b, scale):
    return HadaWeightCP.apply(t1, w1a, w1b, t2, w2a, w2b, scale)
