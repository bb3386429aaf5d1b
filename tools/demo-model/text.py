"""A Qwen3 text encoder of any size: a causal language model whose states after 2, 5, 8 ... layers are the features.

The template before a prompt is the same for all: its states are computed once per batch, and its keys and values shared.
"""
import torch
import torch.nn.functional as F
from torch import nn

import bpe

TAPS = range(2, 36, 3)
THETA, EPS = 5e6, 1e-6


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS) * self.weight).to(x.dtype)


def linear(into, out, gain=1.0):
    made = nn.Linear(into, out, bias=False)
    nn.init.normal_(made.weight, std=gain * into ** -0.5)
    return made


def rotated(x, cos, sin):
    """x [B, T, heads, head]; halves of a head are the two parts of numbers that turn."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Layer(nn.Module):
    """Query, key and value are one product here, gate and up another: files have them apart."""

    def __init__(self, width, heads, kv_heads, head, mlp):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, head
        self.attn_norm, self.ffn_norm = Norm(width), Norm(width)
        self.q_norm, self.k_norm = Norm(head), Norm(head)
        self.qkv = linear(width, (heads + 2 * kv_heads) * head)
        # What a layer adds is small at first, so that words, not positions, are what later layers see.
        self.output = linear(heads * head, width, 0.125)
        self.gate_up = linear(width, 2 * mlp)
        self.down = linear(mlp, width, 0.125)

    def attend(self, x, turn, mask, before):
        """before: keys and values of earlier tokens, or nothing. Returns what to add, and all keys and values."""
        b, t, _ = x.shape
        parts = self.qkv(self.attn_norm(x)).view(b, t, -1, self.head)
        q, k, v = parts.split([self.heads, self.kv_heads, self.kv_heads], 2)
        q, k = rotated(self.q_norm(q), *turn), rotated(self.k_norm(k), *turn)
        if before is not None:
            k = torch.cat([before[0].expand(b, -1, -1, -1), k], 1)
            v = torch.cat([before[1].expand(b, -1, -1, -1), v], 1)
        group = self.heads // self.kv_heads
        q = q.reshape(b, t, self.kv_heads, group, self.head).permute(0, 2, 3, 1, 4).reshape(b, self.kv_heads, -1, self.head)
        scores = (q @ k.permute(0, 2, 3, 1)).float() * self.head ** -0.5
        scores = scores.view(b, self.kv_heads, group, t, -1) + mask
        weights = torch.softmax(scores, -1).to(v.dtype).view(b, self.kv_heads, group * t, -1)
        out = (weights @ v.transpose(1, 2)).view(b, self.kv_heads, group, t, self.head)
        return self.output(out.permute(0, 3, 1, 2, 4).reshape(b, t, -1)), (k, v)

    def forward(self, x, turn, mask, before=None):
        added, known = self.attend(x, turn, mask, before)
        x = x + added
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up), known


class TextEncoder(nn.Module):
    def __init__(self, vocabulary, width=128, layers=5, heads=4, kv_heads=2, head=32, mlp=384):
        super().__init__()
        self.taps = [tap for tap in TAPS if tap <= layers]
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList([Layer(width, heads, kv_heads, head, mlp) for _ in range(layers)])
        self.register_buffer("speeds", THETA ** (-torch.arange(head // 2) / (head / 2)), persistent=False)

    def turn(self, begin, count):
        angle = (begin + torch.arange(count)).float().view(-1, 1, 1) * self.speeds
        return angle.cos(), angle.sin()

    def forward(self, prefix, tokens):
        """prefix: ids [34]; tokens: ids [B, T], padded after their end. Features [B, T, taps, width].

        Padding needs no mask: no token looks at later ones.
        """
        first, rest = prefix.numel(), tokens.shape[1]
        x, y = self.embedding(prefix)[None], self.embedding(tokens)
        turn_x, turn_y = self.turn(0, first), self.turn(first, rest)
        causal = torch.full((first + rest, first + rest), float("-inf")).triu(1)
        features = []
        for i, layer in enumerate(self.layers):
            x, known = layer(x, turn_x, causal[:first, :first])
            y, _ = layer(y, turn_y, causal[first:], known)
            if i + 1 in self.taps:
                features.append(y)
        return torch.stack(features, 2)


def padded(vocabulary, prompts, places):
    """Ids [B, places] of prompts with the template's end, and which of them are no padding."""
    after, pad = vocabulary.encode(bpe.AFTER), vocabulary.ids[bpe.SPECIAL[0]]
    rows = [ids + after for ids in prompts]
    tokens = torch.tensor([row + [pad] * (places - len(row)) for row in rows])
    return tokens, torch.arange(places) < torch.tensor([[len(row)] for row in rows])


def exported(encoder):
    """GGUF name -> tensor."""
    out = {"token_embd.weight": encoder.embedding.weight}
    for i, layer in enumerate(encoder.layers):
        name, head = "blk.%d." % i, layer.head
        q, k, v = layer.qkv.weight.split([layer.heads * head, layer.kv_heads * head, layer.kv_heads * head])
        gate, up = layer.gate_up.weight.chunk(2)
        out.update({
            name + "attn_norm.weight": layer.attn_norm.weight,
            name + "attn_q.weight": q, name + "attn_k.weight": k, name + "attn_v.weight": v,
            name + "attn_q_norm.weight": layer.q_norm.weight, name + "attn_k_norm.weight": layer.k_norm.weight,
            name + "attn_output.weight": layer.output.weight, name + "ffn_norm.weight": layer.ffn_norm.weight,
            name + "ffn_gate.weight": gate, name + "ffn_up.weight": up, name + "ffn_down.weight": layer.down.weight})
    out["output_norm.weight"] = torch.ones(encoder.embedding.embedding_dim)
    return {name: value.detach().float() for name, value in out.items()}
