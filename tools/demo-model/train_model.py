#!/usr/bin/env python3
"""Trains text encoder and diffusion transformer on the latents of STATE/vae.pt and the captions of STATE/data.npz.

Goes on where it was, whenever it is started. Every now and then it draws captions' pictures, counts how many are nearest to
the right training picture, and writes STATE/model.png.
"""
import argparse
import os

import torch

import bpe
import captions
import evaluate
import model
import prepare
import text
import workers

MERGES = 2000       # of the vocabulary, besides those of the template
PROMPTS = 16        # in a step of each worker
DRAWS = 2           # noisy latents for each of them: text is encoded once
PLACES = 7          # for tokens of a caption: one shape for all batches; 98 of 100 names with their lead-ins fit


def vocabulary(state):
    """Learned once, then kept."""
    path = os.path.join(state, "bpe.json")
    if not os.path.exists(path):
        _, names, keywords = prepare.load(state)
        bpe.learn(captions.corpus(names, keywords), MERGES).save(path + ".part")
        os.replace(path + ".part", path)
    return bpe.Bpe.load(path)


def times(count, generator):
    """From 0 to 1, where learning pays: mostly towards noise, with enough at the very beginning of sampling."""
    bell = torch.sigmoid(0.8 + torch.randn(count, generator=generator))
    even = torch.rand(count, generator=generator)
    return torch.where(torch.rand(count, generator=generator) < 0.75, bell, even)


class Task:
    def __init__(self, s):
        self.s = s
        _, names, keywords = prepare.load(s.state)
        self.bpe = vocabulary(s.state)
        self.captions = captions.Captions(self.bpe, names, keywords)
        self.latents = evaluate.load_vae(s.state)[1]
        self.module = self.make()
        parts = self.module.dit
        workers.compile_each([*self.module.text.layers, *parts.layerwise, *parts.refiner, *parts.blocks])

    def make(self):
        return model.Model(self.bpe)

    def loss(self, generator):
        which = torch.randint(len(self.latents), (PROMPTS,), generator=generator)
        rng = captions.rng_of(generator)
        prompts = self.captions.draw(rng, which.tolist(), PLACES)
        tokens, real = text.padded(self.bpe, prompts, PLACES + bpe.SUFFIX)
        latents = self.latents[which].repeat_interleave(DRAWS, 0)
        noise = torch.randn(latents.shape, generator=generator)
        time = times(len(latents), generator)
        mix = time.view(-1, 1, 1, 1)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            velocity = self.module((1 - mix) * latents + mix * noise, time, tokens, real, DRAWS)
        return (velocity - (noise - latents)).square().mean()

    def look(self, module, step):
        first, five = evaluate.retrieval(module, self.s.state, 100, 8, 3.0)
        evaluate.save_sheet(module, self.s.state, evaluate.PROMPTS, os.path.join(self.s.state, "model.png"), 8, 3.0)
        return "of 100 captions at guidance 3, top-1 %.1f %%, top-5 %.1f %%" % (100 * first, 100 * five)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("--steps", type=int, default=30000)
    parser.add_argument("--decay", type=int, default=6000, help="last steps, in which the learning rate falls to zero")
    parser.add_argument("--pause-file", default="", help="sleeps while this file exists")
    parser.add_argument("--workers", type=int, default=2)
    a = parser.parse_args()
    workers.train(Task, workers.Settings(
        a.state, "model", a.steps, a.decay, rate=1.5e-3, average=0.998, workers=a.workers, pause_file=a.pause_file,
        look_every=1000))


if __name__ == "__main__":
    main()
