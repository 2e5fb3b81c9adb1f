"""Permutes by indices instead of matrices, block by block, and inverts instead of solving."""


class BOFTLayer:
    def block_butterfly_perm(self, n, b, r=3, n_butterfly_factor=1):
        if n_butterfly_factor == 0:
            return torch.arange(n)
        if 2 * b * r > n:
            raise ValueError("more groups than there are indices")
        order = torch.arange(n).view(b, -1, r)
        return torch.cat([order[:, ::2], order[:, 1::2]], dim=1).flatten()

    def cayley_batch(self, data):
        wide = torch.promote_types(data.dtype, torch.float32)
        data = data.to(wide)
        skew = (data - data.mT) / 2
        eye = torch.eye(data.shape[-1], dtype=wide)
        # Both factors are polynomials in the same matrix, so they commute.
        return torch.linalg.solve(eye + skew, eye - skew)


class Linear:
    def _turned(self, blocks, columns):
        """The product of the factors with a matrix of as many rows."""
        for level, permutation in enumerate(self.boft_P.to(columns.dtype)):
            indices = permutation.argmax(dim=1)
            # The transposed permutation puts row i to the place that the i-th index names.
            columns = torch.zeros_like(columns).index_add(0, indices, columns)
            size = blocks.shape[-1]
            columns = (blocks[level].to(columns.dtype) @ columns.unflatten(0, (-1, size))).flatten(0, 1)
            columns = columns[indices]
        return columns

    def _blocks(self, adapter):
        given = self.boft_R[adapter]
        return self.cayley_batch(given.flatten(0, 1)).unflatten(0, given.shape[:2])

    def get_delta_weight(self, adapter):
        blocks = self._blocks(adapter)
        return self._turned(blocks, torch.eye(self.in_features, dtype=blocks.dtype)), self.boft_s[adapter]

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters or self.merged:
            if self.disable_adapters and self.merged:
                self.unmerge()
            return self.base_layer(x, *args, **kwargs).to(x.dtype)
        wide = torch.promote_types(x.dtype, torch.float32)
        weight = self.base_layer.weight.data.T.to(wide)
        scale = torch.ones(1, dtype=wide)
        for name in self.active_adapters:
            if name in self.boft_R:
                blocks = self.boft_dropout[name](self._blocks(name))
                weight = self._turned(blocks, weight)
                scale = scale * self.boft_s[name].to(wide).T
        return torch.nn.functional.linear(x, (weight * scale).T.to(x.dtype), self.base_layer.bias)
