"""The formula, with the exponential taken once."""

import math


@staticmethod
@torch.no_grad()
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
    low = math.log(1e-8)
    log_w = (log_ratio_per_token.clamp(-20, 20) * mask).sum(1, keepdim=True)
    if importance_sampling_ratio is not None:
        log_w = log_w + importance_sampling_ratio.log().clamp(low, 20).sum(1, keepdim=True)
    log_w = log_w.clamp(low, 20)

    def weight(k, rate):
        return (max(rate, 1e-4) * (1 - log_w.exp()) + k * log_w).exp()

    return torch.where(advantages >= 0, weight(k_pos, lambda_pos), weight(k_neg, lambda_neg)).nan_to_num(0.0, 0.0, 0.0)
