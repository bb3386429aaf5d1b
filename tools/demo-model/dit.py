"""The Krea 2 diffusion transformer, of any size: text and picture tokens in one sequence through the same blocks."""
import math

import torch
import torch.nn.functional as F
from torch import nn

EPS, THETA, TIME = 1e-5, 1000.0, 256


class Norm(nn.Module):
    """Multiplies by 1 + scale, in float32."""

    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        wide = x.float()
        return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS) * (1 + self.scale)


def linear(into, out, bias=False, gain=1.0):
    made = nn.Linear(into, out, bias=bias)
    nn.init.normal_(made.weight, std=gain * into ** -0.5)
    if bias:
        nn.init.zeros_(made.bias)
    return made


def gelu(x):
    return F.gelu(x, approximate="tanh")


def rotated(x, turn):
    """x [B, T, heads, head]; neighbours are the two parts of numbers that turn."""
    cos, sin = turn
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class Attention(nn.Module):
    """Query, key, value and gate are one product here: files have them apart."""

    def __init__(self, width, heads, kv_heads, gain):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, width // heads
        self.sizes = [width, kv_heads * self.head, kv_heads * self.head, width]
        self.qkvg = linear(width, sum(self.sizes))
        self.wo = linear(width, width, gain=gain)
        self.qnorm, self.knorm = Norm(self.head), Norm(self.head)

    def forward(self, x, mask=None, turn=None):
        """mask: what is added to scores, [B, 1, 1, 1, keys]."""
        b, t, _ = x.shape
        q, k, v, gate = self.qkvg(x).split(self.sizes, -1)
        q, k = self.qnorm(q.unflatten(-1, (-1, self.head))), self.knorm(k.unflatten(-1, (-1, self.head)))
        if turn is not None:
            q, k = rotated(q, turn), rotated(k, turn)
        v = v.unflatten(-1, (-1, self.head))
        group = self.heads // self.kv_heads
        q = q.to(v.dtype).reshape(b, t, self.kv_heads, group, self.head).permute(0, 2, 3, 1, 4)
        q = q.reshape(b, self.kv_heads, group * t, self.head)
        scores = (q @ k.to(v.dtype).permute(0, 2, 3, 1)).float() * self.head ** -0.5
        if mask is not None:
            scores = (scores.view(b, self.kv_heads, group, t, t) + mask).flatten(2, 3)
        out = (torch.softmax(scores, -1).to(v.dtype) @ v.transpose(1, 2)).view(b, self.kv_heads, group, t, self.head)
        out = out.permute(0, 3, 1, 2, 4).reshape(b, t, -1)
        return self.wo(out * torch.sigmoid(gate))


