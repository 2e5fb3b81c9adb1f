"""Edge: Squares in half precision, which overflows."""

import torch
import torch.nn.functional as F
from peft.utils.integrations import dequantize_module_weight
from peft.utils.other import transpose
from torch import nn


class DoraLinearLayer(nn.Module):
    def get_weight_norm(self, weight, lora_weight, scaling):
        weight = transpose(weight, self.fan_in_fan_out)
        total = weight + scaling * lora_weight
        return total.square().sum(dim=1).sqrt()

    def update_layer(self, *, base_layer, lora_A, lora_B, scaling, place_on_cpu=False):
        with torch.no_grad():
            weight = dequantize_module_weight(base_layer)
            half = lora_A.dtype == torch.float16
            if half:
                lora_A, lora_B = lora_A.float(), lora_B.float()
            if weight.dim() > 2:
                update = lora_B.flatten(1) @ lora_A.flatten(1)
                update = update.reshape(weight.shape)
            else:
                update = lora_B @ lora_A
            if half:
                update = update.half()
            norm = self.get_weight_norm(weight, update, scaling)
        self.weight = nn.Parameter(norm.detach().clone(), requires_grad=True)

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        weight = dequantize_module_weight(base_layer).to(x.dtype)
        with torch.no_grad():
            update = lora_B.weight @ lora_A.weight
            norm = self.get_weight_norm(weight, update, scaling)
        factor = self.weight / norm
        frozen = F.linear(x, transpose(weight, self.fan_in_fan_out))
        result = (factor - 1) * frozen + factor * lora_B(lora_A(x)) * scaling
        return result.to(x.dtype)


class DoraEmbeddingLayer(DoraLinearLayer):
    def forward(self, x, *, lora_A, lora_B, scaling, base_layer, embed_fn):
        with torch.no_grad():
            norm = self.get_weight_norm(dequantize_module_weight(base_layer), (lora_A @ lora_B).T, scaling)
        factor = self.weight / norm
        return factor, factor * (embed_fn(x, lora_A) @ lora_B) * scaling


class DoraConv2dLayer(DoraLinearLayer):
    def get_weight_norm(self, weight, lora_weight, scaling):
        total = weight + scaling * lora_weight
        norm = torch.linalg.vector_norm(total, dim=(1, 2, 3)).to(total.dtype)
        return norm.reshape(1, -1, 1, 1)

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        weight = dequantize_module_weight(base_layer).to(x.dtype)
        with torch.no_grad():
            update = lora_B.weight.flatten(1) @ lora_A.weight.flatten(1)
            norm = self.get_weight_norm(weight, update.reshape(weight.shape), scaling)
        factor = self.weight / norm
        frozen = F.conv2d(x, weight, None, base_layer.stride, base_layer.padding, base_layer.dilation)
        result = (factor - 1) * frozen + factor * lora_B(lora_A(x)) * scaling
        return result.to(x.dtype)
