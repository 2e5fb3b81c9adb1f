"""Collects the parameters of a layer first, sorts all scores at once, and smooths with lerp."""


class RankAllocator:
    def _triples(self, model):
        layers = {}
        for name, parameter in model.named_parameters():
            for which in ("A", "B", "E"):
                mark = f"lora_{which}.{self.adapter_name}"
                if mark in name:
                    layers.setdefault(name.replace(f"lora_{which}", "lora_E"), {})[which] = (name, parameter)
        return layers

    def budget_schedule(self, step: int):
        config = self.peft_config
        last = config.total_step - config.tfinal
        if step <= config.tinit:
            return self.init_bgt, False
        if step <= last:
            left = 1 - (step - config.tinit) / (last - config.tinit)
            budget = self.target_bgt + (self.init_bgt - self.target_bgt) * left * left * left
            return int(budget), not step % config.deltaT
        return self.target_bgt, True

    @torch.no_grad()
    def update_ipt(self, model):
        for name, parameter in model.named_parameters():
            if "lora_" not in name or self.adapter_name not in name:
                continue
            new = torch.abs(parameter.grad) * torch.abs(parameter)
            zero = torch.zeros_like(new)
            mean = torch.lerp(new, self.exp_avg_ipt.get(name, zero), self.beta1)
            away = torch.lerp((mean - new).abs(), self.exp_avg_unc.get(name, zero), self.beta2)
            self.ipt[name], self.exp_avg_ipt[name], self.exp_avg_unc[name] = new, mean, away

    def _element_score(self, n):
        return torch.mul(self.exp_avg_unc[n], self.exp_avg_ipt[n])

    def _combine_ipt(self, ipt_E, ipt_AB):
        return torch.cat([ipt_E, ipt_AB], dim=1).sum(dim=1)

    def mask_to_budget(self, model, budget):
        layers = self._triples(model)
        scores = {}
        for name, parts in layers.items():
            rows = self._element_score(parts["A"][0]).mean(dim=1)
            columns = self._element_score(parts["B"][0]).mean(dim=0)
            scores[name] = self._combine_ipt(self._element_score(parts["E"][0]), torch.stack([rows, columns], dim=1))
        flat = torch.cat(list(scores.values()))
        threshold = flat.sort().values[len(flat) - budget - 1]
        pattern = {}
        for name, parts in layers.items():
            keep = scores[name] > threshold
            with torch.no_grad():
                parts["E"][1][~keep] = 0
            pattern[name] = [bool(item) for item in keep]
        return pattern

    def update_and_allocate(self, model, global_step, force_mask=False):
        if global_step + self.peft_config.tfinal < self.peft_config.total_step:
            self.update_ipt(model)
        budget, is_time = self.budget_schedule(global_step)
        if not (is_time or force_mask):
            return budget, None
        return budget, self.mask_to_budget(model, budget)

    def mask_using_rank_pattern(self, model, rank_pattern):
        for name, parts in self._triples(model).items():
            kept = (
                rank_pattern[name] if name in rank_pattern else rank_pattern[name.replace("." + self.adapter_name, "")]
            )
            parameter = parts["E"][1]
            cut = [place for place, item in enumerate(kept) if not item]
            with torch.no_grad():
                parameter[cut] = 0.0
