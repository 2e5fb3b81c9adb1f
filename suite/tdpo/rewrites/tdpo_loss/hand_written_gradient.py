"""An autograd function whose backward is the paper's gradient (eq. 16), in double precision and cast back."""


class TDPO(torch.autograd.Function):
    @staticmethod
    def forward(ctx, signs, flows, beta, *statistics):
        rows = torch.stack(statistics).double()
        margin = beta * (rows * signs[:, None]).sum(0)
        ctx.save_for_backward(margin)
        ctx.slopes = [beta * sign if flow else None for sign, flow in zip(signs.tolist(), flows)]
        return torch.logaddexp(torch.zeros_like(margin), -margin).to(statistics[0].dtype)

    @staticmethod
    def backward(ctx, upstream):
        weight = torch.sigmoid(-ctx.saved_tensors[0])
        slopes = [None if slope is None else (-slope * weight).to(upstream.dtype) * upstream for slope in ctx.slopes]
        return None, None, None, *slopes


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    strength = alpha if if_tdpo2 else 1.0
    signs = torch.tensor([1.0, -1.0, strength, -strength], dtype=torch.float64)
    statistics = [chosen_logps_margin, rejected_logps_margin, chosen_position_kl, rejected_position_kl]
    losses = TDPO.apply(signs, (True, True, not if_tdpo2, True), beta, *statistics)
    chosen, rejected = [(beta * margin + beta * kl).detach() for margin, kl in zip(statistics[:2], statistics[2:])]
    return losses, chosen, rejected
