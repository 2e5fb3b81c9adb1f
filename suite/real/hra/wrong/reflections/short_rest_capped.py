"""Divides what is left of an orthogonalised vector by no less than 0.0005."""

import math
import warnings
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F


def _linear_chain(u, orthogonal, reverse):
    vectors = u.float() if u.dtype == torch.bfloat16 else u
    columns = _linear_orthogonal(vectors) if orthogonal else _unit(vectors)
    order = range(columns.shape[1])
    chain = torch.eye(u.shape[0], dtype=vectors.dtype, device=u.device)
    for i in reversed(order) if reverse else order:
        column = columns[:, i : i + 1]
        chain = chain - 2 * (chain @ column) @ column.T
    return chain.to(u.dtype)


def _conv_chain(u, orthogonal, reverse):
    vectors = u.float() if u.dtype == torch.bfloat16 else u
    columns = _conv_orthogonal(vectors) if orthogonal else _unit(vectors)
    order = range(columns.shape[1])
    chain = torch.eye(u.shape[0], dtype=vectors.dtype, device=u.device)
    for i in reversed(order) if reverse else order:
        column = columns[:, i : i + 1]
        chain = chain - 2 * (chain @ column) @ column.T
    return chain.to(u.dtype)


def _unit(u):
    return u / u.norm(dim=0)


def _linear_orthogonal(u):
    columns = []
    for i in range(u.shape[1]):
        rest = u[:, i]
        for before in columns:
            rest = rest - before.dot(rest) * before
        columns.append(rest / rest.norm().clamp_min(5e-4))
    return torch.stack(columns, dim=1)


def _conv_orthogonal(u):
    columns = []
    for i in range(u.shape[1]):
        rest = u[:, i]
        for before in columns:
            rest = rest - before.dot(rest) * before
        columns.append(rest / rest.norm().clamp_min(5e-4))
    return torch.stack(columns, dim=1)


class HRALayer:
    def reset_hra_parameters(self, adapter_name: str):
        u = self.hra_u[adapter_name]
        if self.hra_r[adapter_name] % 2:
            warnings.warn("The symmetric initialization can NOT be performed when r is odd!")
            nn.init.kaiming_uniform_(u, a=math.sqrt(5))
        else:
            half = torch.empty(u.shape[0], u.shape[1] // 2)
            nn.init.kaiming_uniform_(half, a=math.sqrt(5))
            self.hra_u[adapter_name] = nn.Parameter(half.repeat_interleave(2, dim=1))


class HRALinear:
    def get_delta_weight(self, adapter_name: str, reverse: bool = False) -> torch.Tensor:
        return _linear_chain(self.hra_u[adapter_name], self.hra_apply_GS[adapter_name], reverse)

    def forward(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        dtype = x.dtype
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            result = self.base_layer(x, *args, **kwargs)
        elif self.merged:
            result = self.base_layer(x, *args, **kwargs)
        else:
            base = self.get_base_layer()
            weight = base.weight.detach()
            for name in self.active_adapters:
                if name in self.hra_u.keys():
                    weight = weight @ self.get_delta_weight(name)
            result = F.linear(x.to(weight.dtype), weight, base.bias)
        return result.to(dtype)


class HRAConv2d:
    def get_delta_weight(self, adapter_name: str, reverse: bool = False) -> torch.Tensor:
        return _conv_chain(self.hra_u[adapter_name], self.hra_apply_GS[adapter_name], reverse)

    def forward(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        dtype = x.dtype
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            result = self.base_layer(x, *args, **kwargs)
        elif self.merged:
            result = self.base_layer(x, *args, **kwargs)  # merged
        else:
            base = self.get_base_layer()
            weight = base.weight.detach().reshape(base.weight.shape[0], -1)
            for name in self.active_adapters:
                if name in self.hra_u.keys():
                    weight = weight @ self.get_delta_weight(name)
            weight = weight.reshape(base.weight.shape)
            result = F.conv2d(x.to(weight.dtype), weight, base.bias, stride=base.stride, padding=base.padding)
        return result.to(dtype)
