"""In double precision throughout; for the full decomposition by the eigenvectors of the smaller Gram matrix."""


def _turn(q, terms, exact):
    eye = torch.eye(len(q), dtype=q.dtype)
    if exact:
        # (I + Q)(I - Q)^-1 = 2 (I - Q)^-1 - I.
        return 2 * torch.linalg.inv(eye - q) - eye
    total, power = eye, eye
    for _ in range(terms - 2):
        power = power @ q
        total = total + 2 * power
    return total + power @ q


class OrthLayer:
    def get_matrix(self):
        dtype = self.weight.dtype
        if self.orth:
            q = torch.zeros(self.size, self.size, dtype=torch.float64).index_put(
                (self.rows, self.cols), self.weight.double()
            )
            q = q - q.mT
            eps = self.cayley_neumann_eps
            if self.use_cayley_neumann and eps is not None:
                q = self._project_Q(q, eps=eps)
            matrix = _turn(q, int(self.num_cayley_neumann_terms), not self.use_cayley_neumann)
        else:
            matrix = self.weight.double()
        if self.mag_b:
            matrix = self.vector_b.double().view(-1, 1) * matrix
        if self.mag_a:
            matrix = matrix * self.vector_a.double()
        return matrix.to(dtype)


class PsoftLayer:
    @torch.no_grad()
    def _build_psoft_ab_cache_buffers(self, adapter_name, init_type):
        given = self.get_base_layer().weight
        if given.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
            raise TypeError("the weight has another dtype")
        powers = {"psoft_init": (0.0, 1.0), "pissa_init": (0.5, 0.5)}
        if init_type not in powers:
            raise ValueError("unknown init_type")
        weight = transpose(given, self.fan_in_fan_out).float()
        r = self.r[adapter_name]
        if self.psoft_svd[adapter_name] == "full":
            wide = weight.double()
            if wide.shape[0] <= wide.shape[1]:
                left = torch.linalg.eigh(wide @ wide.T)[1].flip(1)[:, :r]
                values = (left.T @ wide).norm(dim=1)
                right = (left.T @ wide) / values[:, None]
            else:
                right = torch.linalg.eigh(wide.T @ wide)[1].flip(1)[:, :r].T
                values = (wide @ right.T).norm(dim=0)
                left = (wide @ right.T) / values
        else:
            left, values, right = self._compute_svd_factors(
                weight,
                r,
                svd_mode=self.psoft_svd[adapter_name],
                niter=self.psoft_svd_lowrank_niter[adapter_name],
                random_seed=self.random_seed[adapter_name],
            )
        of_a, of_b = powers[init_type]
        values = values / self.scaling[adapter_name]
        a, b = values[:, None] ** of_a * right, left * values**of_b
        self._set_psoft_ab_cache_buffers(adapter_name, a.float().contiguous(), b.float().contiguous())
