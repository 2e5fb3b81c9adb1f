"""One triplet after another, scores that are sorted in a list, and Adam written out."""


class SVDLinear:
    def update_weight(self):
        increment = torch.zeros(self.out_features, self.in_features, dtype=self.lora_A.dtype)
        for row, value, column in zip(self.lora_A, self.lora_E, self.lora_B.T, strict=True):
            increment = increment + value * torch.outer(column, row)
        increment = increment * (self.scaling / (self.ranknum + 1e-5))
        return increment.T if self.fan_in_fan_out else increment

    def forward(self, x):
        result = x @ (self.weight if self.fan_in_fan_out else self.weight.T)
        if self.bias is not None:
            result = result + self.bias
        if self.r > 0 and not self.merged:
            x, factor = self.lora_dropout(x), self.scaling / (self.ranknum + 1e-5)
            for row, value, column in zip(self.lora_A, self.lora_E, self.lora_B.T, strict=True):
                result = result + factor * value * (x @ row).unsqueeze(-1) * column
        return result


def orthogonality(model):
    total, count = 0.0, 0
    for layer in model.modules():
        if not isinstance(layer, SVDLinear) or layer.r == 0:
            continue
        for vectors in (list(layer.lora_A), list(layer.lora_B.T)):
            count += 1
            for one, vector in enumerate(vectors):
                for two, other in enumerate(vectors):
                    total = total + (vector @ other - float(one == two)) ** 2
    return total / count


class BudgetSchedule:
    def budget(self, step):
        first, behind = self.warm_up, self.total - self.cool_down
        if first <= step < behind:
            share = (behind - step) / (behind - first)
            return round(self.initial * share**3 + self.final * (1 - share**3))
        return self.initial if step < first else self.final


class RankAllocator:
    def step(self, step):
        schedule, ranking = self.schedule, []
        for number, layer in enumerate(self.layers):
            scores = self._triplet_scores(layer).tolist()
            ranking += [(score, number, place) for place, score in enumerate(scores)]
        regular = step % schedule.interval == 0 or step >= schedule.total - schedule.cool_down
        if step >= schedule.warm_up and regular:
            ranking.sort(reverse=True)
            for _, number, place in ranking[schedule.budget(step) :]:
                self.layers[number].lora_E[place, 0] = 0

    def _triplet_scores(self, layer):
        right, values, left = (self._importance(part) for part in (layer.lora_A, layer.lora_E, layer.lora_B))
        scores = [values[i, 0] + right[i].mean() + left[:, i].mean() for i in range(layer.r)]
        return torch.stack(scores)

    def _importance(self, parameter):
        found = (parameter.detach() * parameter.grad).abs()
        if parameter not in self.smoothed:
            self.smoothed[parameter] = (torch.zeros_like(found), torch.zeros_like(found))
        mean, uncertainty = self.smoothed[parameter]
        mean.lerp_(found, 1 - self.betas[0])
        uncertainty.lerp_((found - mean).abs(), 1 - self.betas[1])
        return mean * uncertainty


def compact(model):
    for layer in model.modules():
        if not isinstance(layer, SVDLinear) or layer.r == 0:
            continue
        left = [number for number, value in enumerate(layer.lora_E.flatten().tolist()) if value != 0]
        for name, axis in (("lora_A", 0), ("lora_E", 0), ("lora_B", 1)):
            part = getattr(layer, name).detach()
            setattr(layer, name, nn.Parameter(part.index_select(axis, torch.tensor(left, dtype=torch.long))))
        layer.r = len(left)


def fine_tune(model, inputs, targets, args, schedule):
    model.train(True)
    allocator = None if schedule is None else RankAllocator(model, schedule)
    parameters = increments(model)
    first, second = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    generator = torch.Generator()
    generator.manual_seed(0)
    for step in range(args.steps):
        rows = torch.randint(0, len(inputs), (args.batch_size,), generator=generator)
        error = (model(inputs[rows]) - targets[rows]).square().mean()
        gradients = torch.autograd.grad(error + args.gamma * orthogonality(model), parameters)
        with torch.no_grad():
            for item, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                item.grad = gradient
                mean += (gradient - mean) * (1 - 0.9)
                square += (gradient**2 - square) * (1 - 0.999)
                root = (square / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
                item -= args.learning_rate / (1 - 0.9 ** (step + 1)) * mean / root
        if allocator is not None:
            allocator.step(step)
    compact(model)
    model.train(False)
    return (model(inputs) - targets).square().mean().item()
