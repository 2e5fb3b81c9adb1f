"""Masks and metrics in double precision, and one function for both divergences."""


def _dppo(divergence, old_log_prob, log_prob, advantages, mask, mode, config, weights):
    if config is None or isinstance(config, AlgoConfig):
        raise AssertionError("an ActorConfig is needed")
    old, new = old_log_prob.detach().double(), log_prob.detach().double()
    ratio = torch.exp((new - old).clip(-20.0, 20.0))
    limit = config.get("clip_ratio_c", 20.0)
    distance = divergence(old, new)
    masked = torch.zeros_like(mask, dtype=torch.bool)
    for side, bound, away in (
        (advantages > 0, config.clip_ratio_high, new.exp() > old.exp()),
        (advantages <= 0, config.clip_ratio_low, new.exp() < old.exp()),
    ):
        bound = config.clip_ratio if bound is None else bound
        masked |= side & away & (distance > bound)
    weight = torch.where(ratio > limit, limit, ratio).to(log_prob.dtype) * ~masked
    losses = -(advantages.detach() * weight) * log_prob
    losses = losses if weights is None else weights * losses
    number = mask.double().sum() + 1e-8
    metrics = {
        "actor/pg_clipfrac": ((masked * mask).sum() / number).item(),
        "actor/ppo_kl": (((old - new).clip(-20.0, 20.0) * mask).sum() / number).item(),
        "actor/pg_clipfrac_lower": (((ratio > limit) * ~masked * mask).sum() / number).item(),
    }
    return agg_loss(losses, mask, mode, **config.global_batch_info), metrics


def compute_policy_loss_dppo_tv(
    old_log_prob,
    log_prob,
    advantages,
    response_mask,
    loss_agg_mode="token-mean",
    config=None,
    rollout_is_weights=None,
):
    def distance(old, new):
        return (old.exp() - new.exp()).abs()

    return _dppo(distance, old_log_prob, log_prob, advantages, response_mask, loss_agg_mode, config, rollout_is_weights)


def compute_policy_loss_dppo_kl(
    old_log_prob,
    log_prob,
    advantages,
    response_mask,
    loss_agg_mode="token-mean",
    config=None,
    rollout_is_weights=None,
):
    def distance(old, new):
        p, q = new.exp(), old.exp()
        return q * (old - new) + (1 - q) * ((1 - q + 1e-8).log() - (1 - p + 1e-8).log())

    return _dppo(distance, old_log_prob, log_prob, advantages, response_mask, loss_agg_mode, config, rollout_is_weights)
