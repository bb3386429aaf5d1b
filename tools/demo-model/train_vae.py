#!/usr/bin/env python3
"""Trains the VAE on the pictures of STATE/data.npz; then writes STATE/vae.pt, its latents having the format's statistics.

Goes on where it was, whenever it is started.
"""
import argparse
import os

import torch
import torch.nn.functional as F

import emoji
import prepare
import vae
import workers

WIDTH = 16
BATCH = 8           # of each worker
NOISE_PRICE = 2e-3  # weight of the Kullback-Leibler term: latents keep what a picture needs and hardly more
REACH = 2           # pixels a picture is moved by, at most
MEASURED = 200      # pictures whose error is looked at


def as_batch(pictures):
    """[N, 3, H, W] from -1 to 1."""
    batch = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1
    return batch.contiguous(memory_format=torch.channels_last)


def psnr(a, b):
    """Decibels, for pictures from -1 to 1; one number for each."""
    error = (a.clamp(-1, 1) - b).square().mean((1, 2, 3)) / 4
    return -10 * error.clamp(min=1e-10).log10()


class Task:
    def __init__(self, s):
        self.s = s
        self.pictures = as_batch(prepare.load(s.state)[0])
        self.module = self.make()
        self.both_ways = workers.compiled(self.passes)

    def make(self):
        return vae.WanVae(WIDTH)

    def passes(self, pictures, noise):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mean, log_variance = self.module.encode(pictures)
            log_variance = log_variance.clamp(-20, 10)
            out = self.module.decode(mean + torch.exp(0.5 * log_variance) * noise)
        difference = out - pictures
        price = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).mean()
        return difference.abs().mean() + difference.square().mean() + NOISE_PRICE * price

    def loss(self, generator):
        which = torch.randint(len(self.pictures), (BATCH,), generator=generator)
        moves = torch.randint(2 * REACH + 1, (BATCH, 2), generator=generator).tolist()
        flips = torch.randint(2, (BATCH,), generator=generator).tolist()
        padded = F.pad(self.pictures[which], (REACH,) * 4, value=1.0)
        side = emoji.SIDE
        batch = [padded[i, :, y:y + side, x:x + side] for i, (y, x) in enumerate(moves)]
        batch = torch.stack([b.flip(2) if flip else b for b, flip in zip(batch, flips)])
        noise = torch.randn(BATCH, vae.LATENT, side // 8, side // 8, generator=generator)
        return self.both_ways(batch.contiguous(memory_format=torch.channels_last), noise)

    def look(self, module, step):
        pictures = self.pictures[:: max(1, len(self.pictures) // MEASURED)][:MEASURED]
        out = torch.cat([module.decode(module.encode(part)[0]) for part in pictures.split(20)])
        save_pairs(os.path.join(self.s.state, "vae.png"), pictures[:60], out[:60])
        return "%.2f dB" % psnr(out, pictures).mean()


def save_pairs(path, originals, copies):
    def rows(batch):
        return ((batch.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).numpy()
    above, below = rows(originals), rows(copies)
    both = [half[i:i + 20] for i in range(0, len(above), 20) for half in (above, below)]
    emoji.save_png(path, emoji.sheet([picture for row in both for picture in row], 20))


@torch.no_grad()
def finish(state):
    """STATE/vae.pt: parameters after `normalise`, and the latents of all pictures as an engine normalises them."""
    module = vae.WanVae(WIDTH)
    steps = workers.load_average(state, "vae", module)
    pictures = as_batch(prepare.load(state)[0])

    def latents():
        return torch.cat([module.encode(part)[0] for part in pictures.split(20)])

    raw = latents()
    mean, std = raw.mean((0, 2, 3)), raw.std((0, 2, 3))
    vae.normalise(module, mean, std)
    normal = (latents() - vae.MEAN.view(-1, 1, 1)) / vae.STD.view(-1, 1, 1)
    out = torch.cat([module.decode(part * vae.STD.view(-1, 1, 1) + vae.MEAN.view(-1, 1, 1))
                     for part in normal.split(20)])
    error = psnr(out, pictures)
    path = os.path.join(state, "vae.pt")
    torch.save({"width": WIDTH, "steps": steps, "parameters": module.state_dict(), "latents": normal}, path + ".part")
    os.replace(path + ".part", path)
    print("vae.pt: %d steps, %.2f dB, worst twentieth below %.2f dB; latents of mean %.3f, deviation %.3f" % (
        steps, error.mean(), error.sort().values[len(error) // 20], normal.mean(), normal.std()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--decay", type=int, default=2000, help="last steps, in which the learning rate falls to zero")
    parser.add_argument("--pause-file", default="", help="sleeps while this file exists")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--finish", action="store_true", help="only write vae.pt, from the checkpoint as it is")
    a = parser.parse_args()
    if not a.finish:
        workers.train(Task, workers.Settings(
            a.state, "vae", a.steps, a.decay, rate=2e-3, decay_weights=0.01, workers=a.workers,
            pause_file=a.pause_file))
    finish(a.state)


if __name__ == "__main__":
    main()
