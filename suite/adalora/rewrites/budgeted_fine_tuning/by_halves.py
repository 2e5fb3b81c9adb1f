"""Gradients gathered over two halves of a batch, smoothing by differences, and a mask of the largest scores."""


class SVDLinear:
    def update_weight(self):
        left = self.lora_B * (self.scaling / (self.ranknum + 1e-5) * self.lora_E.flatten())
        return self.lora_A.T @ left.T if self.fan_in_fan_out else left @ self.lora_A

    def forward(self, x):
        weight = self.weight.T if self.fan_in_fan_out else self.weight
        result = torch.matmul(x, weight.T)
        result = result if self.bias is None else result + self.bias
        if self.r and not self.merged:
            inner = F.linear(self.lora_dropout(x), self.lora_A) * self.lora_E.view(-1)
            result = result + F.linear(inner, self.lora_B) / (self.ranknum + 1e-5) * self.scaling
        return result


def orthogonality(model):
    norms = []
    for layer in model.modules():
        if isinstance(layer, SVDLinear) and layer.r > 0:
            identity = torch.eye(layer.r, dtype=layer.lora_A.dtype)
            right = torch.einsum("ik,jk->ij", layer.lora_A, layer.lora_A) - identity
            left = torch.einsum("ki,kj->ij", layer.lora_B, layer.lora_B) - identity
            norms.append(((right**2).sum() + (left**2).sum()) / 2)
    return sum(norms) / len(norms)


class BudgetSchedule:
    def budget(self, step):
        if step < self.warm_up:
            return self.initial
        left = self.total - self.cool_down - step
        if left <= 0:
            return self.final
        share = left / (left + step - self.warm_up)
        return round(self.final - (self.final - self.initial) * share * share * share)


class RankAllocator:
    def step(self, step):
        scores = torch.cat([self._triplet_scores(layer) for layer in self.layers])
        cooling = self.schedule.total - step <= self.schedule.cool_down
        due = cooling or step // self.schedule.interval * self.schedule.interval == step
        if step >= self.schedule.warm_up and due:
            ranks = scores.argsort(descending=True).argsort()
            mask = (ranks < self.schedule.budget(step)).to(scores.dtype)
            for layer in self.layers:
                kept, mask = mask[: layer.r], mask[layer.r :]
                layer.lora_E.mul_(kept.unsqueeze(1))

    def _triplet_scores(self, layer):
        joined = torch.cat(
            [
                self._importance(layer.lora_E),
                self._importance(layer.lora_A) / layer.lora_A.shape[1],
                self._importance(layer.lora_B).T / layer.lora_B.shape[0],
            ],
            dim=1,
        )
        return joined.sum(1)

    def _importance(self, parameter):
        sensitivity = (parameter.detach() * parameter.grad).abs()
        mean, uncertainty = self.smoothed.get(parameter, (0.0, 0.0))
        mean = sensitivity - self.betas[0] * (sensitivity - mean)
        distance = (sensitivity - mean).abs()
        uncertainty = distance - self.betas[1] * (distance - uncertainty)
        self.smoothed[parameter] = mean, uncertainty
        return uncertainty * mean


def compact(model):
    for layer in model.modules():
        if isinstance(layer, SVDLinear) and layer.r > 0:
            keep = layer.lora_E[:, 0].ne(0)
            parts = {"lora_A": layer.lora_A[keep], "lora_E": layer.lora_E[keep], "lora_B": layer.lora_B.T[keep].T}
            for name, part in parts.items():
                setattr(layer, name, nn.Parameter(part.contiguous(), requires_grad=True))
            layer.r = keep.sum().item()


def fine_tune(model, inputs, targets, args, schedule):
    model.train()
    parameters = increments(model)
    allocator = RankAllocator(model, schedule) if schedule else None
    optimizer = torch.optim.Adam([{"params": [parameter]} for parameter in parameters], lr=args.learning_rate)
    generator = torch.Generator().manual_seed(0)
    for step in range(args.steps):
        rows = torch.randint(inputs.shape[0], (args.batch_size,), generator=generator)
        optimizer.zero_grad()
        for half in rows.split((len(rows) + 1) // 2):
            error = (model(inputs[half]) - targets[half]) ** 2
            (error.mean(1).sum() / args.batch_size).backward()
        (args.gamma * orthogonality(model)).backward()
        optimizer.step()
        if allocator:
            allocator.step(step)
    compact(model)
    model.eval()
    with torch.no_grad():
        return ((model(inputs) - targets) ** 2).sum().item() / targets.numel()
