"""Widens the tokens by the weights of the experts, and multiplies by all rows of the experts at once."""


class Linear:
    def forward(self, x, *args, **kwargs):
        output = self.base_layer(x, *args, **kwargs)
        if self.disable_adapters or not self.active_adapters:
            return output
        updates = []
        for adapter in self.active_adapters:
            if adapter in self.lily_A:
                first = self.lily_A[adapter]
                tokens = first(x.to(first.weight.dtype)).reshape(-1, first.weight.shape[0])
                logits = F.linear(tokens, self.lily_router[adapter].weight)
                weights = torch.exp(torch.log_softmax(logits, dim=1)).sum(dim=0).div(tokens.shape[0])
                wide = torch.kron(weights.unsqueeze(0), tokens)
                update = self.scaling[adapter] * wide @ self.lily_B[adapter].weight
                updates.append(update.reshape(output.shape).to(output.dtype))
        return sum(updates, output)
