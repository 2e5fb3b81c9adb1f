"""One source after the other, with the running maximum and sum of a streaming softmax."""


def naive_attnres(query, residuals, rms_weight, output_rms_weight=None, rms_eps=1e-6, scale=1.0, return_weights=False):
    if not residuals:
        raise ValueError("there are no sources")
    probe = rms_weight.reshape(-1).float() * query.reshape(-1).float() * scale
    logits, highest, total, mixed = [], None, 0.0, 0.0
    for source in residuals:
        value = source.float()
        logit = (value * probe).sum(-1, keepdim=True) / torch.sqrt(value.pow(2).mean(-1, keepdim=True) + rms_eps)
        logits.append(logit)
        higher = logit.detach() if highest is None else torch.maximum(highest, logit.detach())
        kept = 0.0 if highest is None else torch.exp(highest - higher)
        share = torch.exp(logit - higher)
        total, mixed, highest = kept * total + share, kept * mixed + share * value, higher
    output = mixed / total
    if output_rms_weight is not None:
        output = output / torch.sqrt(output.pow(2).mean(-1, keepdim=True) + rms_eps) * output_rms_weight.float()
    output = output.to(residuals[0].dtype)
    if not return_weights:
        return output
    return output, torch.stack([torch.exp(logit - highest) / total for logit in logits]).squeeze(-1)
