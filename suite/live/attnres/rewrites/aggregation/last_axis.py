"""Sources side by side before the last axis, which is then a product of matrices per position."""


def naive_attnres(query, residuals, rms_weight, output_rms_weight=None, rms_eps=1e-6, scale=1.0, return_weights=False):
    if len(residuals) < 1:
        raise ValueError("at least one source is needed")
    kind = residuals[0].dtype
    values = torch.stack(tuple(residuals), dim=-2).to(torch.float32)
    width = (values.shape[-1],)
    keys = F.rms_norm(values, width, eps=rms_eps) * rms_weight.to(torch.float32).view(-1)
    logits = torch.matmul(keys, query.to(torch.float32).view(-1, 1)) * scale
    weights = F.softmax(logits.transpose(-1, -2), dim=-1)
    output = torch.matmul(weights, values).squeeze(-2)
    if output_rms_weight is not None:
        output = F.rms_norm(output, width, output_rms_weight.to(torch.float32), rms_eps)
    if return_weights:
        return output.to(kind), weights.squeeze(-2).movedim(-1, 0).contiguous()
    return output.to(kind)
