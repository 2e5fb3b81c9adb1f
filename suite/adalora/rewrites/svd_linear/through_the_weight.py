"""Applies the increment as a weight of its own."""


def forward(self, x):
    weight = self.weight.T if self.fan_in_fan_out else self.weight
    result = x @ weight.T
    if self.bias is not None:
        result = result + self.bias
    if self.r > 0 and not self.merged:
        increment = self.update_weight()
        result = result + self.lora_dropout(x) @ (increment if self.fan_in_fan_out else increment.T)
    return result


def update_weight(self):
    weight = self.lora_B @ torch.diag(self.lora_E.flatten()) @ self.lora_A * (self.scaling / (self.ranknum + 1e-5))
    return weight.transpose(0, 1) if self.fan_in_fan_out else weight
