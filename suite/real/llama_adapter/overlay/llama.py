"""A small decoder of LLaMA's kind, and what its attention may be made of."""

from types import SimpleNamespace

import torch
from peft.tuners.adaption_prompt.config import TRANSFORMERS_MODEL_CONFIG, ModelTypeConfig
from peft.tuners.adaption_prompt.utils import llama_compute_query_states
from torch import nn


def _waves(positions, head_dim, stretch, like):
    """Cosines and sines of the angles of positions, (..., head_dim); both halves have the same angles."""
    steps = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    angles = positions.double()[..., None] / stretch * 10000.0**-steps
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


class Rotary(nn.Module):
    """Rotary positions as they are now: waves of the positions that are given, in the dtype of `x`."""

    def __init__(self, head_dim, heads_axis=False):
        super().__init__()
        self.head_dim = head_dim
        self.heads_axis = heads_axis

    def forward(self, x, position_ids):
        """(batch, tokens, head_dim) each, or (batch, 1, tokens, head_dim) with `heads_axis`."""
        waves = _waves(position_ids, self.head_dim, 1.0, x)
        return tuple(item[:, None] for item in waves) if self.heads_axis else waves


class StretchedRotary(Rotary):
    """Rotary positions of the time between: beyond `original` tokens, positions are compressed to that length."""

    def __init__(self, head_dim, original, heads_axis=False):
        super().__init__(head_dim, heads_axis)
        self.original = original

    def forward(self, x, position_ids, seq_len=None):
        """As `Rotary`; without `seq_len` nothing is compressed."""
        waves = _waves(position_ids, self.head_dim, max(1.0, (seq_len or 0) / self.original), x)
        return tuple(item[:, None] for item in waves) if self.heads_axis else waves


class TableRotary(nn.Module):
    """Rotary positions as they once were: tables of all positions below `seq_len`, compressed as above."""

    def __init__(self, head_dim, original, four_axes=False):
        super().__init__()
        self.head_dim = head_dim
        self.original = original
        self.four_axes = four_axes

    def forward(self, x, seq_len=None):
        """(seq_len, head_dim) each, or (1, 1, seq_len, head_dim) with `four_axes`."""
        waves = _waves(torch.arange(seq_len), self.head_dim, max(1.0, seq_len / self.original), x)
        return tuple(item[None, None] for item in waves) if self.four_axes else waves


class Cache:
    """Keys and values by layer; with a `limit`, those of the latest tokens."""

    def __init__(self, limit=None):
        self.limit = limit
        self.held = {}

    def __len__(self):
        return len(self.held)

    def get_seq_length(self, layer_idx=0):
        """The number of tokens that a layer's keys are held of."""
        return self.held[layer_idx][0].shape[2] if layer_idx in self.held else 0

    def get_usable_length(self, new_seq_length, layer_idx=0):
        """The number of those that stay when new ones come."""
        length = self.get_seq_length(layer_idx)
        return length if self.limit is None else min(length, self.limit - new_seq_length)

    def update(self, key, value, layer_idx):
        """Takes in new keys and values, and returns them with those that were held."""
        if layer_idx in self.held:
            key, value = (torch.cat(pair, dim=2) for pair in zip(self.held[layer_idx], (key, value), strict=True))
        first = 0 if self.limit is None else max(0, key.shape[2] - self.limit)
        self.held[layer_idx] = (key[:, :, first:], value[:, :, first:])
        return key, value


class EightBitLinear(nn.Module):
    """A frozen linear layer whose weight is kept in eight bits, with a scale for each output, in the input's dtype."""

    def __init__(self, linear, dtype=torch.int8):
        super().__init__()
        self.in_features = linear.in_features
        self.out_features = linear.out_features
        self.zero = 128 if dtype == torch.uint8 else 0
        scale = linear.weight.detach().float().abs().amax(dim=1, keepdim=True) / 127
        levels = (linear.weight.detach().float() / scale).round() + self.zero
        self.weight = nn.Parameter(levels.to(dtype), requires_grad=False)
        self.register_buffer("scale", scale)

    def forward(self, x):
        """The product with the weight."""
        return (x.float() @ ((self.weight.float() - self.zero) * self.scale).T).to(x.dtype)