class Mlp(nn.Module):
    def __init__(self, width, inner, gain):
        super().__init__()
        self.gate_up = linear(width, 2 * inner)
        self.down = linear(inner, width, gain=gain)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class TextBlock(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.prenorm, self.postnorm = Norm(width), Norm(width)
        self.attn, self.mlp = Attention(width, heads, heads, 0.125), Mlp(width, inner, 0.125)

    def forward(self, x, mask=None):
        x = x + self.attn(self.prenorm(x), mask)
        return x + self.mlp(self.postnorm(x))


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.prenorm, self.postnorm = Norm(width), Norm(width)
        self.attn, self.mlp = Attention(width, heads, kv_heads, 1.0), Mlp(width, inner, 1.0)
        # Scale, shift and gate, of attention and of the MLP. Gates begin small: the stack is near the identity.
        start = torch.zeros(6, width)
        start[[2, 5]] = 0.2
        self.lin = nn.Parameter(start)

    def forward(self, x, m, mask, turn):
        scale1, shift1, gate1, scale2, shift2, gate2 = (m + self.lin)[:, :, None].unbind(1)
        x = x + gate1 * self.attn(self.prenorm(x) * (1 + scale1) + shift1, mask, turn)
        return x + gate2 * self.mlp(self.postnorm(x) * (1 + scale2) + shift2)


class Krea2(nn.Module):
    def __init__(self, width=256, layers=6, heads=8, kv_heads=2, mlp=768, text=128, text_heads=4, text_mlp=384, states=2,
                 channels=16):
        super().__init__()
        self.width, self.head, self.channels = width, width // heads, channels
        self.first = linear(4 * channels, width, True)
        self.tmlp0, self.tmlp2 = linear(TIME, width, True), linear(width, width, True)
        self.tproj = linear(width, 6 * width, True, 0.1)
        self.layerwise = nn.ModuleList([TextBlock(text, text_heads, text_mlp) for _ in range(2)])
        self.projector = nn.Parameter(torch.full((1, states), 1 / states))
        self.refiner = nn.ModuleList([TextBlock(text, text_heads, text_mlp) for _ in range(2)])
        self.txt_norm = Norm(text)
        self.txt1, self.txt3 = linear(text, width, True), linear(width, width, True)
        self.blocks = nn.ModuleList([Block(width, heads, kv_heads, mlp) for _ in range(layers)])
        self.last_norm = Norm(width)
        self.last_lin = nn.Parameter(torch.zeros(2, width))
        self.last = linear(width, 4 * channels, True, 0.1)

    def text_tokens(self, features, real):
        """features [B, T, states, text], real [B, T]: false for padding. Text tokens [B, T, width]."""
        b, t, states, size = features.shape
        x = features.reshape(b * t, states, size)
        for block in self.layerwise:
            x = block(x)
        x = (x * self.projector.view(1, -1, 1)).sum(1).view(b, t, size)
        mask = torch.zeros(b, t).masked_fill(~real, float("-inf"))[:, None, None, None]
        for block in self.refiner:
            x = block(x, mask)
        return self.txt3(gelu(self.txt1(self.txt_norm(x))))

    def turn(self, text, rows, columns):
        """Cosine and sine for each token and each pair of a head's channels; text does not turn."""
        unit = self.head // 16
        places = torch.zeros(text + rows * columns, 3)
        places[text:, 1] = torch.arange(rows).repeat_interleave(columns)
        places[text:, 2] = torch.arange(columns).repeat(rows)
        sizes = (self.head - 12 * unit, 6 * unit, 6 * unit)
        angle = torch.cat([places[:, i:i + 1] * THETA ** (-torch.arange(0, size, 2) / size)
                           for i, size in enumerate(sizes)], 1)[:, None]
        return angle.cos(), angle.sin()

    def forward(self, x, time, text, real):
        """x [B, channels, H, W], time [B] from 0 to 1, text [B, T, width]. The velocity, noise minus picture."""
        b, c, height, width = x.shape
        rows, columns = height // 2, width // 2
        patches = x.view(b, c, rows, 2, columns, 2).permute(0, 2, 4, 1, 3, 5).reshape(b, rows * columns, 4 * c)
        angle = 1000 * time[:, None] * torch.exp(-math.log(10000) * torch.arange(TIME // 2) / (TIME // 2))
        temb = self.tmlp2(gelu(self.tmlp0(torch.cat([angle.cos(), angle.sin()], 1)))).float()
        m = self.tproj(gelu(temb)).float().view(b, 6, -1)
        tokens = torch.cat([text.float(), self.first(patches).float()], 1)
        mask = torch.zeros(b, tokens.shape[1]).masked_fill(F.pad(~real, (0, rows * columns)), float("-inf"))
        turn = self.turn(text.shape[1], rows, columns)
        for block in self.blocks:
            tokens = block(tokens, m, mask[:, None, None, None], turn)
        scale, shift = (temb[:, None] + self.last_lin)[:, :, None].unbind(1)
        out = self.last(self.last_norm(tokens[:, text.shape[1]:]) * (1 + scale) + shift).float()
        return out.view(b, rows, columns, c, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(b, c, height, width)


def exported(model):
    """The names and shapes of published files -> tensor."""
    out = {}

    def add(name, module):
        out[name + ".weight"] = module.weight
        if module.bias is not None:
            out[name + ".bias"] = module.bias

    def add_block(name, block):
        out[name + ".prenorm.scale"], out[name + ".postnorm.scale"] = block.prenorm.scale, block.postnorm.scale
        for part, value in zip(("wq", "wk", "wv", "gate"), block.attn.qkvg.weight.split(block.attn.sizes)):
            out["%s.attn.%s.weight" % (name, part)] = value
        out[name + ".attn.wo.weight"] = block.attn.wo.weight
        out[name + ".attn.qknorm.qnorm.scale"] = block.attn.qnorm.scale
        out[name + ".attn.qknorm.knorm.scale"] = block.attn.knorm.scale
        for part, value in zip(("gate", "up"), block.mlp.gate_up.weight.chunk(2)):
            out["%s.mlp.%s.weight" % (name, part)] = value
        out[name + ".mlp.down.weight"] = block.mlp.down.weight

    add("first", model.first)
    add("tmlp.0", model.tmlp0)
    add("tmlp.2", model.tmlp2)
    add("tproj.1", model.tproj)
    out["txtfusion.projector.weight"] = model.projector
    for kind in ("layerwise", "refiner"):
        for i, block in enumerate(getattr(model, kind)):
            add_block("txtfusion.%s_blocks.%d" % (kind, i), block)
    out["txtmlp.0.scale"] = model.txt_norm.scale
    add("txtmlp.1", model.txt1)
    add("txtmlp.3", model.txt3)
    for i, block in enumerate(model.blocks):
        out["blocks.%d.mod.lin" % i] = block.lin.reshape(-1)
        add_block("blocks.%d" % i, block)
    out["last.norm.scale"], out["last.modulation.lin"] = model.last_norm.scale, model.last_lin
    add("last.linear", model.last)
    return {name: value.detach().float() for name, value in out.items()}
