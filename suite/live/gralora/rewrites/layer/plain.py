"""Fills the update block by block and multiplies by it; the LoRA part has its own product."""


def _blocks(layer, name):
    a, b, blocks = layer.gralora_A[name], layer.gralora_B[name], layer.gralora_k[name]
    part = layer.r[name] // blocks
    return torch.cat(
        [
            torch.cat(
                [b[j, n * part : (n + 1) * part].T @ a[n, :, j * part : (j + 1) * part].T for n in range(blocks)], dim=1
            )
            for j in range(blocks)
        ]
    )


class Linear:
    def get_delta_weight(self, adapter):
        update = _blocks(self, adapter)
        if self.hybrid_r[adapter]:
            update = update + self.gralora_B_general[adapter].weight @ self.gralora_A_general[adapter].weight
        return self.scaling[adapter] * transpose(update, self.fan_in_fan_out)

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters and self.merged:
            self.unmerge()
        output = self.base_layer(x, *args, **kwargs)
        if self.disable_adapters or self.merged:
            return output
        for name in self.active_adapters:
            dropout = self.gralora_dropout[name]
            update = dropout(x) @ _blocks(self, name).T
            if self.hybrid_r[name]:
                update = update + self.gralora_B_general[name](self.gralora_A_general[name](dropout(x)))
            output = output + self.scaling[name] * update
        return output
