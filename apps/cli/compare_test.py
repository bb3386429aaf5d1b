#!/usr/bin/env python3
"""compare_test.py SD_CLI WORK MAKE_TINY_MODEL: sd-cli -M compare as people call it."""
import json
import os
import struct
import unittest

from process_kit import HELP, MODEL, get, listen_to_signals, main, path, put, run, size_of_png

SETTINGS = ["-W", "64", "-H", "48", "--steps", "2", "--cfg-scale", "1"]
OTHER = ["--compare-diffusion-model", "other.safetensors"]


def compare(*arguments):
    return run("-M", "compare", *MODEL, *arguments)


def write_other():
    """The tiny model with every code of its INT8 weights a little off."""
    data = bytearray(get(MODEL[1]))
    (length,) = struct.unpack("<Q", data[:8])
    for entry in json.loads(data[8:8 + length]).values():
        if entry.get("dtype") == "I8":
            begin, end = (8 + length + at for at in entry["data_offsets"])
            data[begin:end] = bytes(b ^ 4 for b in data[begin:end])
    put(OTHER[1], bytes(data))


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        write_other()

    def refused(self, arguments, message):
        before = sorted(os.listdir(path(".")))
        done = compare(*arguments)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith("error: ")]
        self.assertEqual(lines, ["error: " + message], done.stderr.decode())
        self.assertEqual(done.returncode, 1)
        self.assertEqual(sorted(os.listdir(path("."))), before)

    def test_a_model_is_the_same_as_itself(self):
        done = compare("--compare-diffusion-model", MODEL[1], *SETTINGS, "-p", "a cat", "-o", "same.png", "--report",
                       "same.json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[1].split(), ["same", "1.00000", '"a', 'cat",', "seed", "42"])
        self.assertEqual(lines[2].split(), ["same", "1.00000", "all", "together"])
        report = json.loads(get("same.json"))
        self.assertEqual(report["schema"], "sd.compare.v1")
        self.assertEqual(report["models"], [MODEL[1], MODEL[1]])
        self.assertEqual(report["pictures"], [{"prompt": "a cat", "seed": 42, "psnr": "inf", "ssim": 1.0}])
        self.assertEqual((report["psnr"], report["ssim"]), ("inf", 1.0))
        self.assertEqual(size_of_png("same.png"), (3 * 64 + 16, 48))

    def test_prompts_of_a_file_and_pictures_of_two_models(self):
        put("prompts.txt", "a cat\r\n\n  zwei große Hunde \nlast".encode())
        done = compare(*OTHER, *SETTINGS, "--prompts", "prompts.txt", "-b", "2", "-s", "7", "-o", "two.png", "--report",
                       "two.json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        report = json.loads(get("two.json"))
        self.assertEqual([(p["prompt"], p["seed"]) for p in report["pictures"]],
                         [(prompt, seed) for prompt in ("a cat", "zwei große Hunde", "last") for seed in (7, 8)])
        for p in report["pictures"]:
            self.assertTrue(5 < p["psnr"] < 60, p)
            self.assertTrue(0 < p["ssim"] < 1, p)
        errors = [10 ** (-p["psnr"] / 10) for p in report["pictures"]]
        self.assertAlmostEqual(10 ** (-report["psnr"] / 10) / (sum(errors) / 6), 1, delta=1e-9)
        self.assertAlmostEqual(report["ssim"], sum(p["ssim"] for p in report["pictures"]) / 6, delta=1e-12)
        self.assertEqual(size_of_png("two.png"), (3 * 64 + 16, 6 * 48 + 5 * 8))
        self.assertEqual(len(done.stdout.decode().splitlines()), 8)
        # The first picture of the sheet is the one that -M img_gen makes.
        alone = run(*MODEL, *SETTINGS, "-s", "7", "-p", "a cat", "-o", "alone.png")
        self.assertEqual(alone.returncode, 0)
        again = compare(*OTHER, *SETTINGS, "-s", "7", "-p", "a cat", "-o", "one.png", "--report", "one.json")
        self.assertEqual(again.returncode, 0)
        self.assertEqual(json.loads(get("one.json"))["pictures"][0], report["pictures"][0])

    def test_refusals(self):
        put("prompts.txt", b"a cat\n")
        put("none.txt", b"\n \n")
        put("bad.txt", b"\xff")
        self.refused(SETTINGS, "no second model is given (--compare-model FILE or --compare-diffusion-model FILE)")
        self.refused(OTHER + ["--prompts", "prompts.txt", "-p", "x"], "--prompts and --prompt exclude each other")
        self.refused(OTHER + ["--prompts", "none.txt"], "none.txt: holds no prompt")
        self.refused(OTHER + ["--prompts", "bad.txt"], "bad.txt: is not valid UTF-8 at byte 0")
        self.refused(OTHER + ["--prompts", "missing.txt"], "missing.txt: cannot be read: No such file or directory")
        self.refused(["--compare-vae", "missing.safetensors"], "missing.safetensors: No such file or directory")
        self.refused(["--compare-vae", ""], "--compare-vae: is empty" + HELP)
        self.refused(OTHER + ["-o", "x.png", "--report", OTHER[1]],
                     OTHER[1] + ": would be written over, but it is also used for something else")
        put("style.png", get("tiny-wan-vae.safetensors"))
        before = get(OTHER[1])
        done = compare(*OTHER, *SETTINGS, "-p", "x", "-o", "x.png", "--explain", OTHER[1], "--dump-tensors", "prompts.txt")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual((get(OTHER[1]), get("prompts.txt")), (before, b"a cat\n"), "what has no effect writes nothing")
        os.remove(path("x.png"))
        self.refused(OTHER + ["-p", "x <lora:style.png:1>", "-o", "new/../style.png"],
                     "new/../style.png: would be written over, but it is also used for something else")
        self.refused(OTHER + ["-o", "x.png", "--report", "./x.png"], "./x.png: is the name of the sheet")
        self.refused(OTHER + ["-o", "prompts.txt/x.png"],
                     "prompts.txt/x.png: its folder cannot be made: Not a directory")


if __name__ == "__main__":
    listen_to_signals()
    main()
