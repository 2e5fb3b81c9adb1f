"""The top-k admixture of section 3.2, and factors put together as section 3.1 says."""


class Linear:
    def _get_low_rank_matrix(self, logits, vblora_vector_bank, topk):
        chosen, places = logits.topk(topk)
        return (chosen.softmax(-1).unsqueeze(-1) * vblora_vector_bank[places]).sum(-2)

    def _get_lora_matrices(self, adapter, cast_to_fp32=False):
        logits_a, logits_b = self.vblora_logits_A[adapter], self.vblora_logits_B[adapter]
        bank = self.vblora_vector_bank[adapter]
        if self.training and logits_a[0, 0].isinf().any():
            raise RuntimeError("A model with the chosen weights alone can't be trained.")
        if cast_to_fp32:
            logits_a, logits_b, bank = logits_a.float(), logits_b.float(), bank.float()
        a = self._get_low_rank_matrix(logits_a, bank, self.topk[adapter]).flatten(1)
        b = self._get_low_rank_matrix(logits_b, bank, self.topk[adapter]).mT.flatten(0, 1)
        return a, b

    def get_delta_weight(self, adapter):
        a, b = self._get_lora_matrices(adapter, self.vblora_logits_A[adapter].dtype == torch.float16)
        return (b @ a).T if self.fan_in_fan_out else b @ a
