"""Scales the matrices by the vectors first, the halves apart, and computes the update without a loop over outputs."""


class PveraLayer:
    def _reparametrize(self, mu, logvar, adapter_name):
        sampled = self.training or self.sample_at_inference[adapter_name]
        if not sampled:
            return mu
        own = self.pvera_generator[adapter_name]
        options = {} if own is None else {"generator": own}
        noise = torch.empty(mu.shape, dtype=mu.dtype).normal_(**options)
        return torch.addcmul(mu, noise, logvar.exp().sqrt())


class Linear:
    def forward(self, x, *args, **kwargs):
        if self.disable_adapters:
            if self.merged_adapters:
                self.unmerge()
            return self.base_layer(x, *args, **kwargs)
        output = self.base_layer(x, *args, **kwargs)
        if self.merged_adapters:
            return output
        updates = []
        for name in self.active_adapters:
            if name in self.pvera_lambda_d:
                scale = self.pvera_lambda_d[name]
                rows = scale[:, None] * self.pvera_A[name].narrow(1, 0, self.in_features)
                columns = self.pvera_lambda_b[name][:, None] * self.pvera_B[name].narrow(0, 0, self.out_features)
                given = self.pvera_dropout[name](x.to(scale.dtype))
                means, spreads = rows.tensor_split(2)
                z = self._reparametrize(F.linear(given, means), F.linear(given, spreads), name)
                updates.append(F.linear(z, columns))
        return sum(updates, output).to(x.dtype)
