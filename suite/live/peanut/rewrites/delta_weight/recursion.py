"""Nests the pairs: each encoder and its mirrored decoder surround the rest of the network."""


def _inner(h, pairs, act):
    if not pairs:
        return h
    (encoder, decoder), *rest = pairs
    return act(decoder(_inner(act(encoder(h)), rest, act))) + h


class Linear:
    def _compute_delta_weight(self, adapter, base_weight):
        if adapter not in self.peanut_A:
            raise ValueError(f"no adapter named {adapter}")
        act = ACT2FN[self.act_fn[adapter]]
        first, last = self.peanut_A[adapter], self.peanut_B[adapter]
        pairs = list(zip(self.peanut_encoders[adapter], reversed(self.peanut_decoders[adapter])))
        columns = base_weight.mT.to(first.weight.dtype)
        return last(_inner(act(first(columns)), pairs, act)).mul(self.scaling[adapter]).mT
