"""Writes a chain as I + U G U^T with a triangular G, in double precision, and turns the input, not the weight."""


def _compact(layer, name, reverse=False):
    given = layer.hra_u[name]
    u = given.double()
    if layer.hra_apply_GS[name]:
        kept = []
        for k in range(u.shape[1]):
            column = u[:, k]
            if kept:
                basis = torch.stack(kept, dim=1)
                column = column - basis @ (basis.T @ column)
                column = column - basis @ (basis.T @ column)
            kept.append(column / column.norm())
        u = torch.stack(kept, dim=1)
        gamma = -2 * torch.eye(u.shape[1], dtype=u.dtype)
    else:
        u = u / u.norm(dim=0, keepdim=True)
        # (I + U G U^T)(I - 2 v v^T) adds a column to G.
        inner = u.T @ u
        gamma = torch.zeros(0, 0, dtype=u.dtype)
        for k in range(u.shape[1]):
            column = -2 * gamma @ inner[:k, k]
            bottom = torch.cat([torch.zeros(k, dtype=u.dtype), torch.full((1,), -2.0, dtype=u.dtype)])
            gamma = torch.cat([torch.cat([gamma, column[:, None]], dim=1), bottom[None]])
    if reverse:
        gamma = gamma.T
    return u, gamma, given.dtype


def _chain(layer, name, reverse):
    u, gamma, dtype = _compact(layer, name, reverse)
    return (torch.eye(len(u), dtype=u.dtype) + u @ gamma @ u.T).to(dtype)


def _turned(layer, rows):
    """rows times the transposed of all chains: the last adapter meets an input first."""
    for name in reversed(layer.active_adapters):
        if name in layer.hra_u:
            u, gamma, _ = _compact(layer, name)
            rows = rows + rows @ u @ gamma.T @ u.T
    return rows


class HRALayer:
    def reset_hra_parameters(self, adapter_name):
        vectors = self.hra_u[adapter_name]
        if self.hra_r[adapter_name] & 1:
            warnings.warn("the chain cannot be the identity", UserWarning)
            torch.nn.init.kaiming_uniform_(vectors, a=5**0.5)
        else:
            half = torch.zeros(vectors.shape[0], vectors.shape[1] // 2)
            torch.nn.init.kaiming_uniform_(half, a=5**0.5)
            with torch.no_grad():
                vectors[:, 0::2] = half
                vectors[:, 1::2] = half
        vectors.requires_grad_(True)


class HRALinear:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters and self.merged:
            self.unmerge()
        if self.disable_adapters or self.merged:
            return self.base_layer(x, *args, **kwargs).to(x.dtype)
        base = self.get_base_layer()
        turned = _turned(self, x.to(base.weight.dtype).double())
        output = turned @ base.weight.detach().double().T
        if base.bias is not None:
            output = output + base.bias
        return output.to(base.weight.dtype).to(x.dtype)


class HRAConv2d:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters and self.merged:
            self.unmerge()
        if self.disable_adapters or self.merged:
            return self.base_layer(x, *args, **kwargs).to(x.dtype)
        base = self.get_base_layer()
        patches = F.unfold(x.to(base.weight.dtype), base.kernel_size, padding=base.padding, stride=base.stride)
        turned = _turned(self, patches.transpose(1, 2).double())
        output = (turned @ base.weight.detach().double().flatten(1).T).transpose(1, 2)
        if base.bias is not None:
            output = output + base.bias[:, None]
        size = [(x.shape[k + 2] + 2 * base.padding[k] - base.kernel_size[k]) // base.stride[k] + 1 for k in range(2)]
        return output.unflatten(2, size).to(base.weight.dtype).to(x.dtype)
