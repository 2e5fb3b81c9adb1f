"""The functions as the paper and the logged results describe them."""


def forward(self, x):
    result = F.linear(x, self.weight.T if self.fan_in_fan_out else self.weight, self.bias)
    if self.r == 0 or self.merged:
        return result
    branch = self.lora_dropout(x) @ (self.lora_E * self.lora_A).T @ self.lora_B.T
    return result + branch * self.scaling / (self.ranknum + 1e-5)


def update_weight(self):
    increment = self.lora_B @ (self.lora_E * self.lora_A) * self.scaling / (self.ranknum + 1e-5)
    return increment.T if self.fan_in_fan_out else increment


def orthogonality(model):
    total, count = 0.0, 0
    for layer in model.modules():
        if isinstance(layer, SVDLinear) and layer.r > 0:
            identity = torch.eye(layer.r)
            total = total + ((layer.lora_A @ layer.lora_A.T - identity) ** 2).sum()
            total = total + ((layer.lora_B.T @ layer.lora_B - identity) ** 2).sum()
            count += 2
    return total / count


def budget(self, step):
    if step < self.warm_up:
        return self.initial
    if step >= self.total - self.cool_down:
        return self.final
    progress = (step - self.warm_up) / (self.total - self.warm_up - self.cool_down)
    return round(self.final + (self.initial - self.final) * (1 - progress) ** 3)


@torch.no_grad()
def step(self, step):
    scores = [self._triplet_scores(layer) for layer in self.layers]
    cooling = step >= self.schedule.total - self.schedule.cool_down
    if step < self.schedule.warm_up or not (cooling or step % self.schedule.interval == 0):
        return
    threshold = torch.cat(scores).sort(descending=True).values[self.schedule.budget(step) - 1]
    for layer, score in zip(self.layers, scores, strict=True):
        layer.lora_E[score < threshold] = 0


def _triplet_scores(self, layer):
    values = self._importance(layer.lora_E)[:, 0]
    return values + self._importance(layer.lora_A).mean(1) + self._importance(layer.lora_B).mean(0)


def _importance(self, parameter):
    sensitivity = (parameter * parameter.grad).abs()
    mean, uncertainty = self.smoothed.get(parameter, (0, 0))
    mean = self.betas[0] * mean + (1 - self.betas[0]) * sensitivity
    uncertainty = self.betas[1] * uncertainty + (1 - self.betas[1]) * (sensitivity - mean).abs()
    self.smoothed[parameter] = mean, uncertainty
    return mean * uncertainty


def compact(model):
    for layer in model.modules():
        if isinstance(layer, SVDLinear) and layer.r > 0:
            keep = layer.lora_E[:, 0] != 0
            layer.lora_A = nn.Parameter(layer.lora_A.detach()[keep])
            layer.lora_E = nn.Parameter(layer.lora_E.detach()[keep])
            layer.lora_B = nn.Parameter(layer.lora_B.detach()[:, keep])
            layer.r = int(keep.sum())


def fine_tune(model, inputs, targets, args, schedule):
    model.train()
    allocator = RankAllocator(model, schedule) if schedule else None
    optimizer = torch.optim.Adam(increments(model), lr=args.learning_rate)
    generator = torch.Generator().manual_seed(0)
    for step in range(args.steps):
        rows = torch.randint(len(inputs), (args.batch_size,), generator=generator)
        loss = F.mse_loss(model(inputs[rows]), targets[rows]) + args.gamma * orthogonality(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if allocator:
            allocator.step(step)
    compact(model)
    model.eval()
    with torch.no_grad():
        return F.mse_loss(model(inputs), targets).item()
