"""The series by Horner's rule and the transform by a transposed system; the factors by multiplying the weight."""


class OrthLayer:
    def get_matrix(self):
        if self.orth:
            given = self.weight.dtype
            q = self._skew_symmetric()
            if q.dtype in (torch.float16, torch.bfloat16):
                q = q.float()
            one = torch.eye(self.size, dtype=q.dtype)
            if self.use_cayley_neumann:
                if self.cayley_neumann_eps is not None:
                    q = self._project_Q(q, eps=self.cayley_neumann_eps)
                inner = one
                for _ in range(self.num_cayley_neumann_terms - 2):
                    inner = one + q @ inner
                turned = inner + q @ inner
            else:
                # R (I - Q) = I + Q, and (I - Q)^T = I + Q.
                turned = torch.linalg.solve(one + q, one - q).mT
            turned = turned.to(given)
        else:
            turned = self.weight
        for vector, dim in ((self.vector_b, 1), (self.vector_a, 0)):
            if vector is not None:
                turned = turned * vector.unsqueeze(dim)
        return turned


class PsoftLayer:
    def _build_psoft_ab_cache_buffers(self, adapter_name, init_type):
        weight = self.get_base_layer().weight.detach()
        if weight.dtype == torch.float64 or not weight.is_floating_point():
            raise TypeError(f"cannot decompose a weight in {weight.dtype}")
        if init_type not in ("psoft_init", "pissa_init"):
            raise ValueError(f"ab_svd_init is {init_type!r}")
        weight = transpose(weight.float(), self.fan_in_fan_out)
        settings = (table[adapter_name] for table in (self.psoft_svd, self.psoft_svd_lowrank_niter, self.random_seed))
        mode, niter, seed = settings
        left, values, right = self._compute_svd_factors(
            weight, self.r[adapter_name], svd_mode=mode, niter=niter, random_seed=seed
        )
        share = values / self.scaling[adapter_name]
        first, second = (torch.ones_like(share), share) if init_type == "psoft_init" else (share**0.5, share**0.5)
        a = torch.einsum("r,ri->ri", first, right)
        b = torch.einsum("or,r->or", left, second)
        self._set_psoft_ab_cache_buffers(adapter_name, a.clone(memory_format=torch.contiguous_format), b.contiguous())
