"""Uses the projection as a matrix: its columns are normalised, and its rows multiply the vector."""


class UniLoraModel:
    def _assign_unilora_indices_and_scales(self, adapter_name):
        layers = [layer for layer in self._iter_unilora_layers() if adapter_name in layer.unilora_indices_A]
        if not layers:
            return
        settings = self.peft_config[adapter_name]
        shapes = []
        for layer in layers:
            shapes += [layer.unilora_indices_A[adapter_name].shape, layer.unilora_indices_B[adapter_name].shape]
        indices = self.generate_index(
            sum(shape.numel() for shape in shapes), settings.theta_d_length, settings.proj_seed
        )
        projection = torch.nn.functional.one_hot(indices, settings.theta_d_length).double()
        projection = torch.nn.functional.normalize(projection, dim=0)
        scales = projection.amax(dim=1)
        start = 0
        for layer in layers:
            found = []
            for table in (layer.unilora_indices_A, layer.unilora_indices_B):
                shape = table[adapter_name].shape
                part = slice(start, start + shape.numel())
                table[adapter_name] = torch.tensor(indices[part].tolist()).reshape(shape)
                found.append(scales[part].reshape(shape).float())
                start = part.stop
            layer.update_scaling(adapter_name, *found)


class Linear:
    def _get_lora_matrices(self, adapter, cast_to_fp32=False):
        theta = self.unilora_theta_d[adapter]
        wanted = torch.float32 if cast_to_fp32 else theta.dtype
        factors = []
        for indices, scales in (
            (self.unilora_indices_A[adapter], self.unilora_scales_A[adapter]),
            (self.unilora_indices_B[adapter], self.unilora_scales_B[adapter]),
        ):
            rows = torch.nn.functional.one_hot(indices, len(theta)).to(wanted) * scales.to(wanted).unsqueeze(-1)
            factors.append(rows @ theta.to(wanted))
        return tuple(factors)