class Attention(nn.Module):
    """Causal attention with rotary positions, whose neighbouring heads share a key head where there are fewer."""

    def __init__(self, hidden_size, num_heads, key_heads, rotary_emb, layer_idx=0, bias=False):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.num_key_value_heads = key_heads
        self.head_dim = hidden_size // num_heads
        self.layer_idx = layer_idx
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=bias)
        self.k_proj = nn.Linear(hidden_size, key_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(hidden_size, key_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.rotary_emb = rotary_emb

    def _rotation(self, like, position_ids, length):
        """Cosines and sines, (batch or 1, 1, tokens, head_dim)."""
        if isinstance(self.rotary_emb, TableRotary):
            tables = self.rotary_emb(like, seq_len=length)
            return [item.reshape(length, -1)[position_ids][:, None] for item in tables]
        named = {"seq_len": length} if isinstance(self.rotary_emb, StretchedRotary) else {}
        waves = self.rotary_emb(like, position_ids=position_ids, **named)
        return [item.reshape(len(position_ids), 1, -1, self.head_dim) for item in waves]

    def forward(
        self,
        hidden_states,
        attention_mask=None,
        position_ids=None,
        past_key_value=None,
        output_attentions=False,
        **kwargs,
    ):
        """The output, the weights if they are asked for, and the cache or tuple with the new keys and values."""
        tokens = hidden_states.shape[1]
        held = 0
        if isinstance(past_key_value, tuple):
            held = past_key_value[0].shape[2]
        elif past_key_value is not None:
            held = past_key_value.get_seq_length(self.layer_idx)
        if position_ids is None:
            position_ids = torch.arange(held, held + tokens)[None]
        # (batch, key heads, heads of each, tokens, head_dim)
        query = self.q_proj(hidden_states).unflatten(2, (self.num_key_value_heads, -1, self.head_dim))
        query = query.permute(0, 2, 3, 1, 4)
        key, value = (
            layer(hidden_states).unflatten(2, (-1, self.head_dim)).movedim(2, 1) for layer in (self.k_proj, self.v_proj)
        )
        cos, sin = self._rotation(value, position_ids, held + tokens)
        query = _turned(query, cos[:, None], sin[:, None])
        key = _turned(key, cos, sin)
        if isinstance(past_key_value, tuple):
            key, value = past_key_value = tuple(
                torch.cat(pair, dim=2) for pair in zip(past_key_value, (key, value), strict=True)
            )
        elif past_key_value is not None:
            key, value = past_key_value.update(key, value, self.layer_idx)
        logits = torch.einsum("bkgqd,bktd->bkgqt", query * self.head_dim**-0.5, key)
        if attention_mask is None:
            ahead = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(logits.shape[-1] - tokens + 1)
            logits = logits.masked_fill(ahead, float("-inf"))
        else:
            logits = logits + attention_mask[:, :, None]
        weights = logits.softmax(-1)
        mixed = torch.einsum("bkgqt,bktd->bqkgd", weights, value)
        return self.o_proj(mixed.flatten(2)), weights.flatten(1, 2) if output_attentions else None, past_key_value


def _turned(x, cos, sin):
    """Turns the pairs of an entry of the first half and one of the second."""
    half = x.shape[-1] // 2
    signs = torch.ones(x.shape[-1], dtype=x.dtype)
    signs[:half] = -1
    return x * cos + x.roll(half, -1) * (signs * sin)


class _Part(nn.Module):
    """One of three equal parts of a layer's outputs, as if it were a layer."""

    def __init__(self, packed, number):
        super().__init__()
        # In a list, as the layer is registered elsewhere.
        self._packed = [packed]
        self._number = number
        self.in_features = packed.in_features
        self.out_features = packed.out_features // 3

    @property
    def weight(self):
        """The rows of the packed weight."""
        return self._packed[0].weight.chunk(3)[self._number]

    def forward(self, x):
        """The part of the packed outputs."""
        return self._packed[0](x).chunk(3, dim=-1)[self._number]


class PackedAttention(Attention):
    """Attention with one layer for queries, keys and values, and none for the output."""

    def __init__(self, hidden_size, num_heads, rotary_emb, layer_idx=0, bias=False):
        super().__init__(hidden_size, num_heads, num_heads, rotary_emb, layer_idx)
        self.qkv_proj = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
        self.q_proj, self.k_proj, self.v_proj = (_Part(self.qkv_proj, number) for number in range(3))
        self.o_proj = nn.Identity()


TRANSFORMERS_MODEL_CONFIG["packed"] = ModelTypeConfig(
    compute_query_states=llama_compute_query_states,
    target_modules="self_attn",
    k_proj_layer="qkv_proj",
    v_proj_layer="qkv_proj",
    o_proj_layer=None,
)


class Layer(nn.Module):
    """Attention and two linear layers, each added to its input."""

    def __init__(self, hidden_size, num_heads, key_heads, layer_idx):
        super().__init__()
        rotary = Rotary(hidden_size // num_heads)
        self.self_attn = Attention(hidden_size, num_heads, key_heads, rotary, layer_idx)
        self.mlp = nn.Sequential(
            nn.Linear(hidden_size, 2 * hidden_size), nn.SiLU(), nn.Linear(2 * hidden_size, hidden_size)
        )

    def forward(self, x, **kwargs):
        """The hidden states after the layer."""
        x = x + self.self_attn(hidden_states=nn.functional.rms_norm(x, x.shape[-1:]), **kwargs)[0]
        return x + self.mlp(nn.functional.rms_norm(x, x.shape[-1:]))


class Llama(nn.Module):
    """A decoder: tokens to logits of the next token."""

    def __init__(self, words, hidden_size, num_heads, key_heads, layers, model_type="llama"):
        super().__init__()
        self.config = SimpleNamespace(model_type=model_type)
        self.embed_tokens = nn.Embedding(words, hidden_size)
        self.layers = nn.ModuleList(Layer(hidden_size, num_heads, key_heads, number) for number in range(layers))
        self.lm_head = nn.Linear(hidden_size, words, bias=False)

    def forward(self, input_ids, past_key_value=None):
        """Logits, (batch, tokens, words)."""
        seen = 0 if past_key_value is None else past_key_value.get_seq_length(0)
        position_ids = torch.arange(seen, seen + input_ids.shape[1])[None]
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x, position_ids=position_ids, past_key_value=past_key_value)
        return self.lm_head(nn.functional.rms_norm(x, x.shape[-1:]))
