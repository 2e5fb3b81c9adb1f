"""Takes the singular value decomposition of the stack in place of QR, and inverts by eigenvalues."""


def _ridge_inverse(part, alpha):
    values, vectors = torch.linalg.eigh(part.mT @ part)
    return vectors @ torch.diag(1 / (values + alpha)) @ vectors.mT


def _projection_from_weights(matrices, regularization_alpha):
    stack = torch.vstack(list(matrices))
    wide = stack.shape[0] < stack.shape[1]
    left, values, right = torch.linalg.svd(stack, full_matrices=wide)
    if wide:
        return right.mT.contiguous()
    start, mean = 0, torch.zeros_like(right)
    for matrix in matrices:
        stop = start + matrix.shape[0]
        mean = mean + _ridge_inverse(left[start:stop], regularization_alpha) / len(matrices)
        start = stop
    # Any square root of the Gram matrix of the stack can take the place of R.
    return (right.mT * values) @ torch.linalg.eigh(mean)[1]


class FrodLayer:
    def _calculate_frod_u_and_lambda(self, V, W):
        basis = V.detach().to(torch.float64).mT
        weight = W.detach().to(torch.float64)
        try:
            columns = torch.linalg.solve(basis, weight, left=False)
        except torch.linalg.LinAlgError:
            left, values, right = torch.linalg.svd(basis)
            large = values > 1e-6 * values.max()
            inverse = right[large].mT @ torch.diag(1 / values[large]) @ left[:, large].mT
            columns = weight @ inverse
        lengths = torch.linalg.vector_norm(columns, dim=0)
        directions = columns / lengths.masked_fill(lengths <= 1e-12, torch.inf)
        return directions.to(torch.float32), lengths.to(torch.float32)
