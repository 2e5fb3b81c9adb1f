"""One matrix product of rank r1 r2, by row-wise Kronecker products, and index by index where there is a core."""


def _rows(one, two):
    return (one.unsqueeze(2) * two.unsqueeze(1)).flatten(1)


class HadaWeight:
    @staticmethod
    def forward(ctx, w1a, w1b, w2a, w2b, scale=torch.tensor(1)):
        ctx.save_for_backward(w1a, w1b, w2a, w2b)
        ctx.scale = scale.item()
        wide = [item.to(torch.promote_types(item.dtype, torch.float32)) for item in (w1a, w1b.T, w2a, w2b.T)]
        product = _rows(wide[0], wide[2]) @ _rows(wide[1], wide[3]).T
        return (product * ctx.scale).to(w1a.dtype)

    @staticmethod
    def backward(ctx, grad_out):
        factors = ctx.saved_tensors
        w1a, w1b, w2a, w2b = (item.to(torch.promote_types(item.dtype, torch.float32)) for item in factors)
        grad_out = ctx.scale * grad_out.to(w1a.dtype)
        found = (
            torch.einsum("mn,rn,ms,sn->mr", grad_out, w1b, w2a, w2b),
            torch.einsum("mn,mr,ms,sn->rn", grad_out, w1a, w2a, w2b),
            torch.einsum("mn,sn,mr,rn->ms", grad_out, w2b, w1a, w1b),
            torch.einsum("mn,ms,mr,rn->sn", grad_out, w2a, w1a, w1b),
        )
        return *(item.to(factors[0].dtype) for item in found), None


class HadaWeightCP:
    @staticmethod
    def forward(ctx, t1, w1a, w1b, t2, w2a, w2b, scale=torch.tensor(1)):
        ctx.save_for_backward(t1, w1a, w1b, t2, w2a, w2b)
        ctx.scale = scale.item()
        wide = [item.to(torch.promote_types(item.dtype, torch.float32)) for item in (t1, w1a, w1b, t2, w2a, w2b)]
        return (_side(*wide[:3]) * _side(*wide[3:]) * ctx.scale).to(t1.dtype)

    @staticmethod
    def backward(ctx, grad_out):
        dtype = ctx.saved_tensors[0].dtype
        wide = [item.to(torch.promote_types(dtype, torch.float32)) for item in ctx.saved_tensors]
        grad_out = ctx.scale * grad_out.to(wide[0].dtype)
        found = []
        for own, other in ((wide[:3], wide[3:]), (wide[3:], wide[:3])):
            t, a, b = own
            grad = grad_out * _side(*other)
            found += [
                torch.einsum("pqkl,ip,jq->ijkl", grad, a, b),
                torch.einsum("pqkl,ijkl,jq->ip", grad, t, b),
                torch.einsum("pqkl,ijkl,ip->jq", grad, t, a),
            ]
        return *(item.to(dtype) for item in found), None


def _side(t, a, b):
    first = (a.T @ t.flatten(1)).unflatten(1, t.shape[1:])
    return (b.T @ first.transpose(0, 1).flatten(1)).unflatten(1, (a.shape[1], *t.shape[2:])).transpose(0, 1)


class LoHaLayer:
    def get_delta_weight(self, adapter_name):
        names = ["w1_a", "w1_b", "w2_a", "w2_b"]
        function = HadaWeight
        if adapter_name in self.hada_t1:
            names = ["t1", "w1_a", "w1_b", "t2", "w2_a", "w2_b"]
            function = HadaWeightCP
        factors = [getattr(self, f"hada_{name}")[adapter_name] for name in names]
        update = function.apply(*factors, torch.tensor(float(self.scaling[adapter_name]), dtype=torch.float64))
        if self.training and self.rank_dropout[adapter_name] > 0:
            kept = (torch.rand(update.shape[0]) > self.rank_dropout[adapter_name]).double()
            kept = (kept / kept.mean()).to(update.dtype)
            update = torch.einsum("o...,o->o...", update, kept)
        return update.reshape(self.get_base_layer().weight.shape)


def make_weight(w1a, w1b, w2a, w2b, scale):
    return HadaWeight.apply(w1a, w1b, w2a, w2b, scale)


def make_weight_cp(t1, w1a, w1b, t2, w2a, w2b, scale):
    return HadaWeightCP.apply(t1, w1a, w1b, t2, w2a, w2b, scale)
