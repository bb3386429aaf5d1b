#!/usr/bin/env python3
"""quality.py SD_CLI STATE OUT DOCUMENT: what the formats of weights cost, on the trained demo model.

STATE and OUT are the folders of tools/demo-model/run.py: its training pictures, and its files. Quantizes the F16 model in
every format, draws the same captions with each, and writes a table to DOCUMENT. Needs numpy and Pillow.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "demo-model"))
import prepare  # noqa: E402

SIDE, GAP = 64, 8  # of a picture, and between two of a sheet
# All products but the layers that pictures enter and leave by, and one of two inputs. What the preset of Krea 2 keeps
# in full precision is a third of this small model.
ALL = ["--include", "tmlp*,tproj*,txtmlp*,txtfusion.*", "--exclude", "txtfusion.projector"]
# Four bits only for the blocks, as published files have it.
OTHERS = "".join("%s = int8-convrot\n" % name for name in ("tmlp*", "tproj*", "txtmlp*", "txtfusion.layerwise*",
                                                           "txtfusion.refiner*"))
FORMATS = [("F16", None), ("INT8, not rotated", ["--format", "int8"] + ALL),
           ("INT8 ConvRot", ["--format", "int8-convrot"] + ALL),
           ("W4A8 blocks, the rest INT8 ConvRot", ["--format", "w4a8", "--rules", "RULES"]),
           ("the same with --calibrate", ["--format", "w4a8", "--rules", "RULES", "CALIBRATE"]),
           ("W4A4 blocks, the rest INT8 ConvRot", ["--format", "w4a4", "--rules", "RULES"]),
           ("the same with --scale-search", ["--format", "w4a4", "--rules", "RULES", "--scale-search"]),
           ("the same with --scale-search and --calibrate",
            ["--format", "w4a4", "--rules", "RULES", "--scale-search", "CALIBRATE"])]
CALIBRATION = 32  # prompts, none of which is drawn later


class Bench:
    def __init__(self, program, state, out, folder):
        self.program, self.out, self.folder = program, out, folder
        self.pictures, self.names, _ = prepare.load(state)
        self.shared = ["--llm", os.path.join(out, "demo-qwen3-vl-q8_0.gguf"),
                       "--vae", os.path.join(out, "demo-wan-vae.safetensors")]
        with open(self.path("rules"), "w", encoding="utf-8") as file:
            file.write(OTHERS)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        subprocess.run([self.program, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def quantized(self, number, options):
        f16 = os.path.join(self.out, "demo-krea2-f16.safetensors")
        if options is None:
            return f16
        path = self.path("model-%d.safetensors" % number)
        meant = {"RULES": [self.path("rules")], "CALIBRATE": ["--calibrate", self.path("others.txt"), *self.shared]}
        self.run("-M", "quantize", "-m", f16, "-o", path, "--verify", *(o for option in options
                                                                        for o in meant.get(option, [option])))
        return path

    def captions(self, count):
        """Names of `count` pictures, evenly over all, in a file, and some others; which pictures the first are."""
        which = np.arange(count) * len(self.names) // count
        others = np.setdiff1d(np.arange(len(self.names)), which)
        others = others[np.arange(CALIBRATION) * len(others) // CALIBRATION]
        for name, indices in (("captions.txt", which), ("others.txt", others)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.writelines(self.names[i][0] + "\n" for i in indices)
        return which

    def draw(self, model, count):
        """All pictures, and the seconds they took."""
        begin = time.monotonic()
        self.run("--diffusion-model", model, *self.shared, "--prompts", self.path("captions.txt"),
                 "-o", self.path("one_%d.png"), "--grid", self.path("grid.png"))
        seconds = time.monotonic() - begin
        sheet = np.asarray(Image.open(self.path("grid.png")).convert("RGB"), np.float32)
        columns = (sheet.shape[1] + GAP) // (SIDE + GAP)
        tops, lefts = np.arange(count) // columns * (SIDE + GAP), np.arange(count) % columns * (SIDE + GAP)
        return np.stack([sheet[t:t + SIDE, l:l + SIDE] for t, l in zip(tops, lefts)]), seconds

    def compare(self, first, second):
        """PSNR in dB and SSIM of all pictures together, as sd-cli -M compare reports them."""
        self.run("-M", "compare", "--diffusion-model", first, *self.shared, "--compare-diffusion-model", second,
                 "--prompts", self.path("captions.txt"), "-o", self.path("sheet.png"),
                 "--report", self.path("report.json"))
        with open(self.path("report.json"), encoding="utf-8") as file:
            report = json.load(file)
        return report["psnr"], report["ssim"]

    def nearest(self, drawn, which):
        """Shares of the pictures to which the right training picture is the nearest, and among the nearest five."""
        originals = self.pictures.reshape(len(self.pictures), -1).astype(np.float32)
        flat = drawn.reshape(len(drawn), -1)
        distance = (flat ** 2).sum(1)[:, None] + (originals ** 2).sum(1) - 2 * flat @ originals.T
        rank = (distance < distance[np.arange(len(which)), which][:, None]).sum(1)
        return (rank < 1).mean(), (rank < 5).mean()


def measure(bench, count, rounds):
    which = bench.captions(count)
    models = [bench.quantized(number, options) for number, (_, options) in enumerate(FORMATS)]
    drawn, seconds = [None] * len(models), [[] for _ in models]
    for _ in range(rounds):  # one after the other, so that a busy moment meets all
        for number, model in enumerate(models):
            drawn[number], took = bench.draw(model, count)
            seconds[number].append(took)
    rows = []
    for number, (name, _) in enumerate(FORMATS):
        first, five = bench.nearest(drawn[number], which)
        apart = bench.compare(models[0], models[number]) if number > 0 else None
        rows.append((name, os.path.getsize(models[number]), apart, first, five, count / statistics.median(seconds[number])))
        print("%s: top-1 %.1f %%, top-5 %.1f %%" % (name, 100 * first, 100 * five))
    return rows


def document(rows, count, rounds, total):
    lines = ["# What the formats cost", "",
             "Written by `bench/quality/quality.py`; do not edit. The diffusion model of the bundled demo model (%d training"
             % total,
             "pictures of 64x64) with its weights in each format, all other parts the same; %d captions of the training set,"
             % count, "the model's own settings (8 steps, cfg scale 3), seed 42.", "",
             "| weights | MB | PSNR to F16 | SSIM to F16 | top-1 | top-5 | pictures / s |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, size, apart, first, five, speed in rows:
        near = "| | " if apart is None else "| %.1f dB | %.3f " % apart
        lines.append("| %s | %.2f %s| %.1f %% | %.1f %% | %.1f |" % (name, size / 1e6, near, 100 * first, 100 * five, speed))
    lines += ["",
              "* PSNR and SSIM: of all pictures together, against those of the F16 model with the same seeds (`-M compare`).",
              "* top-1, top-5: how often the training picture of the caption is the nearest to the drawn one, or among the",
              "  nearest five, by squared distance of pixels among all %d. Captions are ones the model has seen." % total,
              "* pictures / s: text encoder, all steps, VAE and writing, median of %d rounds. So small a model says nothing" %
              rounds, "  about the speed of large ones.",
              "* `--calibrate` looked at what layers read for %d other captions." % CALIBRATION,
              "* The layers that pictures enter and leave by stay F16. Published files keep more of a model in full precision.",
              ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="SD_CLI")
    parser.add_argument("state")
    parser.add_argument("out")
    parser.add_argument("document")
    parser.add_argument("--count", type=int, default=200, help="captions")
    parser.add_argument("--rounds", type=int, default=2, help="of drawing, for the speed")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(a.program), a.state, a.out, folder)
        rows = measure(bench, a.count, a.rounds)
        text = document(rows, a.count, a.rounds, len(bench.names))
    with open(a.document, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
