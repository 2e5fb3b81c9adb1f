"""Counts by a dictionary, and scales the vector before entries are taken where that is the same."""


class UniLoraModel:
    def _assign_unilora_indices_and_scales(self, adapter_name):
        config = self.peft_config[adapter_name]
        total = 0
        for layer in self._iter_unilora_layers():
            if adapter_name in layer.r:
                total += layer.r[adapter_name] * (layer.in_features + layer.out_features)
        if total == 0:
            return
        left = self.generate_index(total, config.theta_d_length, config.proj_seed).tolist()
        counts = {}
        for index in left:
            counts[index] = counts.get(index, 0) + 1
        for layer in self._iter_unilora_layers():
            if adapter_name not in layer.r:
                continue
            r, given = layer.r[adapter_name], []
            for rows, columns in ((r, layer.in_features), (layer.out_features, r)):
                table, left = left[: rows * columns], left[rows * columns :]
                given.append(torch.tensor(table, dtype=torch.int64).view(rows, columns))
            layer.unilora_indices_A[adapter_name], layer.unilora_indices_B[adapter_name] = given
            scales = [
                torch.tensor([[1 / counts[entry] ** 0.5 for entry in row] for row in table.tolist()]) for table in given
            ]
            layer.update_scaling(adapter_name, scales[0], scales[1])


class Linear:
    def _get_lora_matrices(self, adapter, cast_to_fp32=False):
        theta = self.unilora_theta_d[adapter]
        if cast_to_fp32:
            theta = theta.to(torch.float32)
        pairs = [(self.unilora_indices_A, self.unilora_scales_A), (self.unilora_indices_B, self.unilora_scales_B)]
        found = []
        for indices, scales in pairs:
            taken = torch.index_select(theta, 0, indices[adapter].flatten()).view_as(indices[adapter])
            found.append(torch.mul(taken, scales[adapter].to(theta.dtype)))
        return found[0], found[1]
