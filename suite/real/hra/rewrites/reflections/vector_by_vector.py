"""Applies reflections to rows one after another, and orthogonalises by a QR decomposition."""


def _units(layer, name, vectors):
    if layer.hra_apply_GS[name]:
        q, r = torch.linalg.qr(vectors)
        return q * r.diagonal().sign()
    return vectors / vectors.square().sum(dim=0, keepdim=True).sqrt()


def _reflected(rows, units, reverse=False):
    """rows H_1 H_2 ... H_r, or in the other order."""
    columns = list(units.unbind(dim=1))
    for u in reversed(columns) if reverse else columns:
        rows = rows - 2 * torch.outer(rows @ u, u)
    return rows


def _chain(layer, name, reverse):
    vectors = layer.hra_u[name]
    wide = vectors if vectors.dtype != torch.bfloat16 else vectors.float()
    units = _units(layer, name, wide)
    start = torch.eye(len(vectors), dtype=wide.dtype)
    return _reflected(start, units, reverse).to(vectors.dtype)


def _weight(layer):
    base = layer.get_base_layer().weight.detach()
    rows = base.reshape(len(base), -1)
    for name in layer.active_adapters:
        if name in layer.hra_u:
            rows = _reflected(rows, _units(layer, name, layer.hra_u[name]))
    return rows.reshape(base.shape)


def _plain(layer, x, args, kwargs):
    if layer.disable_adapters and layer.merged:
        layer.unmerge()
    return layer.base_layer(x, *args, **kwargs).to(x.dtype)


class HRALayer:
    def reset_hra_parameters(self, adapter_name):
        count = self.hra_r[adapter_name]
        length = self.hra_u[adapter_name].shape[0]
        pairs = count if count % 2 else count // 2
        drawn = nn.init.kaiming_uniform_(torch.empty(length, pairs), a=math.sqrt(5))
        if count % 2:
            warnings.warn("an odd number of reflections is never the identity")
        else:
            drawn = torch.stack([drawn, drawn], dim=2).reshape(length, count)
        self.hra_u[adapter_name] = nn.Parameter(drawn)


class HRALinear:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters or self.merged:
            return _plain(self, x, args, kwargs)
        base = self.get_base_layer()
        return F.linear(x.to(base.weight.dtype), _weight(self), base.bias).to(x.dtype)


class HRAConv2d:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters or self.merged:
            return _plain(self, x, args, kwargs)
        base = self.get_base_layer()
        return F.conv2d(x.to(base.weight.dtype), _weight(self), base.bias, base.stride, base.padding).to(x.dtype)
