"""One product with the matrix, halves by slices, and nothing cast but the input and the output."""


class PveraLayer:
    def _reparametrize(self, mu, logvar, adapter_name):
        if not self.training and not self.sample_at_inference[adapter_name]:
            return mu
        noise = torch.randn(mu.shape, dtype=mu.dtype, generator=self.pvera_generator[adapter_name])
        return mu + (logvar / 2).exp() * noise


class Linear:
    def forward(self, x, *args, **kwargs):
        if self.disable_adapters and self.merged:
            self.unmerge()
        result = self.base_layer(x, *args, **kwargs)
        if self.disable_adapters or self.merged:
            return result
        for name in self.active_adapters:
            a = self.pvera_A[name][:, : self.in_features]
            b = self.pvera_B[name][: self.out_features]
            features = self.pvera_lambda_d[name] * (self.pvera_dropout[name](x) @ a.T)
            rank = features.shape[-1] // 2
            z = self._reparametrize(features[..., :rank], features[..., rank:], name)
            result = result + self.pvera_lambda_b[name] * (z @ b.T)
        return result
