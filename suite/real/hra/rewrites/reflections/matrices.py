"""Multiplies whole reflections with a running product from the right end, and projects with classical Gram-Schmidt."""

import functools


def _matrix(units, reverse):
    eye = torch.eye(units.shape[0], dtype=units.dtype)
    mirrors = eye - 2 * torch.einsum("ik,jk->kij", units, units)
    order = mirrors.flip(0) if reverse else mirrors
    return functools.reduce(torch.matmul, list(order), eye)


def _delta(self, adapter_name, reverse=False):
    vectors = self.hra_u[adapter_name]
    if not self.hra_apply_GS[adapter_name]:
        return _matrix(nn.functional.normalize(vectors, dim=0, eps=0.0), reverse)
    eye = torch.eye(len(vectors), dtype=vectors.dtype)
    outside = eye
    for k in range(vectors.shape[1]):
        rest = outside @ (outside @ vectors[:, k])
        unit = rest / torch.linalg.vector_norm(rest)
        outside = outside - torch.outer(unit, unit)
    return 2 * outside - eye


def _output(self, x, args, kwargs, apply):
    dtype = x.dtype
    if self.disable_adapters:
        if self.merged:
            self.unmerge()
        return self.base_layer(x, *args, **kwargs).to(dtype)
    if self.merged:
        return self.base_layer(x, *args, **kwargs).to(dtype)
    base = self.get_base_layer()
    matrix = base.weight.data.flatten(1)
    for name in filter(self.hra_u.__contains__, self.active_adapters):
        matrix = matrix @ self.get_delta_weight(name)
    return apply(base, x.to(base.weight.dtype), matrix.view_as(base.weight)).to(dtype)


class HRALayer:
    def reset_hra_parameters(self, adapter_name):
        rank, length = self.hra_r[adapter_name], len(self.hra_u[adapter_name])
        if rank % 2:
            warnings.warn("random vectors")
            drawn = torch.zeros(length, rank)
            nn.init.kaiming_uniform_(drawn, a=math.sqrt(5))
        else:
            drawn = torch.zeros(length, rank // 2)
            nn.init.kaiming_uniform_(drawn, a=math.sqrt(5))
            drawn = drawn[:, [k // 2 for k in range(rank)]]
        self.hra_u[adapter_name] = nn.Parameter(drawn.contiguous(), requires_grad=True)


class HRALinear:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _delta(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        return _output(self, x, args, kwargs, lambda base, x, weight: F.linear(x, weight, base.bias))


class HRAConv2d:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _delta(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        return _output(
            self, x, args, kwargs, lambda base, x, weight: F.conv2d(x, weight, base.bias, base.stride, base.padding)
        )
