"""A small network whose blocks are joined by hyper-connections."""

import torch
from torch import Tensor, nn
from transformers.models.deepseek_v4.configuration_deepseek_v4 import DeepseekV4Config
from transformers.models.deepseek_v4.modeling_deepseek_v4 import DeepseekV4HyperConnection, DeepseekV4HyperHead


class Block(nn.Module):
    """A feed-forward block within streams (B, S, N, D), joined as the layers of DeepSeek-V4 are."""

    def __init__(self, config: DeepseekV4Config, generator: torch.Generator, spread: float = 0.3) -> None:
        super().__init__()
        self.connection = DeepseekV4HyperConnection(config)
        size = config.hidden_size
        self.weight = nn.Parameter(torch.randn(size, size, generator=generator) / size**0.5)
        with torch.no_grad():
            for parameter in self.connection.parameters():
                parameter.copy_(spread * torch.randn(parameter.shape, generator=generator))
            self.connection.scale.add_(1.0)

    def forward(self, streams: Tensor) -> Tensor:
        post, comb, collapsed = self.connection(streams)
        output = torch.tanh(collapsed @ self.weight)
        return post.unsqueeze(-1) * output.unsqueeze(-2) + comb.transpose(-1, -2) @ streams


class Network(nn.Module):
    """States (B, S, D) to states: copied to all streams, passed through blocks, and collapsed by the head."""

    def __init__(self, config: DeepseekV4Config, blocks: int, generator: torch.Generator, spread: float = 0.3) -> None:
        super().__init__()
        self.count = config.hc_mult
        self.blocks = nn.ModuleList(Block(config, generator, spread) for _ in range(blocks))
        self.head = DeepseekV4HyperHead(config)
        with torch.no_grad():
            for parameter in self.head.parameters():
                parameter.copy_(spread * torch.randn(parameter.shape, generator=generator))
            self.head.hc_scale.add_(1.0)

    def forward(self, states: Tensor) -> Tensor:
        streams = states.unsqueeze(2).expand(-1, -1, self.count, -1).contiguous()
        for block in self.blocks:
            streams = block(streams)
        return self.head(streams)
