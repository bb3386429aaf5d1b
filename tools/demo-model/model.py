"""Text encoder and diffusion transformer together, and how pictures are drawn with them."""
import math

import torch
from torch import nn

import bpe
import dit
import text

SHIFT = 1.15  # the exponent engines move noise levels by
LEVELS = 1000


class Model(nn.Module):
    """Sizes are arguments of TextEncoder and Krea2."""

    def __init__(self, vocabulary, text_sizes=None, dit_sizes=None):
        super().__init__()
        self.vocabulary = vocabulary
        self.text = text.TextEncoder(len(vocabulary.tokens), **(text_sizes or {}))
        self.dit = dit.Krea2(**(dit_sizes or {}))
        self.register_buffer("prefix", torch.tensor(vocabulary.encode(bpe.BEFORE)), persistent=False)

    def text_tokens(self, tokens, real):
        return self.dit.text_tokens(self.text(self.prefix, tokens), real)

    def forward(self, x, time, tokens, real, draws):
        """The velocity for `draws` latents after each other per prompt: x [B * draws, 16, H, W]."""
        features = self.text_tokens(tokens, real)
        return self.dit(x, time, features.repeat_interleave(draws, 0), real.repeat_interleave(draws, 0))


def noise_levels(steps):
    """The `discrete` schedule: evenly from the last to the first of 1000 levels, then 0."""
    out = []
    for j in range(steps):
        u = (LEVELS - j * (LEVELS - 1) / max(1, steps - 1)) / LEVELS
        out.append(math.exp(SHIFT) / (math.exp(SHIFT) + 1 / u - 1))
    return out + [0.0]


@torch.no_grad()
def draw(model, prompts, steps, guidance, noise):
    """Normalised latents for prompts (token lists), by Euler's method from noise [B, 16, H, W]."""
    places = max(len(ids) for ids in prompts) + bpe.SUFFIX
    sides = [prompts] if guidance == 1 else [prompts, [[]] * len(prompts)]
    tokens, real = zip(*(text.padded(model.vocabulary, side, places) for side in sides))
    real = torch.cat(real)
    features = model.text_tokens(torch.cat(tokens), real)
    x, levels = noise, noise_levels(steps)
    for level, following in zip(levels, levels[1:]):
        time = torch.full((len(real),), level)
        velocity = model.dit(x.repeat(len(sides), 1, 1, 1), time, features, real)
        if guidance != 1:
            wanted, unwanted = velocity.chunk(2)
            velocity = unwanted + guidance * (wanted - unwanted)
        x = x + (following - level) * velocity
    return x
