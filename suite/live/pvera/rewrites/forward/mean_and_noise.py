"""Adds the update of the mean, as a change of the weight, and that of the noise apart from each other."""


class PveraLayer:
    def _reparametrize(self, mu, logvar, adapter_name):
        return mu + _noise(self, logvar, adapter_name)


def _noise(layer, logvar, name):
    if not (layer.training or layer.sample_at_inference[name]):
        return torch.zeros_like(logvar)
    drawn = torch.randn(*logvar.shape, dtype=logvar.dtype, generator=layer.pvera_generator[name])
    return drawn * torch.exp(logvar.mul(0.5))


class Linear:
    def forward(self, x, *args, **kwargs):
        plain = self.disable_adapters or self.merged
        if plain and self.disable_adapters and self.merged:
            self.unmerge()
        result = self.base_layer(x, *args, **kwargs)
        for name in [] if plain else self.active_adapters:
            if name not in self.pvera_lambda_b:
                continue
            d, b = self.pvera_lambda_d[name], self.pvera_lambda_b[name]
            first, second = d.chunk(2)
            rows = self.pvera_A[name][:, : self.in_features]
            upper, lower = rows[: len(first)], rows[len(first) :]
            columns = self.pvera_B[name][: self.out_features] * b.unsqueeze(1)
            given = self.pvera_dropout[name](x.to(d.dtype))
            change = columns @ torch.diag(first) @ upper
            noise = _noise(self, torch.einsum("...i,ri,r->...r", given, lower, second), name)
            result = result + (given @ change.T + noise @ columns.T)
        return result.to(x.dtype)
