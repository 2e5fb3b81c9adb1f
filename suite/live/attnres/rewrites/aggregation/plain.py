"""The formulas of the paper on one tensor of all sources."""


def naive_attnres(query, residuals, rms_weight, output_rms_weight=None, rms_eps=1e-6, scale=1.0, return_weights=False):
    def norm(x, weight):
        return x * (x.square().mean(-1, keepdim=True) + rms_eps).rsqrt() * weight.float()

    v = torch.stack(list(residuals)).float()
    weights = (scale * norm(v, rms_weight) @ query.float().flatten()).softmax(0)
    output = (weights.unsqueeze(-1) * v).sum(0)
    if output_rms_weight is not None:
        output = norm(output, output_rms_weight)
    output = output.to(residuals[0].dtype)
    return (output, weights) if return_weights else output
