"""Computes in single precision whatever the layer has."""


def forward(self, x):
    result = x.float() @ (self.weight if self.fan_in_fan_out else self.weight.T).float()
    if self.bias is not None:
        result = result + self.bias.float()
    if self.r == 0 or self.merged:
        return result.to(x.dtype)
    branch = self.lora_dropout(x.float()) @ (self.lora_E * self.lora_A).T.float() @ self.lora_B.T.float()
    return (result + branch * self.scaling / (self.ranknum + 1e-5)).to(x.dtype)


def update_weight(self):
    weight = (self.lora_B @ (self.lora_E * self.lora_A)) * self.scaling / (self.ranknum + 1e-5)
    return weight.T if self.fan_in_fan_out else weight
