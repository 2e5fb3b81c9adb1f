"""One contraction over ranks, inputs and outputs for each adapter, and one weight in double precision for merging."""


class HiraLayer:
    def _merge(self, safe_merge, adapter_names, available_adapters):
        names = [name for name in check_adapters_to_merge(self, adapter_names) if name in available_adapters]
        if not names:
            return
        weight = self.get_base_layer().weight
        with torch.no_grad():
            frozen = self._get_base_weight_before_merge().double()
            update = torch.zeros_like(frozen)
            for name in names:
                update += torch.einsum(
                    "or,ri->io" if self.fan_in_fan_out else "or,ri->oi",
                    self.hira_B[name].double(),
                    self.hira_A[name].double(),
                )
            merged = torch.addcmul(weight.double(), frozen, update).to(weight.dtype)
            if safe_merge and not bool(torch.all(torch.isfinite(merged))):
                raise ValueError("not finite")
            weight.copy_(merged)
        self.merged_adapters = self.merged_adapters + names


class Linear:
    def forward(self, x, *args, **kwargs):
        if self.disable_adapters and self.merged:
            self.unmerge()
        base = self.base_layer(x, *args, **kwargs)
        if self.disable_adapters or self.merged:
            return base
        output = base
        weight = self.get_base_layer().weight.detach()
        letters = "io" if self.fan_in_fan_out else "oi"
        for name in [name for name in self.active_adapters if name in self.hira_A]:
            a, b = self.hira_A[name], self.hira_B[name]
            given = self.hira_dropout[name](x.to(a.dtype))
            output = output + torch.einsum(f"...i,{letters},ri,or->...o", given, weight.to(a.dtype), a, b)
        return output.to(base.dtype)
