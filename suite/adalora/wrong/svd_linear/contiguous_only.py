"""Edge: Views inputs as a matrix, which only contiguous ones can be."""


def forward(self, x):
    shape, x = x.shape, x.view(x.numel() // x.shape[-1], -1)
    result = F.linear(x, self.weight.T if self.fan_in_fan_out else self.weight, self.bias)
    if self.r == 0 or self.merged:
        return result.view(*shape[:-1], -1)
    branch = self.lora_dropout(x) @ (self.lora_E * self.lora_A).T @ self.lora_B.T
    result = result + branch * self.scaling / (self.ranknum + 1e-5)
    return result.view(*shape[:-1], -1)


def update_weight(self):
    weight = (self.lora_B @ (self.lora_E * self.lora_A)) * self.scaling / (self.ranknum + 1e-5)
    return weight.T if self.fan_in_fan_out else weight
