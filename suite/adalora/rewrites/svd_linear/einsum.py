"""Sums over triplets with einsum."""


def forward(self, x):
    result = torch.einsum("...i,io->...o" if self.fan_in_fan_out else "...i,oi->...o", x, self.weight)
    if self.bias is not None:
        result = result + self.bias
    if self.r and not self.merged:
        branch = torch.einsum(
            "...i,ri,r,or->...o", self.lora_dropout(x), self.lora_A, self.lora_E.squeeze(1), self.lora_B
        )
        result = result + self.scaling * branch / (self.ranknum + 1e-5)
    return result


def update_weight(self):
    equation = "or,r,ri->io" if self.fan_in_fan_out else "or,r,ri->oi"
    weight = torch.einsum(equation, self.lora_B, self.lora_E.squeeze(1), self.lora_A)
    return weight * (self.scaling / (self.ranknum + 1e-5))
