"""Sinkhorn-Knopp by factors for rows and columns instead of new matrices; the norm after the projection."""


def _project(streams, matrix, eps):
    flat = streams.to(torch.float32).reshape(*streams.shape[:2], -1)
    return F.linear(flat, matrix) / (flat.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def _collapse(weights, streams):
    return torch.matmul(weights.unsqueeze(-2), streams.to(torch.float32)).squeeze(-2).to(streams.dtype)


class DeepseekV4HyperConnection:
    def forward(self, hidden_streams):
        count = self.hc_mult
        logits = _project(hidden_streams, self.fn, self.input_norm.eps)
        factors = torch.cat([self.scale[i].expand(k) for i, k in enumerate((count, count, count * count))])
        logits = logits * factors + self.base
        first = torch.softmax(logits[..., 2 * count :].reshape(*logits.shape[:-1], count, count), dim=-1) + self.hc_eps
        # The matrix is first, with each row multiplied by a factor, and each column by another.
        rows = torch.ones_like(first[..., :1])
        columns = torch.ones_like(first[..., :1, :])
        for step in range(max(self.hc_sinkhorn_iters, 1)):
            if step > 0:
                sums = rows * (first * columns).sum(-1, keepdim=True)
                rows = rows / (sums + self.hc_eps)
            sums = columns * (first * rows).sum(-2, keepdim=True)
            columns = columns / (sums + self.hc_eps)
        pre = 1 / (1 + torch.exp(-logits[..., :count].clamp(min=-80))) + self.hc_eps
        post = 1 + torch.tanh(logits[..., count : 2 * count] / 2)
        return post, rows * first * columns, _collapse(pre, hidden_streams)


class DeepseekV4HyperHead:
    def forward(self, x):
        logits = _project(x, self.hc_fn, self.input_norm.eps) * self.hc_scale + self.hc_base
        return _collapse(self.eps + logits.sigmoid(), x)
