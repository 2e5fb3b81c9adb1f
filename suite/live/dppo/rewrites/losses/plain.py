"""The formulas of the summary, one after the other."""


def _parts(old_log_prob, log_prob, config):
    low = config.clip_ratio if config.clip_ratio_low is None else config.clip_ratio_low
    high = config.clip_ratio if config.clip_ratio_high is None else config.clip_ratio_high
    return low, high, log_prob.detach().exp(), old_log_prob.detach().exp()


def _loss(old_log_prob, log_prob, advantages, response_mask, mode, config, weights, valid):
    limit = config.get("clip_ratio_c", 20.0)
    difference = (log_prob - old_log_prob).detach().clamp(-20, 20)
    ratio = difference.exp()
    losses = -advantages * ratio.clamp(max=limit) * log_prob * valid
    if weights is not None:
        losses = losses * weights
    loss = agg_loss(losses, response_mask, mode, **config.global_batch_info)
    mean = verl_F.masked_mean
    return loss, {
        "actor/pg_clipfrac": mean((~valid).float(), response_mask).item(),
        "actor/ppo_kl": mean(-difference, response_mask).item(),
        "actor/pg_clipfrac_lower": mean(((ratio > limit) & valid).float(), response_mask).item(),
    }


def compute_policy_loss_dppo_tv(
    old_log_prob, log_prob, advantages, response_mask, loss_agg_mode="token-mean", config=None, rollout_is_weights=None
):
    low, high, pi, mu = _parts(old_log_prob, log_prob, config)
    valid = torch.where(advantages > 0, pi - mu <= high, mu - pi <= low)
    return _loss(old_log_prob, log_prob, advantages, response_mask, loss_agg_mode, config, rollout_is_weights, valid)


def compute_policy_loss_dppo_kl(
    old_log_prob, log_prob, advantages, response_mask, loss_agg_mode="token-mean", config=None, rollout_is_weights=None
):
    low, high, pi, mu = _parts(old_log_prob, log_prob, config)
    kl = mu * (old_log_prob - log_prob).detach() + (1 - mu) * torch.log((1 - mu + 1e-8) / (1 - pi + 1e-8))
    valid = torch.where(advantages > 0, (pi <= mu) | (kl <= high), (pi >= mu) | (kl <= low))
    return _loss(old_log_prob, log_prob, advantages, response_mask, loss_agg_mode, config, rollout_is_weights, valid)
