"""The chain as a product of reflections, and the frozen weight times the chains."""


def _chain(layer, name, reverse):
    u = layer.hra_u[name]
    eye = torch.eye(len(u), dtype=u.dtype)
    if layer.hra_apply_GS[name]:
        units = []
        for v in u.T:
            for w in units:
                v = v - (w @ v) * w
            units.append(v / v.norm())
    else:
        units = list((u / u.norm(dim=0)).T)
    chain = eye
    for v in units[::-1] if reverse else units:
        chain = chain @ (eye - 2 * torch.outer(v, v))
    return chain


def _forward(layer, x, args, kwargs, apply):
    if layer.disable_adapters and layer.merged:
        layer.unmerge()
    if layer.disable_adapters or layer.merged:
        return layer.base_layer(x, *args, **kwargs)
    base = layer.get_base_layer()
    weight = base.weight.detach().flatten(1)
    for name in layer.active_adapters:
        weight = weight @ layer.get_delta_weight(name)
    return apply(x, weight.view_as(base.weight), base)


class HRALayer:
    def reset_hra_parameters(self, adapter_name):
        length, rank = self.hra_u[adapter_name].shape
        if rank % 2:
            warnings.warn("An odd number of reflections is never the identity.")
            nn.init.kaiming_uniform_(self.hra_u[adapter_name], a=math.sqrt(5))
        else:
            half = nn.init.kaiming_uniform_(torch.empty(length, rank // 2), a=math.sqrt(5))
            self.hra_u[adapter_name] = nn.Parameter(half.repeat_interleave(2, dim=1))


class HRALinear:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        return _forward(self, x, args, kwargs, lambda x, weight, base: F.linear(x, weight, base.bias))


class HRAConv2d:
    def get_delta_weight(self, adapter_name, reverse=False):
        return _chain(self, adapter_name, reverse)

    def forward(self, x, *args, **kwargs):
        def apply(x, weight, base):
            return F.conv2d(x, weight, base.bias, base.stride, base.padding)

        return _forward(self, x, args, kwargs, apply)
