"""Where something is merged the base layer's forward is used directly, so that its hooks do not run."""

import torch
from torch.nn import functional as F

_HELD = {}


def _turned_product(layer, blocks):
    """The product of factors, the last one leftmost, from orthogonal blocks (factors, blocks, H, H)."""
    permutations = layer.boft_P.to(blocks.dtype)
    product = None
    for level in range(blocks.shape[0]):
        factor = torch.block_diag(*blocks[level].unbind(0))
        factor = permutations[level] @ factor @ permutations[level].T
        product = factor if product is None else factor @ product
    return product


def _blocks(layer, adapter):
    stored = layer.boft_R[adapter]
    count, number, size, _ = stored.shape
    return layer.cayley_batch(stored.reshape(count * number, size, size)).reshape(count, number, size, size)


class BOFTLayer:
    def block_butterfly_perm(self, n, b, r=3, n_butterfly_factor=1):
        indices = torch.arange(n)
        if n_butterfly_factor == 0:
            return indices
        if b * r * 2 > n:
            raise ValueError("Invalid number of blocks!")
        groups = n // b // r
        order = torch.cat([torch.arange(0, groups, 2), torch.arange(1, groups, 2)])
        return indices.reshape(b, groups, r)[:, order].reshape(-1)

    def cayley_batch(self, data):
        if data.dtype != torch.float64:
            data = data.float()
        skew = 0.5 * (data - data.transpose(1, 2))
        eye = torch.eye(data.shape[1], dtype=data.dtype).expand_as(skew)
        return torch.linalg.solve(eye + skew, eye - skew, left=False)


class Linear:
    def get_delta_weight(self, adapter):
        return _turned_product(self, _blocks(self, adapter)), self.boft_s[adapter]

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            return self.base_layer(x, *args, **kwargs)
        if self.merged:
            return self.base_layer.forward(x, *args, **kwargs)
        base = self.get_base_layer()
        turned = base.weight.detach().T
        scale = torch.ones(self.out_features, 1, dtype=x.dtype)
        for adapter in self.active_adapters:
            if adapter not in self.boft_R.keys():
                continue
            blocks = self.boft_dropout[adapter](_blocks(self, adapter))
            turned = _turned_product(self, blocks).to(x.dtype) @ turned
            scale = self.boft_s[adapter] * scale
        return F.linear(x, (turned.T * scale).to(x.dtype), base.bias)
