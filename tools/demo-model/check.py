#!/usr/bin/env python3
"""Compares what a program draws from exported files with what this model draws from the same noise.

Needs sd-cli. Exports the trained model, or with --random one of the same shape with random weights, draws a picture with
both, and fails when the latents differ by more than rounding of the files explains.
"""
import argparse
import os
import subprocess
import tempfile

import numpy as np
import torch
from PIL import Image

import bpe
import captions
import emoji
import evaluate
import export
import model as models
import prepare
import vae


# Every product but those of the layers that pictures enter and leave by, and one of two inputs.
QUANTIZE = ["--format", "int8-convrot", "--include", "tmlp*,tproj*,txtmlp*,txtfusion.*", "--exclude",
            "txtfusion.projector"]


def philox(seed, count):
    """The noise of `--rng cuda`: Philox4x32 with ten rounds, then Box and Muller's sine."""
    index = np.arange(count, dtype=np.uint64)
    c = [np.zeros(count, np.uint64), np.zeros(count, np.uint64), index, np.zeros(count, np.uint64)]
    low, key = np.uint64(0xFFFFFFFF), [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]), q & low, (p >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]),
             p & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    u = (c[0].astype(np.float64) + 0.5) * 2.0 ** -32
    w = (c[1].astype(np.float64) + 0.5) * 2.0 ** -32 * 2 * np.pi
    return (np.sqrt(-2 * np.log(u)) * np.sin(w)).astype(np.float32)


def random_model(state):
    """Untrained, but for scales that keep pictures from being all the same."""
    torch.manual_seed(5)
    _, names, keywords = prepare.load(state)
    model = models.Model(bpe.learn(captions.corpus(names, keywords), 300))
    decoder = vae.WanVae(16)
    with torch.no_grad():
        for parameter in [*model.parameters(), *decoder.parameters()]:
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)
        model.dit.last.weight *= 10
    return model, decoder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("sd_cli")
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--prompt", default="red apple")
    parser.add_argument("--seed", type=int, default=42)
    a = parser.parse_args()
    torch.set_num_threads(1)
    model, decoder = random_model(a.state) if a.random else (
        evaluate.load_model(a.state)[0], evaluate.load_vae(a.state)[0])
    side = emoji.SIDE // 8
    noise = torch.from_numpy(philox(a.seed, vae.LATENT * side * side)).view(1, vae.LATENT, side, side)
    own = models.draw(model, [model.vocabulary.encode(a.prompt)], 8, 3.0, noise)
    own = ((evaluate.pictures_of(decoder, own) + 1) * 127.5).round()[0].permute(1, 2, 0).numpy()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        export.write_all(model, decoder, folder)
        f16, int8 = (os.path.join(folder, "demo-krea2-%s.safetensors" % kind) for kind in ("f16", "int8-convrot"))
        subprocess.run([a.sd_cli, "-M", "quantize", "-m", f16, "-o", int8, *QUANTIZE], check=True,
                       stdout=subprocess.DEVNULL)
        for kind, most in (("f16", 1.0), ("int8-convrot", 8.0)):
            out = os.path.join(folder, kind + ".png")
            subprocess.run([a.sd_cli, "--diffusion-model", os.path.join(folder, "demo-krea2-%s.safetensors" % kind),
                            "--llm", os.path.join(folder, "demo-qwen3-vl-q8_0.gguf"),
                            "--vae", os.path.join(folder, "demo-wan-vae.safetensors"), "-p", a.prompt,
                            "-W", str(emoji.SIDE), "-H", str(emoji.SIDE), "--steps", "8", "--cfg-scale", "3",
                            "-s", str(a.seed), "-o", out], check=True, stdout=subprocess.DEVNULL)
            theirs = np.asarray(Image.open(out).convert("RGB"), np.float32)
            apart = float(np.abs(theirs - own).mean())
            print("%s: %.2f of 255 apart on average, pixels deviate by %.1f" % (kind, apart, own.std()))
            failed |= apart > most
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
