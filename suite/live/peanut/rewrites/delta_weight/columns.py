"""Keeps the weight's own orientation: matrices multiply from the left, and the scale joins the output projection."""


class Linear:
    def _compute_delta_weight(self, adapter, base_weight):
        try:
            first = self.peanut_A[adapter].weight
        except KeyError:
            raise ValueError("unknown adapter: " + adapter) from None
        last = self.scaling[adapter] * self.peanut_B[adapter].weight
        act = ACT2FN[self.act_fn[adapter]]
        down = [module.weight for module in self.peanut_encoders[adapter]]
        up = [module.weight for module in self.peanut_decoders[adapter]]
        state = act(torch.einsum("ro,oi->ri", first, base_weight.to(first.dtype)))
        states = {0: state}
        for level, matrix in enumerate(down, start=1):
            states[level] = act(matrix @ states[level - 1])
        state = states[len(down)]
        for level, matrix in zip(range(len(up) - 1, -1, -1), up):
            state = states[level] + act(matrix @ state)
        return last @ state
