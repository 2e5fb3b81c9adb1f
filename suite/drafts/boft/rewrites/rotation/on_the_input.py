"""Turns the input with the transposed product instead of the weight, and scales the output; Cayley by an inverse."""


def _product(layer, blocks, dtype):
    whole = None
    for level in range(blocks.shape[0]):
        size = blocks.shape[-1]
        diagonal = torch.zeros(layer.in_features, layer.in_features, dtype=blocks.dtype)
        parts = []
        for place, block in enumerate(blocks[level]):
            left, right = place * size, layer.in_features - (place + 1) * size
            parts.append(torch.nn.functional.pad(block, (left, right)))
        diagonal = diagonal + torch.cat(parts)
        permutation = layer.boft_P[level].to(blocks.dtype)
        factor = permutation @ diagonal @ permutation.T
        whole = factor if whole is None else factor @ whole
    return whole.to(dtype)


class BOFTLayer:
    def block_butterfly_perm(self, n, b, r=3, n_butterfly_factor=1):
        if not n_butterfly_factor:
            return torch.tensor(list(range(n)), dtype=torch.long)
        if b * r * 2 > n:
            raise ValueError(f"{b} blocks of {2 * r} are more than {n}")
        width = n // b
        return torch.tensor(sorted(range(n), key=lambda i: (i // width, i % width // r % 2, i)), dtype=torch.long)

    def cayley_batch(self, data):
        data = data.to(torch.promote_types(data.dtype, torch.float32))
        wide = data.double()
        skew = 0.5 * wide - 0.5 * wide.transpose(-2, -1)
        eye = torch.eye(wide.shape[-1], dtype=torch.float64).expand_as(wide)
        # (I - S)(I + S)^-1 = 2 (I + S)^-1 - I
        return (2 * torch.linalg.inv(eye + skew) - eye).to(data.dtype)


class Linear:
    def get_delta_weight(self, adapter):
        levels, number, size, _ = self.boft_R[adapter].shape
        blocks = self.cayley_batch(self.boft_R[adapter].reshape(-1, size, size)).reshape(levels, number, size, size)
        return _product(self, blocks, blocks.dtype), self.boft_s[adapter]

    def forward(self, x, *args, **kwargs):
        if self.disable_adapters:
            if self.merged:
                self.unmerge()
            return self.base_layer(x, *args, **kwargs)
        if self.merged:
            return self.base_layer(x, *args, **kwargs)
        known = [name for name in self.active_adapters if name in self.boft_R]
        # Dropout draws its numbers in the order of the adapters.
        blocks = {}
        for name in known:
            levels, number, size, _ = self.boft_R[name].shape
            blocks[name] = self.cayley_batch(self.boft_R[name].reshape(-1, size, size)).reshape(
                levels, number, size, size
            )
            blocks[name] = self.boft_dropout[name](blocks[name])
        wide = torch.promote_types(x.dtype, torch.float32)
        turned = x.to(wide)
        for name in reversed(known):
            turned = turned @ _product(self, blocks[name], wide)
        output = turned @ self.base_layer.weight.data.to(wide).T
        for name in known:
            output = output * self.boft_s[name].to(wide).squeeze(-1)
        if self.base_layer.bias is not None:
            output = output + self.base_layer.bias
        return output.to(x.dtype)
