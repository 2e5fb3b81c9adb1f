"""Scores in double precision with plain lists of Python for the threshold, and rounds what is put down."""


class RankAllocator:
    def budget_schedule(self, step: int):
        settings = self.peft_config
        start, end = settings.tinit, settings.total_step - settings.tfinal
        if step > end and step > start:
            return self.target_bgt, True
        if step <= start:
            return self.init_bgt, False
        gone = step - start
        whole = end - start
        # In whole numbers, without rounding.
        over = (self.init_bgt - self.target_bgt) * (whole - gone) ** 3
        return self.target_bgt + over // whole**3, step % settings.deltaT == 0

    def update_ipt(self, model):
        for name, parameter in dict(model.named_parameters()).items():
            if "lora_" in name and self.adapter_name in name:
                value, gradient = parameter.detach().double(), parameter.grad.detach().double()
                new = (value * gradient).abs()
                mean, away = (1 - self.beta1) * new, None
                if name in self.exp_avg_ipt:
                    mean = mean + self.beta1 * self.exp_avg_ipt[name].double()
                away = (1 - self.beta2) * (new - mean).abs()
                if name in self.exp_avg_unc:
                    away = away + self.beta2 * self.exp_avg_unc[name].double()
                self.ipt[name] = new.to(parameter.dtype)
                self.exp_avg_ipt[name] = mean.to(parameter.dtype)
                self.exp_avg_unc[name] = away.to(parameter.dtype)

    def _element_score(self, n):
        mean, away = self.exp_avg_ipt[n], self.exp_avg_unc[n]
        return (mean.double() * away.double()).to(mean.dtype)

    def _combine_ipt(self, ipt_E, ipt_AB):
        total = ipt_E[:, 0].double()
        for column in ipt_AB.unbind(dim=1):
            total = total + column
        return total.to(ipt_E.dtype)

    def mask_to_budget(self, model, budget):
        parameters = dict(model.named_parameters())
        mark = f"lora_E.{self.adapter_name}"
        scores = {}
        for name in parameters:
            if mark in name:
                a, b = name.replace("lora_E", "lora_A"), name.replace("lora_E", "lora_B")
                rows = (self.exp_avg_ipt[a].double() * self.exp_avg_unc[a].double()).sum(1) / self.exp_avg_ipt[a].shape[
                    1
                ]
                columns = (self.exp_avg_ipt[b].double() * self.exp_avg_unc[b].double()).sum(0) / self.exp_avg_ipt[
                    b
                ].shape[0]
                value = self.exp_avg_ipt[name].double() * self.exp_avg_unc[name].double()
                scores[name] = (value[:, 0] + rows + columns).tolist()
        order = sorted(score for one in scores.values() for score in one)
        threshold = order[self.init_bgt - budget - 1]
        pattern = {name: [score > threshold for score in one] for name, one in scores.items()}
        self.mask_using_rank_pattern(model, pattern)
        return pattern

    def update_and_allocate(self, model, global_step, force_mask=False):
        budget, pattern = self.budget_schedule(global_step), None
        if global_step < self.peft_config.total_step - self.peft_config.tfinal:
            self.update_ipt(model)
        if budget[1] or force_mask:
            pattern = self.mask_to_budget(model, budget[0])
        return budget[0], pattern

    def mask_using_rank_pattern(self, model, rank_pattern):
        short = not any(self.adapter_name in name for name in rank_pattern)
        for name, parameter in model.named_parameters():
            if f"lora_E.{self.adapter_name}" not in name:
                continue
            kept = rank_pattern[name.replace(f".{self.adapter_name}", "") if short else name]
            for place, is_kept in enumerate(kept):
                if not is_kept:
                    parameter.data[place].zero_()
