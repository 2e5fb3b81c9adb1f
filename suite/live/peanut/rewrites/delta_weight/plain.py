"""The hidden layers in lists; rows are columns of the weight."""


class Linear:
    def _compute_delta_weight(self, adapter, base_weight):
        act = ACT2FN[self.act_fn[adapter]]
        hidden = [act(self.peanut_A[adapter](base_weight.T))]
        for encoder in self.peanut_encoders[adapter]:
            hidden.append(act(encoder(hidden[-1])))
        h = hidden.pop()
        for decoder in self.peanut_decoders[adapter]:
            h = act(decoder(h)) + hidden.pop()
        return self.scaling[adapter] * self.peanut_B[adapter](h).T
