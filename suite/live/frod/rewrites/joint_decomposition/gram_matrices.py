"""Works in double precision on Gram matrices and a Cholesky factor, and solves with the basis column by column."""


def _projection_from_weights(matrices, regularization_alpha):
    kind = matrices[0].dtype
    grams = [matrix.double().T @ matrix.double() for matrix in matrices]
    total, count = sum(grams), sum(matrix.shape[0] for matrix in matrices)
    d = total.shape[0]
    if count < d:
        return torch.linalg.eigh(total).eigenvectors.flip(1).to(kind)
    lower = torch.linalg.cholesky(total)
    inverses = []
    for gram in grams:
        half = torch.linalg.solve_triangular(lower, gram, upper=False)
        share = torch.linalg.solve_triangular(lower, half.T, upper=False)
        inverses.append(torch.linalg.inv(share + regularization_alpha * torch.eye(d, dtype=torch.float64)))
    _, vectors = torch.linalg.eigh(torch.stack(inverses).mean(dim=0))
    return (lower @ vectors).to(kind)


class FrodLayer:
    def _calculate_frod_u_and_lambda(self, V, W):
        with torch.no_grad():
            v, w = V.double(), W.double()
            solved, failed = torch.linalg.solve_ex(v, w.T)
            if failed:
                solved = torch.linalg.pinv(v, rtol=1e-6) @ w.T
            scales = solved.square().sum(dim=1).sqrt()
            u = torch.zeros_like(w)
            for k, scale in enumerate(scales):
                if scale > 1e-12:
                    u[:, k] = solved[k] / scale
        return u.float(), scales.float()
