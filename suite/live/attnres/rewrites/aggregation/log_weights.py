"""Logits by a comprehension over the sources, weights by their logarithms, in einsum notation."""


def naive_attnres(query, residuals, rms_weight, output_rms_weight=None, rms_eps=1e-6, scale=1.0, return_weights=False):
    if len(residuals) == 0:
        raise ValueError("no residual sources were given")
    values = [item.float() for item in residuals]
    probe = query.flatten().float()

    def normalised(x):
        return x / (torch.linalg.vecdot(x, x).unsqueeze(-1) / x.shape[-1] + rms_eps).sqrt()

    keys = [normalised(value) * rms_weight.float() for value in values]
    logits = torch.stack([torch.einsum("...d,d->...", key, probe) for key in keys]) * scale
    weights = (logits - logits.logsumexp(0)).exp()
    output = sum(weight.unsqueeze(-1) * value for weight, value in zip(weights, values))
    if output_rms_weight is not None:
        output = normalised(output) * output_rms_weight.float()
    output = output.type_as(residuals[0])
    return (output, weights) if return_weights else output
