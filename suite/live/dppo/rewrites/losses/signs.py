"""Tokens that move away from the old policy, found by signs; weights of log-probabilities made beforehand."""


def _settings(config):
    assert config is not None, "a configuration is needed"
    assert not isinstance(config, AlgoConfig), "the configuration is that of an algorithm"
    bounds = [config.clip_ratio_low, config.clip_ratio_high]
    return [config.clip_ratio if bound is None else bound for bound in bounds]


def _loss_of(outside, old, log_prob, advantages, mask, mode, config, weights):
    with torch.no_grad():
        gap = torch.clamp(log_prob - old, -20.0, 20.0)
        limit = config.get("clip_ratio_c", 20.0)
        factor = -advantages * torch.minimum(gap.exp(), torch.full_like(gap, limit))
        factor = torch.where(outside, torch.zeros_like(factor), factor)
        if weights is not None:
            factor = factor * weights
        truncated = ((gap.exp() > limit) & ~outside).to(gap.dtype)
        metrics = {
            "actor/pg_clipfrac": verl_F.masked_mean(outside.to(gap.dtype), mask).item(),
            "actor/ppo_kl": -verl_F.masked_mean(gap, mask).item(),
            "actor/pg_clipfrac_lower": verl_F.masked_mean(truncated, mask).item(),
        }
    loss = agg_loss(loss_mat=factor * log_prob, loss_mask=mask, loss_agg_mode=mode, **config.global_batch_info)
    return loss, metrics


def compute_policy_loss_dppo_tv(
    old_log_prob,
    log_prob,
    advantages,
    response_mask,
    loss_agg_mode="token-mean",
    config=None,
    rollout_is_weights=None,
):
    low, high = _settings(config)
    moved = log_prob.detach().exp() - old_log_prob.detach().exp()
    outside = ((advantages > 0) & (moved > high)) | ((advantages <= 0) & (-moved > low))
    arguments = (log_prob, advantages, response_mask, loss_agg_mode, config, rollout_is_weights)
    return _loss_of(outside, old_log_prob.detach(), *arguments)


def compute_policy_loss_dppo_kl(
    old_log_prob,
    log_prob,
    advantages,
    response_mask,
    loss_agg_mode="token-mean",
    config=None,
    rollout_is_weights=None,
):
    low, high = _settings(config)
    old, new = old_log_prob.detach(), log_prob.detach()
    rest = [1 - item.exp() + 1e-8 for item in (old, new)]
    divergence = old.exp() * (old - new) + (1 - old.exp()) * (rest[0].log() - rest[1].log())
    up = advantages > 0
    threshold = torch.where(up, torch.full_like(old, high), torch.full_like(old, low))
    away = torch.where(up, new > old, new < old)
    outside = away & (divergence > threshold)
    return _loss_of(outside, old, log_prob, advantages, response_mask, loss_agg_mode, config, rollout_is_weights)
