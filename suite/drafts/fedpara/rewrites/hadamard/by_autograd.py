"""Runs the formula again in the backward pass and lets autograd differentiate it, in at least single precision."""


def _product(w1a, w1b, w2a, w2b):
    return (w1a @ w1b) * (w2a @ w2b)


def _product_of_cores(t1, w1a, w1b, t2, w2a, w2b):
    one, two = (torch.einsum("ijkl,ip,jq->pqkl", *side) for side in ((t1, w1a, w1b), (t2, w2a, w2b)))
    return one * two


def _forward(ctx, formula, factors, scale):
    ctx.save_for_backward(*factors, scale)
    wide = torch.promote_types(factors[0].dtype, torch.float32)
    return (formula(*(item.to(wide) for item in factors)) * scale.to(wide)).to(factors[0].dtype)


def _backward(ctx, formula, grad_out):
    *factors, scale = ctx.saved_tensors
    wide = torch.promote_types(factors[0].dtype, torch.float32)
    with torch.enable_grad():
        again = [item.detach().to(wide).requires_grad_() for item in factors]
        output = formula(*again) * scale.detach().to(wide)
    found = torch.autograd.grad(output, again, grad_out.to(wide))
    return *(item.to(factors[0].dtype) for item in found), None


class HadaWeight:
    @staticmethod
    def forward(ctx, w1a, w1b, w2a, w2b, scale=torch.tensor(1)):
        return _forward(ctx, _product, (w1a, w1b, w2a, w2b), scale)

    @staticmethod
    def backward(ctx, grad_out):
        return _backward(ctx, _product, grad_out)


class HadaWeightCP:
    @staticmethod
    def forward(ctx, t1, w1a, w1b, t2, w2a, w2b, scale=torch.tensor(1)):
        return _forward(ctx, _product_of_cores, (t1, w1a, w1b, t2, w2a, w2b), scale)

    @staticmethod
    def backward(ctx, grad_out):
        return _backward(ctx, _product_of_cores, grad_out)


class LoHaLayer:
    def get_delta_weight(self, adapter_name):
        sides = [self.hada_w1_a, self.hada_w1_b, self.hada_w2_a, self.hada_w2_b]
        function = HadaWeight
        if adapter_name in self.hada_t1:
            sides = [self.hada_t1, *sides[:2], self.hada_t2, *sides[2:]]
            function = HadaWeightCP
        update = function.apply(*(side[adapter_name] for side in sides), torch.tensor(self.scaling[adapter_name]))
        update = update.view_as(self.get_base_layer().weight)
        share = self.rank_dropout[adapter_name]
        if not self.training or not share:
            return update
        stays = torch.rand(len(update)) > share
        factor = len(stays) / stays.sum().double()
        zero = torch.zeros((), dtype=update.dtype)
        return torch.where(stays.reshape(-1, *[1] * (update.dim() - 1)), update * factor.to(update.dtype), zero)


def make_weight(w1a, w1b, w2a, w2b, scale):
    return HadaWeight.apply(w1a, w1b, w2a, w2b, scale)


def make_weight_cp(t1, w1a, w1b, t2, w2a, w2b, scale):
    return HadaWeightCP.apply(t1, w1a, w1b, t2, w2a, w2b, scale)
