#!/usr/bin/env python3
"""Judges a trained model: draws its captions' pictures and looks which training picture is nearest to each."""
import argparse
import os

import torch

import bpe
import emoji
import model as models
import prepare
import train_vae
import vae
import workers

# For looking at: things a stranger would try, most of them captions of the set, some of them not.
PROMPTS = ["red apple", "green apple", "red heart", "blue heart", "cat face", "dog face", "grinning face", "pizza",
           "cherries", "rocket", "sunflower", "house", "guitar", "soccer ball", "penguin", "snowman", "hamburger",
           "red circle", "blue square", "tropical fish", "a cup of coffee", "a red car", "a yellow flower", "owl"]


def load_vae(state):
    kept = torch.load(os.path.join(state, "vae.pt"))
    module = vae.WanVae(kept["width"])
    module.load_state_dict(kept["parameters"])
    return module, kept["latents"]


def load_model(state):
    """The trained model and the steps it was trained."""
    module = models.Model(bpe.Bpe.load(os.path.join(state, "bpe.json")))
    return module, workers.load_average(state, "model", module)


def noise_of(count, seed):
    return torch.randn(count, vae.LATENT, emoji.SIDE // 8, emoji.SIDE // 8,
                       generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def pictures_of(decoder, latents):
    raw = latents * vae.STD.view(-1, 1, 1) + vae.MEAN.view(-1, 1, 1)
    return torch.cat([decoder.decode(part) for part in raw.split(20)]).clamp(-1, 1)


def nearest(drawn, originals, right):
    """Shares of drawn whose right original is the nearest, and is among the nearest five."""
    distance = torch.cdist(drawn.flatten(1), originals.flatten(1))
    rank = (distance < distance.gather(1, right[:, None])).sum(1)
    return float((rank < 1).float().mean()), float((rank < 5).float().mean())


def draw_all(model, prompts, steps, guidance, seed):
    ids = [model.vocabulary.encode(prompt) for prompt in prompts]
    noise = noise_of(len(ids), seed)
    return torch.cat([models.draw(model, ids[i:i + 40], steps, guidance, noise[i:i + 40])
                      for i in range(0, len(ids), 40)])


def spread(total, count):
    """`count` indices, evenly over all."""
    return torch.arange(count) * total // count


def retrieval(model, state, count, steps, guidance, seed=7):
    """Top-1 and top-5 of `count` names of the set, by pixels, among all pictures."""
    decoder, _ = load_vae(state)
    pictures, names, _ = prepare.load(state)
    which = spread(len(names), min(count, len(names)))
    drawn = draw_all(model, [names[i][0] for i in which], steps, guidance, seed)
    return nearest(pictures_of(decoder, drawn), train_vae.as_batch(pictures), which)


def save_sheet(model, state, prompts, path, steps, guidance, seed=42):
    decoder, _ = load_vae(state)
    drawn = pictures_of(decoder, draw_all(model, prompts, steps, guidance, seed))
    pixels = ((drawn + 1) * 127.5).round().byte().permute(0, 2, 3, 1).numpy()
    emoji.save_png(path, emoji.sheet(list(pixels), 8))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--guidance", type=float, default=3.0)
    parser.add_argument("--sheet", help="PNG of some prompts' pictures")
    a = parser.parse_args()
    torch.set_num_threads(1)
    model, trained = load_model(a.state)
    if a.sheet:
        save_sheet(model, a.state, PROMPTS, a.sheet, a.steps, a.guidance)
    first, five = retrieval(model, a.state, a.count, a.steps, a.guidance)
    print("%d training steps; %d captions, %d steps, guidance %g: top-1 %.1f %%, top-5 %.1f %%" % (
        trained, a.count, a.steps, a.guidance, 100 * first, 100 * five))


if __name__ == "__main__":
    main()
