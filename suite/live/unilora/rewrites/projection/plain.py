"""Splits the indices by the sizes of the factors, and counts how often each occurs."""


class UniLoraModel:
    def _assign_unilora_indices_and_scales(self, adapter_name):
        tables = []
        for layer in self._iter_unilora_layers():
            if adapter_name in layer.unilora_indices_A:
                tables += [layer.unilora_indices_A, layer.unilora_indices_B]
        config = self.peft_config[adapter_name]
        sizes = [table[adapter_name].numel() for table in tables]
        indices = self.generate_index(sum(sizes), config.theta_d_length, config.proj_seed)
        for table, part in zip(tables, indices.split(sizes)):
            table[adapter_name] = part.view(table[adapter_name].shape).clone()
        counts = torch.bincount(indices, minlength=config.theta_d_length)
        for layer in self._iter_unilora_layers():
            if adapter_name in layer.unilora_indices_A:
                a, b = layer.unilora_indices_A[adapter_name], layer.unilora_indices_B[adapter_name]
                layer.update_scaling(adapter_name, counts[a] ** -0.5, counts[b] ** -0.5)


class Linear:
    def _get_lora_matrices(self, adapter, cast_to_fp32=False):
        theta, scales = self.unilora_theta_d[adapter], (self.unilora_scales_A[adapter], self.unilora_scales_B[adapter])
        if cast_to_fp32:
            theta, scales = theta.float(), [item.float() for item in scales]
        return theta[self.unilora_indices_A[adapter]] * scales[0], theta[self.unilora_indices_B[adapter]] * scales[1]
