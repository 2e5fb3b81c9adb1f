"""Softmax over all logits with those below the choice at negative infinity, then one product with the bank."""


class Linear:
    def _get_low_rank_matrix(self, logits, vblora_vector_bank, topk):
        places = torch.topk(logits.detach(), topk, dim=-1)[1]
        chosen = torch.zeros(logits.shape, dtype=torch.bool).scatter_(-1, places, True)
        weights = torch.softmax(logits.masked_fill(~chosen, float("-inf")), dim=-1)
        return weights @ vblora_vector_bank

    def _get_lora_matrices(self, adapter, cast_to_fp32=False):
        given = [self.vblora_logits_A[adapter], self.vblora_logits_B[adapter], self.vblora_vector_bank[adapter]]
        if self.training and torch.isinf(given[0][0, 0]).any().item():
            raise RuntimeError("logits are infinite in training")
        if cast_to_fp32:
            given = [item.to(torch.float32) for item in given]
        a, b, bank = given
        of_a = self._get_low_rank_matrix(a, bank, self.topk[adapter]).flatten(1)
        of_b = self._get_low_rank_matrix(b.transpose(0, 1), bank, self.topk[adapter]).flatten(1)
        return of_a, of_b.T

    def get_delta_weight(self, adapter):
        half = self.vblora_logits_A[adapter].dtype == torch.float16
        a, b = self._get_lora_matrices(adapter, cast_to_fp32=half)
        return a.T @ b.T if self.fan_in_fan_out else b @ a
