"""Expands the square of the norm into its three terms in double precision, and convolves by unfolding."""


def _square(weight, update, scaling):
    weight, update = weight.double().flatten(1), update.double().flatten(1)
    parts = (weight * weight).sum(1), (weight * update).sum(1), (update * update).sum(1)
    return parts[0] + 2 * scaling * parts[1] + scaling * scaling * parts[2]


class DoraLinearLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        given = transpose(weight, self.fan_in_fan_out).detach()
        return _square(given, lora_weight, scaling).sqrt().to((given[:0] + lora_weight[:0]).dtype)

    def update_layer(self, *, base_layer, lora_A, lora_B, scaling, place_on_cpu=False):
        half = lora_A.dtype == torch.float16
        with torch.no_grad():
            a = lora_A.float() if half else lora_A
            b = lora_B.float() if half else lora_B
            rows = [sum(b[o].flatten()[r] * a[r] for r in range(len(a))) for o in range(len(b))]
            update = torch.stack(rows).to(lora_A.dtype)
            magnitudes = self.get_weight_norm(base_layer.weight.data, update, scaling)
        self.weight = torch.nn.Parameter(magnitudes)
        self.weight.requires_grad_(True)

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        frozen = transpose(base_layer.weight.detach(), self.fan_in_fan_out).to(x.dtype)
        a, b = lora_A.weight, lora_B.weight
        norm = _square(frozen, b.detach().double() @ a.detach().double(), scaling).sqrt().to(x.dtype)
        ratio = self.weight / norm
        turned = F.linear(F.linear(x, a), b * (scaling * ratio)[:, None])
        return turned + F.linear(x, frozen) * (ratio - 1)


class DoraEmbeddingLayer:
    def forward(self, x, *, lora_A, lora_B, scaling, base_layer, embed_fn):
        update = (lora_A.detach().double() @ lora_B.detach().double()).T
        norm = _square(base_layer.weight.detach().T, update, scaling).sqrt().to(lora_A.dtype)
        ratio = self.weight / norm
        return ratio, embed_fn(x, lora_A) @ (lora_B * (ratio * scaling))


class DoraConv2dLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        dtype = torch.result_type(weight, lora_weight)
        return _square(weight.detach(), lora_weight, scaling).sqrt().to(dtype).view(1, len(weight), 1, 1)

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        frozen = base_layer.weight.detach()
        a, b = lora_A.weight.flatten(1), lora_B.weight.flatten(1)
        norm = _square(frozen, b.detach().double() @ a.detach().double(), scaling).sqrt().to(x.dtype)
        ratio = self.weight.flatten() / norm
        size = base_layer.kernel_size
        columns = F.unfold(x, size, padding=base_layer.padding, stride=base_layer.stride)
        low = (b * scaling) @ (a @ columns)
        kept = frozen.flatten(1) @ columns
        whole = ratio[:, None] * low + (ratio - 1)[:, None] * kept
        height, width = (
            (x.shape[2 + n] + 2 * base_layer.padding[n] - size[n]) // base_layer.stride[n] + 1 for n in range(2)
        )
        return whole.unflatten(2, (height, width))
