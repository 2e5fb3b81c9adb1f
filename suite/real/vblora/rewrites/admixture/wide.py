"""Computes in double precision, with weights from a log-sum-exp, and rounds what it returns."""


class Linear:
    def _get_low_rank_matrix(self, logits, vblora_vector_bank, topk):
        kept, places = logits.double().topk(topk)
        weights = (kept - torch.logsumexp(kept, dim=-1, keepdim=True)).exp()
        vectors = vblora_vector_bank.double().index_select(0, places.reshape(-1)).reshape(*places.shape, -1)
        return torch.einsum("...k,...kb->...b", weights, vectors).to(logits.dtype)

    def _get_lora_matrices(self, adapter, cast_to_fp32=False):
        of_a, of_b = self.vblora_logits_A[adapter], self.vblora_logits_B[adapter]
        if self.training:
            first = of_a[0, 0]
            if (first.abs() == float("inf")).any():
                raise RuntimeError("some logits are lost")
        bank = self.vblora_vector_bank[adapter]
        if cast_to_fp32:
            of_a, of_b, bank = of_a.float(), of_b.float(), bank.float()
        topk = self.topk[adapter]
        rows = [torch.cat(list(self._get_low_rank_matrix(row, bank, topk))) for row in of_a]
        columns = [torch.cat(list(self._get_low_rank_matrix(of_b[:, k], bank, topk))) for k in range(len(of_a))]
        return torch.stack(rows), torch.stack(columns, dim=1)

    def get_delta_weight(self, adapter):
        dtype = self.vblora_logits_A[adapter].dtype
        a, b = self._get_lora_matrices(adapter, dtype == torch.float16)
        update = sum(torch.outer(b[:, k].double(), a[k].double()) for k in range(len(a)))
        if self.fan_in_fan_out:
            update = update.transpose(0, 1)
        return update.to(a.dtype)
