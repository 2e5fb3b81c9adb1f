"""The formulas of sections 4.1 and 4.3 as they stand, in the dtype of the inputs."""


class DoraLinearLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        return (transpose(weight, self.fan_in_fan_out) + scaling * lora_weight).norm(dim=1)

    def update_layer(self, *, base_layer, lora_A, lora_B, scaling, place_on_cpu=False):
        update = lora_B.flatten(1) @ lora_A.flatten(1)
        if lora_A.dim() == 4:
            update = update.reshape(base_layer.weight.shape)
        self.weight = nn.Parameter(self.get_weight_norm(base_layer.weight, update, scaling).detach())

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        weight = base_layer.weight
        norm = self.get_weight_norm(weight, lora_B.weight @ lora_A.weight, scaling).detach()
        scale = self.weight / norm
        return (scale - 1) * F.linear(x, transpose(weight, self.fan_in_fan_out)) + scale * scaling * lora_B(lora_A(x))


class DoraEmbeddingLayer:
    def forward(self, x, *, lora_A, lora_B, scaling, base_layer, embed_fn):
        scale = self.weight / self.get_weight_norm(base_layer.weight, (lora_A @ lora_B).T, scaling).detach()
        return scale, scale * scaling * (embed_fn(x, lora_A) @ lora_B)


class DoraConv2dLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        return (weight + scaling * lora_weight).flatten(1).norm(dim=1).view(1, -1, 1, 1)

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        weight = base_layer.weight
        update = (lora_B.weight.flatten(1) @ lora_A.weight.flatten(1)).reshape(weight.shape)
        scale = self.weight / self.get_weight_norm(weight, update, scaling).detach()
        frozen = F.conv2d(x, weight, None, base_layer.stride, base_layer.padding, base_layer.dilation)
        return (scale - 1) * frozen + scale * scaling * lora_B(lora_A(x))
