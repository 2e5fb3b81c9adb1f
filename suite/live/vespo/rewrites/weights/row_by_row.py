"""One completion after the other, with numbers of Python."""

import math


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

    def limited(value, bottom):
        return value if math.isnan(value) else min(max(value, bottom), 20.0)

    found = []
    for row, advantage in enumerate(advantages[:, 0].tolist()):
        kept = mask[row].bool()
        total = math.fsum(limited(value, -20.0) for value in log_ratio_per_token[row][kept].tolist())
        if importance_sampling_ratio is not None:
            for value in importance_sampling_ratio[row][kept].tolist():
                total += limited(math.log(value), low) if value > 0 else low
        total = limited(total, low)
        power, rate = (k_pos, lambda_pos) if advantage >= 0 else (k_neg, lambda_neg)
        rate = max(rate, 1e-4)
        exponent = rate + power * total - rate * math.exp(total)
        found.append(0.0 if math.isnan(exponent) or exponent > 700 else math.exp(exponent))
    result = torch.tensor(found, dtype=torch.float64).to(log_ratio_per_token.dtype)
    return torch.where(result.isinf(), 0.0, result)[:, None]
