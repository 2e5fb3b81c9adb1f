"""Powers and exponentials in double precision, without logarithms of the weights."""


def get_gamma_weights(
    advantages,
    log_ratio_per_token,
    mask,
    importance_sampling_ratio,
    k_pos=2.0,
    lambda_pos=3.0,
    k_neg=3.0,
    lambda_neg=2.0,
):
    kind = log_ratio_per_token.dtype
    ratios = log_ratio_per_token.detach().double().clamp(-20.0, 20.0)
    summed = torch.einsum("bt,bt->b", ratios, mask.double())
    if importance_sampling_ratio is not None:
        summed = summed + importance_sampling_ratio.detach().double().clamp(1e-8).log().clamp(max=20.0).sum(dim=1)
    weight = summed.exp().clamp(1e-8, 4.851651954097903e8)[:, None]
    positive = (advantages.detach() >= 0).double()
    power = positive * k_pos + (1 - positive) * k_neg
    rate = positive * max(lambda_pos, 1e-4) + (1 - positive) * max(lambda_neg, 1e-4)
    found = weight**power * torch.exp(rate * (1 - weight))
    found = found.to(kind)
    return torch.where(torch.isfinite(found), found, torch.zeros_like(found))
