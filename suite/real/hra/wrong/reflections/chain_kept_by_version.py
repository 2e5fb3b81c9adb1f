"""Without gradients keeps the chain by parameter and version, which a write to .data does not count."""

import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from peft.tuners.tuners_utils import BaseTunerLayer


def _orthogonal(u):
    columns = []
    for i in range(u.shape[1]):
        v = u[:, i]
        for w in columns:
            v = v - (w @ v) * w
        columns.append(v / v.norm())
    return torch.stack(columns, dim=1)


def _chain(layer, adapter_name, reverse=False):
    given = layer.hra_u[adapter_name]
    u = given.float() if given.dtype == torch.bfloat16 else given
    eye = torch.eye(u.shape[0], dtype=u.dtype)
    if layer.hra_apply_GS[adapter_name]:
        u = _orthogonal(u)
        return (eye - 2 * u @ u.T).to(given.dtype)
    u = u / u.norm(dim=0)
    result = eye
    for i in range(u.shape[1]):
        v = u[:, i : i + 1]
        result = result @ (eye - 2 * v @ v.T)
    return (result.T if reverse else result).to(given.dtype)


_KEPT = {}


def _kept_chain(layer, adapter_name, reverse):
    if torch.is_grad_enabled():
        return _chain(layer, adapter_name, reverse)
    u = layer.hra_u[adapter_name]
    state = (
        u._version,
        u.data_ptr(),
        u.dtype,
        u.shape,
        u.stride(),
        bool(layer.hra_apply_GS[adapter_name]),
        bool(reverse),
    )
    kept = _KEPT.get(id(u))
    if kept is None or kept[0] is not u or kept[1] != state:
        kept = _KEPT[id(u)] = (u, state, _chain(layer, adapter_name, reverse))
    return kept[2]


def _weight(layer):
    """The matrix of the base layer times the chains of its active adapters."""
    weight = layer.get_base_layer().weight.detach()
    matrix = weight.reshape(weight.shape[0], -1)
    for name in layer.active_adapters:
        if name not in layer.hra_u.keys():
            continue
        matrix = matrix @ layer.get_delta_weight(name)
    return matrix.reshape(weight.shape)


class HRALayer(BaseTunerLayer):
    def reset_hra_parameters(self, adapter_name: str):
        shape = self.hra_u[adapter_name].shape
        if self.hra_r[adapter_name] % 2:
            warnings.warn("An odd number of reflections can't be the identity at the start.")
            u = torch.empty(shape, dtype=torch.float32)
            nn.init.kaiming_uniform_(u, a=math.sqrt(5))
        else:
            half = torch.empty(shape[0], shape[1] // 2, dtype=torch.float32)
            nn.init.kaiming_uniform_(half, a=math.sqrt(5))
            u = half.repeat_interleave(2, dim=1)
        self.hra_u[adapter_name] = nn.Parameter(u, requires_grad=True)


class HRALinear(nn.Module, HRALayer):
    def get_delta_weight(self, adapter_name: str, reverse: bool = False) -> torch.Tensor:
        return _kept_chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        base = self.get_base_layer()
        dtype = x.dtype
        x = x.to(base.weight.dtype)
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            result = self.base_layer(x, *args, **kwargs)
        elif self.merged:
            result = self.base_layer(x, *args, **kwargs)
        else:
            result = F.linear(x, _weight(self), base.bias)
        return result.to(dtype)


class HRAConv2d(nn.Module, HRALayer):
    def get_delta_weight(self, adapter_name: str, reverse: bool = False) -> torch.Tensor:
        return _kept_chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        base = self.get_base_layer()
        dtype = x.dtype
        x = x.to(base.weight.dtype)
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            result = self.base_layer(x, *args, **kwargs)
        elif self.merged:
            result = self.base_layer(x, *args, **kwargs)
        else:
            result = F.conv2d(x, _weight(self), base.bias, stride=base.stride, padding=base.padding)
        return result.to(dtype)
