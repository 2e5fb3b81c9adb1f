"""Cuts inputs and outputs into pieces, contracts them with the sub-vectors, and sums outer products."""


def _weights(logits, topk):
    greatest, places = torch.sort(logits, dim=-1, descending=True)
    greatest, places = greatest[..., :topk], places[..., :topk]
    shifted = greatest - greatest[..., :1]
    return shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True), places


def _pieces(layer, adapter, dtype=None):
    a, b = layer.vblora_logits_A[adapter], layer.vblora_logits_B[adapter]
    if layer.training and not torch.isfinite(a[0, 0]).all():
        raise RuntimeError("not to be trained")
    bank = layer.vblora_vector_bank[adapter]
    if dtype is not None:
        a, b, bank = a.to(dtype), b.to(dtype), bank.to(dtype)
    topk = layer.topk[adapter]
    return layer._get_low_rank_matrix(a, bank, topk), layer._get_low_rank_matrix(b, bank, topk)


class Linear:
    def _get_low_rank_matrix(self, logits, vblora_vector_bank, topk):
        weights, places = _weights(logits, topk)
        mixed = 0
        for number in range(topk):
            vectors = torch.nn.functional.embedding(places[..., number], vblora_vector_bank)
            mixed = mixed + weights[..., number, None] * vectors
        return mixed

    def _get_lora_matrices(self, adapter, cast_to_fp32=False):
        a, b = _pieces(self, adapter, torch.float32 if cast_to_fp32 else None)
        rank, _, length = a.shape
        return torch.cat(a.unbind(1), dim=1), b.permute(0, 2, 1).reshape(b.shape[0] * length, rank)

    def get_delta_weight(self, adapter):
        half = self.vblora_logits_A[adapter].dtype == torch.float16
        a, b = _pieces(self, adapter, torch.float32 if half else None)
        update = torch.einsum("orj,rit->ojit", b, a).flatten(2).flatten(0, 1)
        return update.T if self.fan_in_fan_out else update
