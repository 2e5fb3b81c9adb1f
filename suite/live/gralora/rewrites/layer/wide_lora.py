"""Lays the factors out as two sparse matrices of rank k r, and adds LoRA's to them."""

from torch.nn import functional as F


def _wide(layer, name, dtype):
    """Return (k r, inputs) and (outputs, k r), whose product is the grid's update."""
    a, b, count = layer.gralora_A[name].to(dtype), layer.gralora_B[name].to(dtype), layer.gralora_k[name]
    part = layer.r[name] // count
    down, up = [], []
    width, height = a.shape[1], b.shape[2]
    for n in range(count):
        for j in range(count):
            small = a[n, :, part * j : part * (j + 1)].T
            down.append(F.pad(small, (n * width, (count - 1 - n) * width)))
            small = b[j, part * n : part * (n + 1)]
            up.append(F.pad(small, (j * height, (count - 1 - j) * height)))
    return torch.cat(down), torch.cat(up).T


class Linear:
    def get_delta_weight(self, adapter):
        given = self.gralora_A[adapter].dtype
        down, up = _wide(self, adapter, torch.float64)
        if self.hybrid_r[adapter] > 0:
            down = torch.cat([down, self.gralora_A_general[adapter].weight.double()])
            up = torch.cat([up, self.gralora_B_general[adapter].weight.double()], dim=1)
        return transpose(self.scaling[adapter] * (up @ down), self.fan_in_fan_out).to(given)

    def forward(self, x, *args, **kwargs):
        off = self.disable_adapters
        if off and self.merged:
            self.unmerge()
        total = self.base_layer(x, *args, **kwargs)
        kind = total.dtype
        names = [] if off or self.merged else [name for name in self.active_adapters if name in self.gralora_A]
        for name in names:
            wanted = self.gralora_A[name].dtype
            down, up = _wide(self, name, wanted)
            total = total + (self.gralora_dropout[name](x.to(wanted)) @ down.T @ up.T * self.scaling[name]).to(kind)
            if self.hybrid_r[name] != 0:
                given = self.gralora_dropout[name](x.to(wanted))
                total = total + (
                    self.gralora_B_general[name](self.gralora_A_general[name](given)) * self.scaling[name]
                ).to(kind)
        return total.to(x.dtype)
