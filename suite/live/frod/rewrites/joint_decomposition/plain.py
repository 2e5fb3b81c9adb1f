"""The formulas of the summary, with explicit inverses."""


def _projection_from_weights(matrices, regularization_alpha):
    stacked = torch.cat(matrices)
    rows, d = stacked.shape
    if rows < d:
        return torch.linalg.svd(stacked).Vh.T
    q, r = torch.linalg.qr(stacked)
    eye = torch.eye(d, dtype=r.dtype)
    parts = q.split([len(matrix) for matrix in matrices])
    t = sum(torch.linalg.inv(part.T @ part + regularization_alpha * eye) for part in parts)
    return r.T @ torch.linalg.eigh(t / len(parts)).eigenvectors


class FrodLayer:
    def _calculate_frod_u_and_lambda(self, V, W):
        b = W.detach().double() @ torch.linalg.inv(V.detach().double()).T
        scales = b.norm(dim=0)
        u = torch.where(scales > 1e-12, b / scales, 0)
        return u.float(), scales.float()
