"""Loops over ranks, in double precision, and keeps both sides between the passes instead of the factors."""


class HadaWeight:
    @staticmethod
    def forward(ctx, w1a, w1b, w2a, w2b, scale=torch.tensor(1)):
        one = sum(torch.outer(w1a[:, r].double(), w1b[r].double()) for r in range(len(w1b)))
        two = sum(torch.outer(w2a[:, r].double(), w2b[r].double()) for r in range(len(w2b)))
        ctx.sides = one, two
        ctx.save_for_backward(w1a, w1b, w2a, w2b)
        ctx.scale = float(scale)
        return (one * two * ctx.scale).to(w1a.dtype)

    @staticmethod
    def backward(ctx, grad_out):
        found = []
        for place in (0, 1):
            a, b = ctx.saved_tensors[2 * place : 2 * place + 2]
            grad = grad_out.double() * ctx.sides[1 - place] * ctx.scale
            of_a = torch.stack([grad @ b[r].double() for r in range(len(b))], dim=1)
            of_b = torch.stack([grad.T @ a[:, r].double() for r in range(len(b))])
            found += [of_a.to(a.dtype), of_b.to(b.dtype)]
        return *found, None


class HadaWeightCP:
    @staticmethod
    def forward(ctx, t1, w1a, w1b, t2, w2a, w2b, scale=torch.tensor(1)):
        ctx.sides = [_built(t1, w1a, w1b), _built(t2, w2a, w2b)]
        ctx.save_for_backward(t1, w1a, w1b, t2, w2a, w2b)
        ctx.scale = float(scale)
        return (ctx.sides[0] * ctx.sides[1] * ctx.scale).to(t1.dtype)

    @staticmethod
    def backward(ctx, grad_out):
        found = []
        for place in (0, 1):
            t, a, b = (item.double() for item in ctx.saved_tensors[3 * place : 3 * place + 3])
            grad = grad_out.double() * ctx.sides[1 - place] * ctx.scale
            of_t, of_b = torch.zeros_like(t), torch.zeros_like(b)
            for i in range(t.shape[0]):
                rows = (grad * a[i].view(-1, 1, 1, 1)).sum(dim=0)
                for j in range(t.shape[1]):
                    of_t[i, j] = (rows * b[j].view(-1, 1, 1)).sum(dim=0)
                    of_b[j] += (rows * t[i, j]).sum(dim=(1, 2))
            dtype = ctx.saved_tensors[0].dtype
            found += [of_t.to(dtype), None, of_b.to(dtype)]
        return *found, None


def _built(t, a, b):
    built = 0
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            channels = torch.outer(a[i].double(), b[j].double())
            built = built + channels[:, :, None, None] * t[i, j].double()
    return built


class LoHaLayer:
    def get_delta_weight(self, adapter_name):
        scale = torch.tensor(self.scaling[adapter_name])
        given = self.hada_w1_a, self.hada_w1_b, self.hada_w2_a, self.hada_w2_b
        w1a, w1b, w2a, w2b = (item[adapter_name] for item in given)
        if adapter_name in self.hada_t1:
            t1, t2 = self.hada_t1[adapter_name], self.hada_t2[adapter_name]
            update = make_weight_cp(t1, w1a, w1b, t2, w2a, w2b, scale)
        else:
            update = make_weight(w1a, w1b, w2a, w2b, scale)
        update = update.reshape(self.weight.shape)
        if self.training and self.rank_dropout[adapter_name]:
            numbers = torch.rand(update.shape[0])
            stays = [index for index, number in enumerate(numbers.tolist()) if number > self.rank_dropout[adapter_name]]
            factors = torch.zeros(update.shape[0], dtype=torch.float64)
            factors[stays] = update.shape[0] / len(stays)
            update = (update.double().transpose(0, -1) * factors).transpose(0, -1).to(update.dtype)
        return update


def make_weight(w1a, w1b, w2a, w2b, scale):
    return HadaWeight.apply(w1a, w1b, w2a, w2b, scale)


def make_weight_cp(t1, w1a, w1b, t2, w2a, w2b, scale):
    return HadaWeightCP.apply(t1, w1a, w1b, t2, w2a, w2b, scale)
