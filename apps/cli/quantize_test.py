#!/usr/bin/env python3
"""quantize_test.py SD_CLI WORK MAKE_TINY_MODEL: sd-cli -M quantize as people call it, and pictures of its files."""
import importlib.util
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "support"))
import png_pixels  # noqa: E402

PROGRAM, WORK, MAKE = (os.path.abspath(p) for p in sys.argv[1:4])
spec = importlib.util.spec_from_file_location("tiny_model", MAKE)
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)


class FloatKrea2(tiny.Krea2):
    """The tiny diffusion model with all weights in BF16."""

    def int8(self, name, n, k):
        self.plain(name, n, k)

    int4 = int8


def path(name):
    return os.path.join(WORK, name)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=WORK, capture_output=True, timeout=300)


def quantize(*arguments):
    return run("-M", "quantize", *arguments)


def pixels(name):
    return png_pixels.read(path(name))[3]


def psnr(a, b):
    error = sum((x - y) ** 2 for x, y in zip(a, b)) / len(a)
    return math.inf if error == 0 else 10 * math.log10(255 ** 2 / error)


class Quantize(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        subprocess.run([sys.executable, MAKE, WORK], check=True)
        with open(path("prompts.txt"), "w", encoding="utf-8") as handle:
            handle.write("a cat\n\n  two dogs  \na house by the sea\n")
        with open(path("other.txt"), "w", encoding="utf-8") as handle:
            handle.write("a dog")
        FloatKrea2(random.Random(5)).write(path("krea2.safetensors"), {"format": "pt", "title": "tiny"})

    def picture(self, model, more=""):
        name = os.path.splitext(model)[0] + ".png"
        done = run("--diffusion-model", model, "--llm", "tiny-qwen3-vl.gguf", "--vae", "tiny-wan-vae.safetensors", "-W",
                   "64", "-H", "64", "--steps", "4", "--cfg-scale", "1", "-p", "a cat" + more, "-o", name)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return pixels(name)

    def refused(self, arguments, message, status=1):
        before = sorted(os.listdir(WORK))
        done = quantize(*arguments)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith("error: ")]
        self.assertEqual(lines, ["error: " + message], done.stderr.decode())
        self.assertEqual(done.returncode, status)
        self.assertEqual(sorted(os.listdir(WORK)), before)

    def test_pictures_are_near_those_of_the_unquantized_model(self):
        original = self.picture("krea2.safetensors")
        nearness = {}
        for form in ("int8", "int8-convrot", "w4a4", "w4a8"):
            out = form + ".safetensors"
            done = quantize("-m", "krea2.safetensors", "-o", out, "--format", form, "--verify", "-t", "2")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertIn("preset for Krea 2: krea2", done.stdout.decode())
            self.assertIn("verified: the file was read again", done.stdout.decode())
            nearness[form] = psnr(self.picture(out), original)
        for form, least in (("int8", 48), ("int8-convrot", 48), ("w4a4", 31), ("w4a8", 35)):
            self.assertGreater(nearness[form], least, nearness)
        self.assertLess(nearness["w4a4"], nearness["int8-convrot"])

    def test_the_report(self):
        done = quantize("-m", "krea2.safetensors", "-o", "r.safetensors", "--format", "w4a8", "--exclude",
                        "blocks.1.mlp.*", "--exclude", "blocks.0.attn.w?", "--report", "r.json", "--fail-above", "0.5",
                        "--header-settings")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        text = done.stdout.decode()
        for part in ("w4a8, group 256", "w4a8, group 64", "largest errors", "layers by error", "--exclude",
                     "preset krea2 (first*)"):
            self.assertIn(part, text)
        with open(path("r.json"), encoding="utf-8") as handle:
            report = json.load(handle)
        self.assertEqual(report["schema"], "sd.quantize.v1")
        names = [layer["name"] for layer in report["layers"]]
        self.assertEqual(sorted(names), sorted(["blocks.%d.attn.%s" % (i, p) for i in (0, 1) for p in
                                                (("gate",) if i == 0 else ("wq", "wk", "wv", "gate", "wo"))] +
                                               ["blocks.0.mlp." + p for p in ("gate", "up", "down")]))
        self.assertEqual(sum(report["histogram"]["counts"]), len(names))
        self.assertEqual(len(report["worst"]), min(10, len(names)))
        for layer in report["layers"]:
            self.assertTrue(0.03 < layer["error"] < 0.12, layer)
            self.assertEqual(layer["from"], "BF16")
            self.assertEqual(layer["bytes_before"], 2 * layer["shape"][0] * layer["shape"][1])
        self.assertEqual(report["output"]["bytes"], os.path.getsize(path("r.safetensors")))
        inspected = json.loads(run("-M", "inspect", "-m", "r.safetensors", "--json").stdout)
        counts = [row["count"] for row in inspected["formats"] if row["format"] == "asym_w4a8_int8"]
        self.assertEqual(sum(counts), len(names))

    def test_parts_given_by_several_options(self):
        for name, prefix in (("one", "blocks.0.a"), ("two", "blocks.1.a")):
            part = tiny.Safetensors()
            part.add(prefix + ".weight", "F32", [4, 64], tiny.f32([0.25] * 256))
            part.write(path(name + ".safetensors"), {})
        done = quantize("-m", "one.safetensors", "-m", "two.safetensors", "-o", "both.safetensors", "--format", "int8")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        inspected = json.loads(run("-M", "inspect", "-m", "both.safetensors", "--json").stdout)
        self.assertEqual([layer["name"] for layer in inspected["layers"]], ["blocks.0.a", "blocks.1.a"])

    def test_refusals(self):
        good = ["-m", "krea2.safetensors", "-o", "none.safetensors"]
        self.refused(good, "no format is given (--format int8, int8-convrot, w4a4, w4a8 or auto)")
        self.refused(["-m", "krea2.safetensors", "--format", "int8"], "no output is given (-o FILE.safetensors)")
        self.refused(["-o", "none.safetensors", "--format", "int8"],
                     "no model file is given (-m FILE or --diffusion-model FILE)")
        self.refused(["-m", "missing.safetensors", "-o", "none.safetensors", "--format", "int8"],
                     "missing.safetensors: No such file or directory")
        self.refused(["-m", "krea2.safetensors", "-o", "krea2.safetensors", "--format", "int8", "--force"],
                     "krea2.safetensors: is the file that is read (choose another output)")
        self.refused(["-m", "krea2.safetensors", "-o", "tiny-wan-vae.safetensors", "--format", "int8"],
                     "tiny-wan-vae.safetensors: exists already (--force replaces it)")
        self.refused(["-m", "tiny-krea2-int8-convrot.safetensors", "-o", "none.safetensors", "--format", "w4a4"],
                     "tiny-krea2-int8-convrot.safetensors: tensor blocks.0.attn.gate.weight: is quantized already "
                     "(int8_tensorwise), and quantizing twice to w4a4 would add to its errors (begin from the original, "
                     "or leave it as it is with --exclude or a rule PATTERN = keep)")
        with open(path("rules.safetensors"), "w", encoding="utf-8") as file:
            file.write("*.attn.* = keep\n")
        self.refused(["-m", "krea2.safetensors", "-o", "rules.safetensors", "--format", "int8", "--force", "--rules",
                      "rules.safetensors"], "rules.safetensors: is the file that is read (choose another output)")
        calibrated = ["-m", "krea2.safetensors", "--format", "int8", "--force", "--calibrate", "prompts.txt", "--llm",
                      "tiny-qwen3-vl.gguf", "--vae", "tiny-wan-vae.safetensors"]
        self.refused(calibrated + ["-o", "tiny-wan-vae.safetensors"],
                     "tiny-wan-vae.safetensors: is the file that is read (choose another output)")
        self.refused(calibrated + ["-o", "new/../prompts.txt"], "new/../prompts.txt: is the list of prompts that is read")
        self.refused(good + ["--format", "int8", "--report", "krea2.safetensors/r.json"],
                     "krea2.safetensors/r.json: its folder cannot be made: Not a directory")
        self.refused(good + ["--format", "int8", "--report", "./krea2.safetensors"],
                     "--report ./krea2.safetensors: is a file that is read or written")
        self.refused(good + ["--format", "int8", "--calibrate", "missing.txt"], "missing.txt: cannot be read: No such file or directory")
        self.refused(good + ["--format", "int8", "--calibrate", "prompts.txt", "--vae", "tiny-wan-vae.safetensors"],
                     "krea2.safetensors: no text encoder is given (a Qwen3-VL text encoder: --llm FILE)")
        self.refused(good + ["-m", "krea2.safetensors", "--format", "int8", "--calibrate", "prompts.txt"],
                     "a model in several files cannot be calibrated (quantize its parts one at a time)")
        self.refused(good + ["--format", "int8", "--lora", "krea2.safetensors:much"],
                     '--lora: "much" is no strength: FILE:0.8, or FILE alone for 1 (sd-cli --help lists the options)')
        self.refused(good + ["--format", "int8", "--lora", "missing.safetensors:0.5"],
                     "missing.safetensors: No such file or directory")
        self.refused(good + ["--format", "auto"],
                     "--format auto needs a budget (--target-size 7.5GiB or --max-error 0.03)")
        self.refused(good + ["--format", "auto", "--target-size", "small"],
                     "--target-size: \"small\" is no size: 7.5GiB, 800MB, or bytes (sd-cli --help lists the options)")
        self.refused(good + ["--format", "int8", "--max-error", "0.1"],
                     "--max-error is for formats that are chosen (--format auto)")

    def test_formats_by_size_and_by_error(self):
        done = quantize("-m", "krea2.safetensors", "-o", "a.safetensors", "--format", "auto", "--target-size", "1kB")
        found = re.search(r"the smallest file has (\d+) bytes", done.stderr.decode())
        self.assertEqual(done.returncode, 1)
        smallest = int(found[1])
        for size in (smallest, smallest + 20000, smallest + 60000):
            done = quantize("-m", "krea2.safetensors", "-o", "a.safetensors", "--format", "auto", "--target-size",
                            str(size), "--force", "--verify", "--scale-search", "--report", "a.json")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertLessEqual(os.path.getsize(path("a.safetensors")), size)
        self.assertIn("scales are searched", done.stdout.decode())
        done = quantize("-m", "krea2.safetensors", "-o", "e.safetensors", "--format", "auto", "--max-error", "0.05",
                        "--report", "e.json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        with open(path("e.json"), encoding="utf-8") as handle:
            choice = json.load(handle)["choice"]
        self.assertTrue(0.03 < choice["error"] <= 0.05)
        self.assertGreater(psnr(self.picture("e.safetensors"), self.picture("krea2.safetensors")), 35)

    def test_an_adapter_is_merged_as_a_picture_has_it(self):
        rng, adapter = random.Random(11), tiny.Safetensors()
        for module in ("blocks.0.attn.wq", "blocks.1.mlp.down", "blocks.0.mlp.up"):
            n, k = {"wq": (128, 128), "down": (128, 256), "up": (256, 128)}[module.split(".")[-1]]
            adapter.add("diffusion_model." + module + ".lora_A.weight", "F32", [4, k],
                        tiny.f32(tiny.floats(rng, 4 * k, 0.3)))
            adapter.add("diffusion_model." + module + ".lora_B.weight", "F32", [n, 4],
                        tiny.f32(tiny.floats(rng, 4 * n, 0.3)))
        adapter.add("diffusion_model.blocks.7.attn.wq.lora_A.weight", "F32", [4, 128], tiny.f32([0.5] * 512))
        adapter.write(path("style.safetensors"), {})
        done = quantize("-m", "krea2.safetensors", "-o", "merged.safetensors", "--format", "int8-convrot", "--lora",
                        "style.safetensors:0.25", "--lora", path("style.safetensors") + ":-1e-1", "--lora",
                        "style.safetensors", "--verify", "--report", "merged.json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn("style.safetensors: 1 of 7 tensors match nothing in the models: "
                      "diffusion_model.blocks.7.attn.wq.lora_A.weight", done.stderr.decode())
        with open(path("merged.json"), encoding="utf-8") as handle:
            adapters = json.load(handle)["adapters"]
        self.assertEqual(sorted(a["strength"] for a in adapters), [struct.unpack("f", struct.pack("f", -0.1))[0], 1.25])
        self.assertEqual([(a["changed"], a["tensors"], len(a["unmatched"])) for a in adapters], [(3, 7, 1)] * 2)
        done = quantize("-m", "krea2.safetensors", "-o", "alone.safetensors", "--format", "int8-convrot")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        merged, without = self.picture("merged.safetensors"), self.picture("alone.safetensors")
        added = self.picture("alone.safetensors", "<lora:style:1.15>")
        self.assertGreater(psnr(merged, added), 40)
        self.assertLess(psnr(merged, without), 30)
        done = run("-M", "img_gen", "--diffusion-model", "krea2.safetensors", "--lora", "style.safetensors")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: --lora is for -M quantize; pictures take <lora:NAME:STRENGTH> in the prompt",
                      done.stderr.decode())

    PARTS = ["--llm", "tiny-qwen3-vl.gguf", "--vae", "tiny-wan-vae.safetensors", "--calibrate", "prompts.txt", "--steps",
             "3", "-W", "64", "-H", "64"]

    def test_calibration_brings_outputs_nearer(self):
        for form in ("int8", "int8-convrot", "w4a4", "w4a8"):
            name = "cal-" + form
            done = quantize("-m", "krea2.safetensors", *self.PARTS, "-o", name + ".safetensors", "--format", form,
                            "--verify", "--report", name + ".json")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertIn("calibrated with 3 prompts: 16 of 16 layers", done.stdout.decode())
            with open(path(name + ".json"), encoding="utf-8") as handle:
                report = json.load(handle)
            self.assertEqual(report["calibration"], {"prompts": 3})
            self.assertEqual(len(report["layers"]), 16)
            for layer in report["layers"]:
                self.assertLess(layer["output_error"], 0.9 * layer["plain_output_error"], layer["name"])
            # The file has the quantized model alone.
            self.assertLess(os.path.getsize(path(name + ".safetensors")), os.path.getsize(path("krea2.safetensors")))
        self.picture("cal-w4a8.safetensors")

    def test_calibration_is_the_same_however_it_is_run(self):
        files = []
        for name, more in (("c1", ["-t", "1"]), ("c2", ["-t", "2"]), ("c3", ["--calibrate-memory", "600kB"])):
            done = quantize("-m", "krea2.safetensors", *self.PARTS, "-o", name + ".safetensors", "--format", "w4a8", *more)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            with open(path(name + ".safetensors"), "rb") as handle:
                files.append(handle.read())
        self.assertIn("calibration, pass 2", done.stderr.decode())
        self.assertTrue(files[0] == files[1] == files[2])
        # Interrupted after the second pass, and gone on with.
        command = ["-M", "quantize", "-m", "krea2.safetensors", *self.PARTS, "-o", "c5.safetensors", "--format", "w4a8",
                   "--calibrate-memory", "600kB"]
        with subprocess.Popen([PROGRAM, *command], cwd=WORK, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            for line in process.stderr:
                if b"calibration, pass 2" in line:
                    process.send_signal(signal.SIGINT)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(os.path.exists(path("c5.safetensors.part.journal")))
        done = run(*[{"prompts.txt": "other.txt"}.get(word, word) for word in command])
        self.assertIn("c5.safetensors.part.journal: is about other options", done.stderr.decode())
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn("going on with c5.safetensors.part", done.stderr.decode())
        with open(path("c5.safetensors"), "rb") as handle:
            self.assertTrue(handle.read() == files[0])
        done = quantize("-m", "krea2.safetensors", "-o", "c4.safetensors", "--format", "w4a8")
        with open(path("c4.safetensors"), "rb") as handle:
            self.assertNotEqual(handle.read(), files[0])

    def test_calibration_of_a_merged_model_sees_the_merged_model(self):
        adapter = tiny.Safetensors()
        adapter.add("blocks.0.mlp.up.diff", "F32", [256, 128], tiny.f32([0.25] * (256 * 128)))
        adapter.write(path("push.safetensors"), {})
        errors = []
        for more in ([], ["--lora", "push.safetensors"]):
            done = quantize("-m", "krea2.safetensors", *self.PARTS, "-o", "push-out.safetensors", "--format", "w4a4",
                            "--force", "--report", "push.json", *more)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            with open(path("push.json"), encoding="utf-8") as handle:
                layers = {layer["name"]: layer for layer in json.load(handle)["layers"]}
            # What this layer reads comes from the changed one.
            errors.append(layers["blocks.0.mlp.down"]["plain_output_error"])
        self.assertGreater(abs(errors[0] - errors[1]), 1e-4)

    def test_an_error_above_the_limit_is_a_failure_with_the_file_there(self):
        done = quantize("-m", "krea2.safetensors", "-o", "f.safetensors", "--format", "w4a4", "--fail-above", "0.01")
        self.assertEqual(done.returncode, 1)
        self.assertIn("largest errors", done.stdout.decode())
        self.assertRegex(done.stderr.decode(), r"error: f\.safetensors: tensor blocks\..*: its error of 0\.1.* is "
                                               r"above --fail-above 0\.01, as that of 15 others \(the file is written\)")
        self.assertTrue(os.path.exists(path("f.safetensors")))


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # what starts the tests may have them ignored
    unittest.main(argv=sys.argv[:1])
