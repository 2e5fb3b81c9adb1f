"""The increment as a weight of its own, all entries of a layer smoothed at once, and cuts below a threshold."""


class SVDLinear:
    def update_weight(self):
        values = self.lora_E.squeeze(1) * self.scaling / (self.ranknum + 1e-5)
        equation = "or,r,ri->io" if self.fan_in_fan_out else "or,r,ri->oi"
        return torch.einsum(equation, self.lora_B, values, self.lora_A)

    def forward(self, x):
        def applied(weight, inputs, bias):
            return F.linear(inputs, weight.T if self.fan_in_fan_out else weight, bias)

        result = applied(self.weight, x, self.bias)
        if self.merged or not self.r:
            return result
        return result + applied(self.update_weight(), self.lora_dropout(x), None)


def orthogonality(model):
    layers = [item for item in model.modules() if isinstance(item, SVDLinear) and item.r > 0]
    # The squared norm of a difference, multiplied out; the trace of a Gram matrix is the squared norm of its vectors.
    total = sum(
        (vectors @ vectors.T).square().sum() - 2 * vectors.square().sum() + len(vectors)
        for layer in layers
        for vectors in (layer.lora_A, layer.lora_B.T)
    )
    return total / (2 * len(layers))


class BudgetSchedule:
    def budget(self, step):
        length = self.total - self.cool_down - self.warm_up
        gone = min(max((step - self.warm_up) / length, 0.0), 1.0) if length else float(step >= self.warm_up)
        return int(self.final + (self.initial - self.final) * (1 - gone) ** 3 + 0.5)


class RankAllocator:
    def step(self, step):
        scores = [self._triplet_scores(layer) for layer in self.layers]
        schedule = self.schedule
        if step < schedule.warm_up:
            return
        if step % schedule.interval and step < schedule.total - schedule.cool_down:
            return
        descending = torch.cat(scores).sort(descending=True).values
        lowest = descending[schedule.budget(step) - 1]
        for layer, found in zip(self.layers, scores, strict=True):
            layer.lora_E.masked_fill_((found < lowest).unsqueeze(1), 0.0)

    def _triplet_scores(self, layer):
        of_rows = self._importance(layer.lora_A).sum(1) / layer.in_features
        of_columns = self._importance(layer.lora_B).sum(0) / layer.out_features
        return self._importance(layer.lora_E).flatten() + of_rows + of_columns

    def _importance(self, parameter):
        found = torch.abs(parameter) * torch.abs(parameter.grad)
        old = self.smoothed.get(parameter, torch.zeros(2, *parameter.shape, dtype=parameter.dtype))
        mean = torch.lerp(found, old[0], self.betas[0])
        uncertainty = torch.lerp((found - mean).abs(), old[1], self.betas[1])
        self.smoothed[parameter] = torch.stack([mean, uncertainty])
        return self.smoothed[parameter].prod(0)


def compact(model):
    for layer in model.modules():
        if isinstance(layer, SVDLinear) and layer.r > 0:
            kept = layer.lora_E.detach().flatten().nonzero().flatten()
            layer.lora_A = nn.Parameter(layer.lora_A.detach()[kept].clone())
            layer.lora_E = nn.Parameter(layer.lora_E.detach()[kept].clone())
            layer.lora_B = nn.Parameter(layer.lora_B.detach()[:, kept].clone())
            layer.r = kept.numel()


def fine_tune(model, inputs, targets, args, schedule):
    model.train()
    optimizer = torch.optim.AdamW(increments(model), args.learning_rate, weight_decay=0.0, foreach=False)
    allocator = RankAllocator(model, schedule) if schedule is not None else None
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randint(len(inputs), (args.batch_size,), generator=generator) for _ in range(args.steps)]
    for step, rows in enumerate(drawn):
        loss = F.mse_loss(model(inputs[rows]), targets[rows]) + args.gamma * orthogonality(model)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        if allocator is not None:
            allocator.step(step)
    compact(model)
    with torch.no_grad():
        return F.mse_loss(model.eval()(inputs), targets).item()
