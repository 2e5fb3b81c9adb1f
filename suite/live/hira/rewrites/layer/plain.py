"""The frozen weight times B A, element by element, per adapter."""


class HiraLayer:
    def _merge(self, safe_merge, adapter_names, available_adapters):
        names = [name for name in check_adapters_to_merge(self, adapter_names) if name in available_adapters]
        if not names:
            return
        weight, frozen = self.get_base_layer().weight, self._get_base_weight_before_merge()
        new = weight.detach() + frozen * sum(self.get_delta_weight(name).detach() for name in names)
        if safe_merge and not new.isfinite().all():
            raise ValueError("the merged weight is not finite")
        weight.data.copy_(new)
        self.merged_adapters += names


class Linear:
    def forward(self, x, *args, **kwargs):
        if self.disable_adapters and self.merged:
            self.unmerge()
        output = self.base_layer(x, *args, **kwargs)
        if self.disable_adapters or self.merged:
            return output
        for name in self.active_adapters:
            update = self.get_base_layer().weight * self.get_delta_weight(name)
            output = output + self.hira_dropout[name](x) @ transpose(update, self.fan_in_fan_out).T
        return output
