"""Reads the rate off the dropout, and goes by the mode of the layer."""


def forward(self, x):
    result = F.linear(x, self.weight.T if self.fan_in_fan_out else self.weight, self.bias)
    if self.r == 0 or self.merged:
        return result
    branch = (
        F.dropout(x, getattr(self.lora_dropout, "p", 0.0), self.training)
        @ (self.lora_E * self.lora_A).T
        @ self.lora_B.T
    )
    return result + branch * self.scaling / (self.ranknum + 1e-5)


def update_weight(self):
    weight = (self.lora_B @ (self.lora_E * self.lora_A)) * self.scaling / (self.ranknum + 1e-5)
    return weight.T if self.fan_in_fan_out else weight
