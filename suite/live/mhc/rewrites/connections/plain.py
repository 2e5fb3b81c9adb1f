"""Each weight by its own projection, and einsum for the sum over streams."""


def _logits(module, streams, matrix, base, scale):
    flat = streams.float().flatten(2)
    return scale * (module.input_norm(flat) @ matrix.T) + base


class DeepseekV4HyperConnection:
    def forward(self, hidden_streams):
        n, eps = self.hc_mult, self.hc_eps
        pre, post, comb = (
            _logits(self, hidden_streams, self.fn[part], self.base[part], scale)
            for part, scale in zip((slice(n), slice(n, 2 * n), slice(2 * n, None)), self.scale)
        )
        comb = comb.unflatten(-1, (n, n)).softmax(-1) + eps
        for step in range(self.hc_sinkhorn_iters):
            if step:
                comb = comb / (comb.sum(-1, keepdim=True) + eps)
            comb = comb / (comb.sum(-2, keepdim=True) + eps)
        collapsed = torch.einsum("bsn,bsnd->bsd", pre.sigmoid() + eps, hidden_streams.float())
        return 2 * post.sigmoid(), comb, collapsed.to(hidden_streams.dtype)


class DeepseekV4HyperHead:
    def forward(self, x):
        pre = _logits(self, x, self.hc_fn, self.hc_base, self.hc_scale).sigmoid() + self.eps
        return torch.einsum("bsn,bsnd->bsd", pre, x.float()).to(x.dtype)
