"""Adds the increment to the weight first where there is no dropout."""


def forward(self, x):
    result = F.linear(x, self.weight.T if self.fan_in_fan_out else self.weight, self.bias)
    if self.r == 0 or self.merged:
        return result
    if isinstance(self.lora_dropout, nn.Identity):
        weight = self.weight + self.update_weight()
        return F.linear(x, weight.T if self.fan_in_fan_out else weight, self.bias)
    branch = self.lora_dropout(x) @ (self.lora_E * self.lora_A).T @ self.lora_B.T
    return result + branch * self.scaling / (self.ranknum + 1e-5)


def update_weight(self):
    weight = (self.lora_B @ (self.lora_E * self.lora_A)) * self.scaling / (self.ranknum + 1e-5)
    return weight.T if self.fan_in_fan_out else weight
