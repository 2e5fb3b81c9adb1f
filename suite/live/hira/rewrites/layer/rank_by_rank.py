"""Never builds B A: scales inputs by the rows of A and outputs by the columns of B, one rank after the other."""


class HiraLayer:
    def _merge(self, safe_merge, adapter_names, available_adapters):
        left = []
        for name in check_adapters_to_merge(self, adapter_names):
            if name in available_adapters:
                left.append(name)
        if left:
            layer = self.get_base_layer()
            kept = layer.weight.detach().clone()
            frozen = self._get_base_weight_before_merge()
            for name in left:
                layer.weight.data.addcmul_(frozen, self.get_delta_weight(name).to(frozen.dtype))
            if safe_merge and (layer.weight.isnan() | layer.weight.isinf()).any():
                layer.weight.data.copy_(kept)
                raise ValueError(f"cannot merge {left}: the result is not finite")
            self.merged_adapters.extend(left)


class Linear:
    def forward(self, x, *args, **kwargs):
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            return self.base_layer(x, *args, **kwargs)
        output = self.base_layer(x, *args, **kwargs)
        if self.merged:
            return output
        dtype = output.dtype
        weight = transpose(self.get_base_layer().weight.detach(), self.fan_in_fan_out)
        for name in self.active_adapters:
            if name not in self.hira_A:
                continue
            rows, columns = self.hira_A[name], self.hira_B[name]
            given = self.hira_dropout[name](self._cast_input_dtype(x, rows.dtype))
            frozen = weight.to(rows.dtype)
            for row, column in zip(rows, columns.T):
                output = output + F.linear(given * row, frozen) * column
        return output.to(dtype)
