#!/usr/bin/env python3
"""Trains the decoder of STATE/vae.pt further on its latents, which stay what they are, then writes vae.pt again.

So pictures can get sharper without training the diffusion transformer again. Noise on the latents teaches the decoder to
forgive what a diffusion transformer gets wrong. Goes on where it was, whenever it is started.
"""
import argparse
import os

import torch
from torch import nn

import evaluate
import prepare
import train_vae
import vae
import workers

BATCH = 8        # of each worker
MOST_NOISE = 0.2  # standard deviation, in normalised latents; each picture gets some share of it


class Decoder(nn.Module):
    """From the format's normalised latents to pictures."""

    def __init__(self, whole):
        super().__init__()
        self.decoder, self.conv2 = whole.decoder, whole.conv2

    def forward(self, latents):
        raw = latents * vae.STD.view(-1, 1, 1) + vae.MEAN.view(-1, 1, 1)
        return self.decoder(self.conv2(raw)).float()


class Task:
    def __init__(self, s):
        self.s = s
        self.pictures = train_vae.as_batch(prepare.load(s.state)[0])
        self.latents = evaluate.load_vae(s.state)[1]
        self.module = self.make()
        self.error = workers.compiled(self.error_of)

    def make(self):
        return Decoder(evaluate.load_vae(self.s.state)[0])

    def error_of(self, latents, pictures):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            difference = self.module(latents) - pictures
        return difference.abs().mean() + difference.square().mean()

    def loss(self, generator):
        which = torch.randint(len(self.latents), (BATCH,), generator=generator)
        latents = self.latents[which]
        share = MOST_NOISE * torch.rand(BATCH, 1, 1, 1, generator=generator)
        latents = latents + share * torch.randn(latents.shape, generator=generator)
        return self.error(latents, self.pictures[which].contiguous(memory_format=torch.channels_last))

    def look(self, module, step):
        which = evaluate.spread(len(self.latents), train_vae.MEASURED)
        out = torch.cat([module(part) for part in self.latents[which].split(20)])
        train_vae.save_pairs(os.path.join(self.s.state, "decoder.png"), self.pictures[which][:60], out[:60])
        return "%.2f dB" % train_vae.psnr(out, self.pictures[which]).mean()


def finish(state):
    """vae.pt with the decoder as it is now; the encoder and the latents are kept."""
    path = os.path.join(state, "vae.pt")
    kept = torch.load(path)
    whole, _ = evaluate.load_vae(state)
    workers.load_average(state, "decoder", Decoder(whole))
    kept["parameters"] = whole.state_dict()
    torch.save(kept, path + ".part")
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--decay", type=int, default=2000, help="last steps, in which the learning rate falls to zero")
    parser.add_argument("--pause-file", default="", help="sleeps while this file exists")
    parser.add_argument("--workers", type=int, default=2)
    a = parser.parse_args()
    workers.train(Task, workers.Settings(
        a.state, "decoder", a.steps, a.decay, rate=1e-3, decay_weights=0.01, workers=a.workers,
        pause_file=a.pause_file, look_every=1000))
    finish(a.state)


if __name__ == "__main__":
    main()
