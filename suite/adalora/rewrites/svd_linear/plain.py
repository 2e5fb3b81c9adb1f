"""The paper's product of three matrices."""


def forward(self, x):
    result = F.linear(x, self.weight.T if self.fan_in_fan_out else self.weight, self.bias)
    if self.r == 0 or self.merged:
        return result
    branch = self.lora_dropout(x) @ (self.lora_E * self.lora_A).T @ self.lora_B.T
    return result + branch * self.scaling / (self.ranknum + 1e-5)


def update_weight(self):
    increment = self.lora_B @ (self.lora_E * self.lora_A) * self.scaling / (self.ranknum + 1e-5)
    return increment.T if self.fan_in_fan_out else increment
