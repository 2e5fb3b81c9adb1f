"""Splits the ranks of both factors into two axes, one for the other side's blocks, and contracts all at once."""


def _split(layer, name):
    count = layer.gralora_k[name]
    # a: input block, channel, output block, rank; b: output block, input block, rank, channel.
    return layer.gralora_A[name].unflatten(2, (count, -1)), layer.gralora_B[name].unflatten(1, (count, -1))


class Linear:
    def get_delta_weight(self, adapter):
        a, b = _split(self, adapter)
        dtype = a.dtype
        wide = torch.promote_types(dtype, torch.float32)
        delta = torch.einsum("nijs,jnso->joni", a.to(wide), b.to(wide)).flatten(2, 3).flatten(0, 1)
        if self.hybrid_r[adapter]:
            first, second = self.gralora_A_general[adapter].weight, self.gralora_B_general[adapter].weight
            delta = torch.addmm(delta, second.to(wide), first.to(wide))
        if self.fan_in_fan_out:
            delta = delta.mT
        return (delta * self.scaling[adapter]).to(dtype)

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            return self.base_layer(x, *args, **kwargs).to(x.dtype)
        output = self.base_layer(x, *args, **kwargs)
        if not self.merged:
            kind = output.dtype
            for name in self.active_adapters:
                if name in self.gralora_A:
                    a, b = _split(self, name)
                    drop, factor = self.gralora_dropout[name], self.scaling[name]
                    given = drop(x.to(a.dtype)).unflatten(-1, (self.gralora_k[name], -1))
                    output = output + factor * torch.einsum("...ni,nijs,jnso->...jo", given, a, b).flatten(-2).to(kind)
                    if self.hybrid_r[name] > 0:
                        narrow = drop(x.to(a.dtype)) @ self.gralora_A_general[name].weight.mT
                        output = output + factor * (narrow @ self.gralora_B_general[name].weight.mT).to(kind)
        return output.to(x.dtype)
