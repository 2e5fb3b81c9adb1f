"""Updates the averages in place, ranks triplets by topk of the lowest, and multiplies values by a mask."""

import math


class RankAllocator:
    def budget_schedule(self, step: int):
        config = self.peft_config
        curve = config.total_step - config.tfinal - config.tinit
        at = step - config.tinit
        if at <= 0:
            budget, is_cut = self.init_bgt, False
        elif at > curve:
            budget, is_cut = self.target_bgt, True
        else:
            budget = math.floor(self.target_bgt + (self.init_bgt - self.target_bgt) * (1 - at / curve) ** 3)
            is_cut = step % config.deltaT == 0
        return budget, is_cut

    def update_ipt(self, model):
        named = [(n, p) for n, p in model.named_parameters() if self.adapter_name in n and "lora_" in n]
        with torch.no_grad():
            for name, parameter in named:
                sensitivity = torch.empty_like(parameter).copy_(parameter).mul_(parameter.grad).abs_()
                for held in (self.exp_avg_ipt, self.exp_avg_unc):
                    if name not in held:
                        held[name] = torch.zeros_like(parameter)
                self.ipt[name] = sensitivity
                mean = self.exp_avg_ipt[name].mul_(self.beta1).add_(sensitivity, alpha=1 - self.beta1)
                self.exp_avg_unc[name].mul_(self.beta2).add_((sensitivity - mean).abs_(), alpha=1 - self.beta2)

    def _element_score(self, n):
        return self.exp_avg_ipt[n] * self.exp_avg_unc[n]

    def _combine_ipt(self, ipt_E, ipt_AB):
        return ipt_E.flatten() + ipt_AB @ torch.ones(ipt_AB.shape[1], dtype=ipt_AB.dtype)

    def mask_to_budget(self, model, budget):
        values = {n: p for n, p in model.named_parameters() if f"lora_E.{self.adapter_name}" in n}
        parts = []
        for name in values:
            vectors = [
                self._element_score(name.replace("lora_E", "lora_A")).mean(1),
                self._element_score(name.replace("lora_E", "lora_B")).T.mean(1),
            ]
            parts.append(self._combine_ipt(self._element_score(name), torch.stack(vectors, 1)))
        low = torch.cat(parts).topk(self.init_bgt - budget, largest=False).values
        masks = [~torch.le(part, low.max()) for part in parts]
        for parameter, mask in zip(values.values(), masks, strict=True):
            parameter.data.mul_(mask.to(parameter.dtype).unsqueeze(1))
        return {name: mask.tolist() for name, mask in zip(values, masks, strict=True)}

    def update_and_allocate(self, model, global_step, force_mask=False):
        remaining = self.peft_config.total_step - global_step
        if remaining > self.peft_config.tfinal:
            self.update_ipt(model)
        budget, is_cut = self.budget_schedule(global_step)
        pattern = self.mask_to_budget(model, budget) if force_mask or is_cut else None
        return (budget, pattern)

    def mask_using_rank_pattern(self, model, rank_pattern):
        tail = "." + self.adapter_name
        named = {name if name.endswith(tail) else name + tail: kept for name, kept in rank_pattern.items()}
        for name, parameter in model.named_parameters():
            if name in named:
                keep = torch.tensor(named[name], dtype=torch.bool).view(-1, 1)
                parameter.data.copy_(torch.where(keep, parameter.data, torch.zeros_like(parameter.data)))
