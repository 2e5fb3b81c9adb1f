"""In evaluation the chains of a linear layer are built without a graph."""

import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F


def _chain(u, orthogonal, reverse):
    wide = u.float() if u.dtype == torch.bfloat16 else u
    eye = torch.eye(u.shape[0], dtype=wide.dtype)
    if orthogonal:
        units = []
        for column in wide.unbind(1):
            for unit in units:
                column = column - (unit @ column) * unit
            units.append(column / column.norm())
        basis = torch.stack(units, 1)
        return (eye - 2 * basis @ basis.T).to(u.dtype)
    wide = wide / wide.norm(dim=0)
    columns = wide.unbind(1)
    result = eye
    for unit in reversed(columns) if reverse else columns:
        result = result - 2 * torch.outer(result @ unit, unit)
    return result.to(u.dtype)


class HRALayer:
    def reset_hra_parameters(self, adapter_name):
        shape = self.hra_u[adapter_name].shape
        count = self.hra_r[adapter_name]
        if count % 2:
            warnings.warn("With an odd number of vectors the chain cannot start as the identity.")
            start = torch.empty(shape[0], count, dtype=torch.float32)
            nn.init.kaiming_uniform_(start, a=math.sqrt(5))
        else:
            half = torch.empty(shape[0], count // 2, dtype=torch.float32)
            nn.init.kaiming_uniform_(half, a=math.sqrt(5))
            start = half.repeat_interleave(2, dim=1)
        self.hra_u[adapter_name] = nn.Parameter(start)


class HRALinear(nn.Module, HRALayer):
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self.hra_u[adapter_name], self.hra_apply_GS[adapter_name], reverse)

    def forward(self, x, *args, **kwargs):
        dtype = x.dtype
        base = self.get_base_layer()
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            result = self.base_layer(x.to(base.weight.dtype), *args, **kwargs)
        elif self.merged:
            result = self.base_layer(x.to(base.weight.dtype), *args, **kwargs)
        else:
            weight = base.weight.detach()
            with torch.set_grad_enabled(torch.is_grad_enabled() and self.training):
                for name in self.active_adapters:
                    if name in self.hra_u.keys():
                        weight = weight @ self.get_delta_weight(name)
            result = F.linear(x.to(weight.dtype), weight, base.bias)
        return result.to(dtype)


class HRAConv2d(nn.Module, HRALayer):
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self.hra_u[adapter_name], self.hra_apply_GS[adapter_name], reverse)

    def forward(self, x, *args, **kwargs):
        dtype = x.dtype
        base = self.get_base_layer()
        if self.disable_adapters and self.merged:
            self.unmerge()
        if self.disable_adapters or self.merged:
            result = self.base_layer(x.to(base.weight.dtype), *args, **kwargs)
        else:
            weight = base.weight.detach().flatten(1)
            for name in self.active_adapters:
                if name in self.hra_u.keys():
                    weight = weight @ self.get_delta_weight(name)
            kernels = weight.reshape(base.weight.shape)
            result = F.conv2d(x.to(weight.dtype), kernels, base.bias, base.stride, base.padding)
        return result.to(dtype)
