"""Everything in double precision, and positions as one dimension."""


def _weights(module, streams, matrix):
    flat = streams.double().reshape(-1, streams.shape[2] * streams.shape[3])
    norm = torch.linalg.vector_norm(flat, dim=-1, keepdim=True).square() / flat.shape[-1]
    return (flat / torch.sqrt(norm + module.input_norm.eps)) @ matrix.double().T


class DeepseekV4HyperConnection:
    def forward(self, hidden_streams):
        b, s, n, d = hidden_streams.shape
        eps = self.hc_eps
        scales = self.scale.double().repeat_interleave(torch.tensor([n, n, n * n]))
        pre, post, comb = torch.split(
            _weights(self, hidden_streams, self.fn) * scales + self.base, [n, n, n * n], dim=1
        )
        comb = comb.reshape(-1, n, n)
        comb = torch.exp(comb - comb.logsumexp(2, keepdim=True)) + eps
        order = [1] + [2, 1] * (self.hc_sinkhorn_iters - 1)
        for dim in order:
            comb = comb.div(comb.sum(dim=dim, keepdim=True).add(eps))
        collapsed = torch.bmm((torch.sigmoid(pre) + eps).unsqueeze(1), hidden_streams.double().reshape(-1, n, d))
        post = (2 * torch.sigmoid(post)).float().reshape(b, s, n)
        return post, comb.float().reshape(b, s, n, n), collapsed.reshape(b, s, d).to(hidden_streams.dtype)


class DeepseekV4HyperHead:
    def forward(self, x):
        b, s, n, d = x.shape
        logits = _weights(self, x, self.hc_fn) * self.hc_scale + self.hc_base
        weights = (torch.sigmoid(logits) + self.eps).unsqueeze(1)
        return torch.bmm(weights, x.double().reshape(-1, n, d)).reshape(b, s, d).to(x.dtype)
