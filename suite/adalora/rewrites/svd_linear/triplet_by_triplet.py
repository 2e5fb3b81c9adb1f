"""Adds one triplet after another."""


def forward(self, x):
    result = F.linear(x, self.weight.T if self.fan_in_fan_out else self.weight, self.bias)
    if self.r == 0 or self.merged:
        return result
    x = self.lora_dropout(x)
    factor = self.scaling / (self.ranknum + 1e-5)
    for row, value, column in zip(self.lora_A, self.lora_E, self.lora_B.T):
        result = result + factor * value * (x * row).sum(dim=-1, keepdim=True) * column
    return result


def update_weight(self):
    weight = sum(
        value * torch.outer(column, row) for row, value, column in zip(self.lora_A, self.lora_E, self.lora_B.T)
    )
    weight = weight * self.scaling / (self.ranknum + 1e-5)
    return weight.T if self.fan_in_fan_out else weight
