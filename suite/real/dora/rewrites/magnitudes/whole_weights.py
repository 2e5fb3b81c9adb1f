"""Builds the whole new weight where it can, with a constant in place of the norm, and takes the frozen output off."""


class DoraLinearLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        if self.fan_in_fan_out:
            weight = weight.detach().transpose(0, 1)
        total = weight + lora_weight * scaling
        wide = total.to(torch.promote_types(total.dtype, torch.float32))
        return wide.square().sum(dim=1).sqrt().to(total.dtype)

    def update_layer(self, *, base_layer, lora_A, lora_B, scaling, place_on_cpu=False):
        with torch.no_grad():
            dtype = lora_A.dtype
            wide = torch.promote_types(dtype, torch.float32) if dtype == torch.float16 else dtype
            a, b = lora_A.to(wide), lora_B.to(wide)
            update = torch.einsum("or,r...->o...", b.reshape(b.shape[:2]), a).to(dtype)
            norm = self.get_weight_norm(base_layer.weight, update, scaling)
        self.weight = nn.Parameter(norm.clone(), requires_grad=True)

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        frozen = base_layer.weight.detach().to(x.dtype)
        frozen = frozen.T if self.fan_in_fan_out else frozen
        update = scaling * (lora_B.weight @ lora_A.weight)
        direction = frozen + update
        length = direction.detach().pow(2).sum(1, keepdim=True).sqrt()
        changed = self.weight[:, None] / length * direction
        return torch.einsum("...i,oi->...o", x, changed - frozen).to(x.dtype)


class DoraEmbeddingLayer:
    def forward(self, x, *, lora_A, lora_B, scaling, base_layer, embed_fn):
        with torch.no_grad():
            length = (base_layer.weight + scaling * (lora_A @ lora_B)).pow(2).sum(dim=0).sqrt()
        scale = self.weight / length
        return scale, torch.matmul(embed_fn(x, lora_A), scaling * lora_B) * scale


class DoraConv2dLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        flat = (weight + scaling * lora_weight).flatten(1)
        wide = flat.to(torch.promote_types(flat.dtype, torch.float32))
        return wide.square().sum(1).sqrt().to(flat.dtype).reshape(1, -1, 1, 1)

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        frozen = base_layer.weight.detach()
        update = scaling * torch.einsum("or,rihw->oihw", lora_B.weight[:, :, 0, 0], lora_A.weight)
        length = (frozen + update).detach().square().sum((1, 2, 3)).sqrt()
        scale = (self.weight.flatten() / length).reshape(-1, 1, 1, 1)
        # A dilated kernel of one is the same kernel.
        return F.conv2d(x, scale * (frozen + update) - frozen, stride=base_layer.stride, padding=base_layer.padding)
