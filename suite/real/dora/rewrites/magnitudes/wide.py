"""Computes norms in double precision, scales outputs, and takes the norm of a dot product of rows."""


def _length(weight, update, scaling):
    total = weight.double() + scaling * update.double()
    return torch.linalg.vector_norm(total.flatten(1), dim=1)


class DoraLinearLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        weight = weight.detach().T if self.fan_in_fan_out else weight.detach()
        return _length(weight, lora_weight, scaling).to(torch.promote_types(weight.dtype, lora_weight.dtype))

    def update_layer(self, *, base_layer, lora_A, lora_B, scaling, place_on_cpu=False):
        a, b = lora_A.detach(), lora_B.detach()
        product = (b.flatten(1).double() @ a.flatten(1).double()).to(a.dtype)
        if a.dim() == 4:
            product = product.unflatten(1, a.shape[1:])
        self.weight = nn.Parameter(self.get_weight_norm(base_layer.weight.detach(), product, scaling).detach())

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        weight = base_layer.weight.detach().to(x.dtype)
        if self.fan_in_fan_out:
            weight = weight.T
        with torch.no_grad():
            length = _length(weight, lora_B.weight.double() @ lora_A.weight.double(), scaling)
        scale = self.weight / length.to(self.weight.dtype)
        frozen = x @ weight.T
        low = lora_B(lora_A(x))
        return scale * (frozen + scaling * low) - frozen


class DoraEmbeddingLayer:
    def forward(self, x, *, lora_A, lora_B, scaling, base_layer, embed_fn):
        found = embed_fn(x, lora_A)
        product = torch.einsum("er,rd->de", lora_A.detach().double(), lora_B.detach().double())
        length = _length(base_layer.weight.detach().T, product, scaling).to(self.weight.dtype)
        scale = torch.div(self.weight, length)
        return scale, scale * scaling * (found @ lora_B)


class DoraConv2dLayer:
    def get_weight_norm(self, weight, lora_weight, scaling):
        length = _length(weight.detach(), lora_weight, scaling)
        return length.to(torch.promote_types(weight.dtype, lora_weight.dtype))[None, :, None, None]

    def forward(self, x, *, lora_A, lora_B, scaling, base_layer):
        weight = base_layer.weight.detach()
        with torch.no_grad():
            product = (lora_B.weight.flatten(1).double() @ lora_A.weight.flatten(1).double()).reshape(weight.shape)
            length = _length(weight, product, scaling).to(weight.dtype).reshape(1, -1, 1, 1)
        scale = self.weight / length
        frozen = F.conv2d(x, weight, None, base_layer.stride, base_layer.padding, base_layer.dilation)
        return scale * (frozen + scaling * lora_B(lora_A(x))) - frozen
