"""The inverse and the powers as the paper writes them."""


class OrthLayer:
    def get_matrix(self):
        matrix = self.weight
        if self.orth:
            q = self._skew_symmetric()
            eye = torch.eye(self.size, dtype=q.dtype)
            if not self.use_cayley_neumann:
                matrix = (eye + q) @ torch.linalg.inv(eye - q)
            else:
                if self.cayley_neumann_eps is not None:
                    q = self._project_Q(q, self.cayley_neumann_eps)
                series = sum(torch.linalg.matrix_power(q, k) for k in range(self.num_cayley_neumann_terms - 1))
                matrix = (eye + q) @ series
        if self.vector_b is not None:
            matrix = torch.diag(self.vector_b) @ matrix
        if self.vector_a is not None:
            matrix = matrix @ torch.diag(self.vector_a)
        return matrix


class PsoftLayer:
    def _build_psoft_ab_cache_buffers(self, adapter_name, init_type):
        weight = transpose(self.get_base_layer().weight.detach().float(), self.fan_in_fan_out)
        left, values, right = self._compute_svd_factors(
            weight,
            self.r[adapter_name],
            svd_mode=self.psoft_svd[adapter_name],
            niter=self.psoft_svd_lowrank_niter[adapter_name],
            random_seed=self.random_seed[adapter_name],
        )
        values = values / self.scaling[adapter_name]
        if init_type == "psoft_init":
            a, b = right, left * values
        else:
            a, b = values.sqrt()[:, None] * right, left * values.sqrt()
        self._set_psoft_ab_cache_buffers(adapter_name, a.contiguous(), b.contiguous())
