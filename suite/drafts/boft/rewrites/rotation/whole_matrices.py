"""Scatters all blocks into whole matrices at once, and folds the levels with einsum."""


class BOFTLayer:
    def block_butterfly_perm(self, n, b, r=3, n_butterfly_factor=1):
        if n_butterfly_factor == 0:
            return torch.arange(0, n, dtype=torch.int64)
        if n < 2 * r * b:
            raise ValueError("invalid number of blocks")
        width = n // b
        order = []
        for start in range(0, n, width):
            groups = [list(range(at, at + r)) for at in range(start, start + width, r)]
            for group in groups[0::2] + groups[1::2]:
                order += group
        return torch.LongTensor(order)

    def cayley_batch(self, data):
        if data.dtype != torch.float64:
            data = data.float()
        skew = 0.5 * (data - data.transpose(1, 2))
        eye = torch.eye(data.size(1), dtype=data.dtype)
        # From the right: X (I + S) = I - S, solved as (I + S)^T X^T = (I - S)^T.
        return torch.linalg.solve((eye + skew).mT, (eye - skew).mT).mT


class Linear:
    def _whole(self, blocks):
        levels, number, size, _ = blocks.shape
        index = torch.arange(number * size).view(number, size)
        whole = torch.zeros(levels, number * size, number * size, dtype=blocks.dtype)
        rows = index[:, :, None].expand(number, size, size)
        columns = index[:, None, :].expand(number, size, size)
        whole = whole.index_put((torch.arange(levels).view(-1, 1, 1, 1), rows[None], columns[None]), blocks)
        permuted = torch.einsum("lij,ljk,lmk->lim", self.boft_P.to(blocks.dtype), whole, self.boft_P.to(blocks.dtype))
        product = permuted[-1]
        for level in range(levels - 2, -1, -1):
            product = product @ permuted[level]
        return product

    def get_delta_weight(self, adapter):
        stored = self.boft_R[adapter]
        blocks = torch.stack([self.cayley_batch(level) for level in stored])
        return self._whole(blocks), self.boft_s[adapter]

    def forward(self, x, *args, **kwargs):
        if not self.disable_adapters and not self.merged:
            weight = self.get_base_layer().weight.detach()
            for name in self.active_adapters:
                if name not in self.boft_R:
                    continue
                blocks = torch.stack([self.cayley_batch(level) for level in self.boft_R[name]])
                product = self._whole(self.boft_dropout[name](blocks)).to(x.dtype)
                weight = torch.einsum("oi,ji->oj", weight, product)
                weight = weight * self.boft_s[name]
            result = torch.einsum("...i,oi->...o", x, weight)
            return result if self.base_layer.bias is None else result + self.base_layer.bias
        if self.disable_adapters and self.merged_adapters:
            self.unmerge()
        return self.base_layer(x, *args, **kwargs).to(x.dtype)
