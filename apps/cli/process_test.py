#!/usr/bin/env python3
"""process_test.py SD_CLI WORK MAKE_TINY_MODEL: sd-cli as people call it. What it says, how it ends, what it leaves."""
import json
import os
import re
import shutil
import struct
import subprocess
import time
import unittest

from process_kit import (HELP, MAKE, MODEL, PROGRAM, SMALL, WORK, get, main, names_of_tensors, path, png, put, run,
                         size_of_png, tensor, with_metadata)


class Refusals(unittest.TestCase):
    def refused(self, arguments, message):
        done = run(*arguments)
        self.assertEqual(done.stderr.decode(), "error: " + message + "\n", arguments)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.returncode, 1)

    def test_values_of_options(self):
        for arguments, message in [
                (["--steps", "2x"], '--steps: "2x" is no whole number'),
                (["--steps", "0"], "--steps: 0 is not between 1 and 10000"),
                (["--steps", "10001"], "--steps: 10001 is not between 1 and 10000"),
                (["--steps", "-1"], "--steps: -1 is not between 1 and 10000"),
                (["--steps"], "--steps needs a value"),
                (["-W", "0"], "--width: 0 is not between 1 and 16384"),
                (["-H", "16385"], "--height: 16385 is not between 1 and 16384"),
                (["-W", "1e3"], '--width: "1e3" is no whole number'),
                (["-s", "9223372036854775808"], "--seed: 9223372036854775808 is not between "
                 "-9223372036854775808 and 9223372036854775807"),
                (["-b", "0"], "--batch-count: 0 is not between 1 and 10000"),
                (["-t", "513"], "--threads: 513 is not between -512 and 512"),
                (["--strength", "1.01"], "--strength: 1.01 is not between 0 and 1"),
                (["--cfg-scale", "-1"], "--cfg-scale: -1 is not between 0 and 1e+06"),
                (["--cfg-scale", "nan"], '--cfg-scale: "nan" is no number'),
                (["--eta", "much"], '--eta: "much" is no number'),
                (["--vae-tile-size", "32y"], '--vae-tile-size: "32y" is no whole number'),
                (["--vae-tile-size", "32x3"], "--vae-tile-size: 3 is not between 4 and 16384"),
                (["--vae-tile-size", "8x"], '--vae-tile-size: "8x" is neither X nor XxY'),
                (["--sigmas", ",,,"], '--sigmas: ",,," is no list of numbers, as 1,0.5,0'),
                (["--sigmas", "1,0.5,,0"], '--sigmas: "1,0.5,,0" is no list of numbers, as 1,0.5,0'),
                (["--sigmas", "1,0.5x,0"], '--sigmas: "0.5x" is no number'),
                (["--rng", "dice"], '--rng: "dice" is none of std_default, cuda, cpu'),
                (["--sampler-rng", "dice"], '--sampler-rng: "dice" is none of std_default, cuda, cpu'),
                (["--preview", "tae"], '--preview: "tae" is none of none, proj'),
                (["-M", "dream"], '--mode: "dream" is none of compare, convert, img_gen, inspect, metadata, quantize'),
                (["-M", "convrt"], '--mode: "convrt" is none of compare, convert, img_gen, inspect, metadata, quantize; '
                 "did you mean convert?"),
                (["--rng", "cudda"], '--rng: "cudda" is none of std_default, cuda, cpu; did you mean cuda?'),
                (["-o", ""], "--output: is empty"),
                (["--bogus", "3"], "there is no option --bogus"),
                (["--stesp", "3"], "there is no option --stesp; did you mean --steps?"),
                (["cat.png"], '"cat.png" belongs to no option'),
                (["inspect", "-m", "x.gguf"], '"inspect" belongs to no option; did you mean -M inspect?'),
                (["-m", "x.gguf", "--type", "f16", "convert"], '"convert" belongs to no option; did you mean -M convert?')]:
            with self.subTest(arguments):
                self.refused(arguments, message + HELP)

    def test_names_the_engine_knows_are_listed(self):
        done = run("--sampling-method", "magic").stderr.decode()
        self.assertRegex(done, r'^error: --sampling-method: there is no sampling method "magic" '
                         r'\(use one of euler, .*\n$')
        done = run("--scheduler", "magic").stderr.decode()
        self.assertRegex(done, r'^error: --scheduler: there is no scheduler "magic" \(use one of discrete, .*\n$')
        for option, slip, meant in [("--sampling-method", "eulr", "euler"), ("--scheduler", "simpel", "simple"),
                                    ("--type", "Q4_k", "q4_K")]:
            told = run(option, slip).stderr.decode()
            self.assertRegex(told, "^error: " + option + ": .*; did you mean " + meant + r"\? \(sd-cli [^\n]*\n$")
        self.assertRegex(run("--sampling-method", "tcd").stderr.decode(), r'^error: --sampling-method: .*"tcd".*\n$')

    def test_features_that_do_not_exist_are_named(self):
        for name in ["--clip_l", "--control-net", "--fps", "--upscale-model", "--taesd",
                     "--rpc-servers", "-r", "--cache-mode", "--imat-in", "--ad-model", "--embd-dir",
                     "--moe-boundary"]:
            with self.subTest(name):
                done = run(name, "1")
                self.assertRegex(done.stderr.decode(), "^error: " + name + r" belongs to [^\n]*\n$")
                self.assertEqual(done.returncode, 1)
        for name in ["--hires", "--circular", "--preview-noisy", "--canny"]:
            with self.subTest(name):
                self.assertRegex(run(name).stderr.decode(), "^error: " + name + r" belongs to [^\n]*\n$")

    def test_places_and_limits_that_cannot_be(self):
        for options, told in [
                (["--backend", "cuda9"], r'there is no device "cuda9" \(devices here: auto, CPU'),
                (["--backend", "vea=cpu"], '--backend: there is no module "vea" .modules are diffusion, te, vae'),
                (["--backend", "te="], '--backend: "te=" in "te=" lacks a name or a value'),
                (["--backend", "disk"], "--backend: disk keeps weights and computes nothing"),
                (["--params-backend", "tape"], 'there is no device "tape"'),
                (["--split-mode", "row"], "--split-mode: row needs memory whose rows lie on several devices"),
                (["--max-vram", "much"], '--max-vram: "much" is no number of GiB'),
                (["--max-ram", "much"], '--max-ram: "much" is no size'),
                (["--max-ram", "6"], '--max-ram: "6" is 6 bytes; a size is 6GiB or 800MB'),
                (["--max-ram", "1MB"], r"the text encoder needs at least .* it may take 0 bytes"),
                (["--max-ram", "1GiB", "--explain", "e.txt"], "e.txt: a step whose weights come and go")]:
            with self.subTest(options):
                done = run(*SMALL, *options)
                self.assertRegex(done.stderr.decode(), r"(?m)^error: " + told)
                self.assertEqual(done.returncode, 1)

    def test_files(self):
        self.refused(SMALL + ["-i", "none.png"], "none.png: cannot be read: No such file or directory")
        self.refused(SMALL + ["-i", put("bad.png", b"hello")], "bad.png: is no PNG, JPEG or WebP file")
        self.refused(SMALL + ["-i", put("cut.png", png(9, 9, lambda x, y: (x, y, 0))[:-20])], "cut.png: is cut short")
        self.refused(SMALL + ["--mask", "m.png"], "--mask needs a picture it is for (--init-img FILE)")
        self.refused(SMALL + ["-i", "a\nb\x1b.png"], "a b\\x1b.png: cannot be read: No such file or directory")
        done = run("--diffusion-model", "none.safetensors")
        self.assertRegex(done.stderr.decode(), r"^error: none\.safetensors: [^\n]*\n$")

    def test_threads_do_not_spin_for_long(self):
        for given, spins in [({}, "1000"), ({"GOMP_SPINCOUNT": "77"}, "77"), ({"OMP_WAIT_POLICY": "passive"}, None)]:
            clean = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
            with subprocess.Popen([PROGRAM, *SMALL, "--steps", "10000", "-o", "spin.png"], cwd=WORK, env={**clean, **given},
                                  stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
                child.stderr.readline()  # it has begun
                with open("/proc/%d/environ" % child.pid, "rb") as file:
                    environment = dict(entry.split("=", 1) for entry in file.read().decode().split("\0") if entry)
                with open("/proc/%d/comm" % child.pid, encoding="utf-8") as file:
                    self.assertEqual(file.read().strip(), os.path.basename(PROGRAM))
                child.kill()
                child.stderr.read()
            self.assertEqual(environment.get("GOMP_SPINCOUNT"), spins)

    def test_prompts(self):
        model = MODEL + ["-W", "64", "-H", "48", "--steps", "1", "--cfg-scale", "1"]
        self.refused(model + ["--prompt-file", "none.txt"], "none.txt: cannot be read: No such file or directory")
        self.refused(model + ["--prompt-file", put("bad.txt", b"ab\xff")], "bad.txt: is not valid UTF-8 at byte 2")
        self.refused(model + ["-n", b"a\xe7"], "--negative-prompt: is not valid UTF-8 at byte 1")
        self.refused(model + ["-p", "cat <lora:x:1>", "--lora-model-dir", "styles"],
                     "there is no folder styles with adapters (--lora-model-dir DIR names one)")
        self.refused(model + ["-p", "cat <lora:x:1>", "--lora-model-dir", "."],
                     'there is no adapter "x" in the folder . (--lora-model-dir DIR names another one)')
        self.refused(model + ["-p", "x", "--prompt-file", "bad.txt"], "--prompt and --prompt-file exclude each other")
        begin = time.time()
        done = run(*model, "--prompt-file", put("long.txt", b"a cat and " * 100000), "-o", "long.png")
        self.assertRegex(done.stderr.decode(), r"error: the prompt has \d+ tokens with the model's template "
                         r"\(at most 8192 are possible\)\n$")
        self.assertEqual(done.returncode, 1)
        self.assertLess(time.time() - begin, 120)  # not hours
        self.assertFalse(os.path.exists(path("long.png")))

    def test_sample_arguments_are_read_before_the_work(self):
        self.refused(SMALL + ["--sampling-method", "euler_ge", "--extra-sample-args", "gamma=4x"],
                     'sample argument gamma: "4x" is no number from -100 to 100')

    def test_outputs_are_tried_before_the_work(self):
        put("file", b"")
        os.makedirs(path("folder.png"), exist_ok=True)
        for name, cause in [("file/a.png", "its folder cannot be made: Not a directory"),
                            ("folder.png", "is a folder (name a file in it)")]:
            self.refused(SMALL + ["-o", name], name + ": " + cause)
        self.refused(SMALL + ["--dump-tensors", "file/d"], "file/d: its folder cannot be made: Not a directory")

    def test_nothing_is_written_over_what_is_used(self):
        before = get("tiny-wan-vae.safetensors")
        message = ": would be written over, but it is also used for something else"
        self.refused(SMALL + ["--trace", "tiny-wan-vae.safetensors"], "tiny-wan-vae.safetensors" + message)
        self.refused(SMALL + ["-o", "a.png", "--dump-tensors", "./a.png"], "./a.png" + message)
        if not os.path.lexists(path("link")):
            os.symlink("tiny-wan-vae.safetensors", path("link"))
        self.refused(SMALL + ["--explain", "link"], "link" + message)
        self.assertEqual(get("tiny-wan-vae.safetensors"), before)

    def test_inputs_are_files(self):
        if not os.path.lexists(path("pipe")):
            os.mkfifo(path("pipe"))
        self.refused(SMALL + ["-i", "pipe"], "pipe: is not a regular file")
        model = MODEL + ["-W", "64", "-H", "48"]
        self.refused(model + ["--prompt-file", "/dev/zero"], "/dev/zero: is not a regular file")

    def test_a_full_disk_is_one_line(self):
        if os.path.exists(path("full.png")):
            os.remove(path("full.png"))
        os.symlink("/dev/full", path("full.png"))
        done = run(*SMALL, "-o", "full.png")
        self.assertIn(b"error: full.png: cannot be written: No space left on device\n", done.stderr)
        self.assertEqual(done.returncode, 1)


class Answers(unittest.TestCase):
    def test_help_and_version(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for group in [b"Model files:", b"The picture:", b"Sampling:", b"Output:"]:
            self.assertIn(group, done.stdout)
        self.assertRegex(run("--version").stdout.decode(), r"^sd-cli \d+\.\d+\.\d+\n$")
        for option in ("--help", "--version"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, option], stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), option)

    def test_help_of_a_mode_has_its_options(self):
        for mode, some, none in [("quantize", ["--format FORMAT", "--output FILE", "--threads N"], ["--prompt", "--json"]),
                                 ("inspect", ["--json", "--layers", "--model FILE"], ["--output", "--image", "--threads"]),
                                 ("metadata", ["--image FILE"], ["--model", "--json"]),
                                 ("img_gen", ["--prompt TEXT", "--steps N"], ["--format FORMAT", "--json"])]:
            for order in (["-M", mode, "--help"], ["--help", "-M", mode]):
                done = run(*order)
                text = done.stdout.decode()
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual([line for line in text.split("\n") if len(line) > 100], [])
                self.assertEqual([s for s in some if s not in text] + [n for n in none if n + " " in text], [], mode)
        self.assertIn(b'error: --mode: "dream" is none of', run("-M", "dream", "--help").stderr)

    def test_help_fits_and_every_option_is_in_the_guide(self):
        text = run("--help").stdout.decode()
        self.assertEqual([line for line in text.split("\n") if len(line) > 100], [])
        options = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", "\n".join(
            line[:line.find("  ", 2)] if "  " in line[2:] else line
            for line in text.split("\n") if line.startswith("  -"))))
        self.assertGreater(len(options), 60)
        with open(os.path.join(os.path.dirname(MAKE), "..", "..", "docs", "cli.md"), encoding="utf-8") as handle:
            guide = handle.read()
        missing = [o for o in options if not re.search(r"`" + re.escape(o) + r"[`\s]", guide) and o not in ("-h",)]
        self.assertEqual(missing, [])

    def test_devices(self):
        done = run("--list-devices")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout.decode(), r"(?m)^CPU\t.+\n")

    def test_inspect(self):
        header = json.dumps({"x.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
        put("one.safetensors", struct.pack("<Q", len(header)) + header + bytes(8))
        done = run("-M", "inspect", "-m", "one.safetensors", "--json")
        report = json.loads(done.stdout)
        self.assertIn("one.safetensors", json.dumps(report))
        self.assertEqual((done.returncode, report["problem"]["code"]), (1, "E_MODEL"))
        self.assertEqual(run("-M", "inspect", "-m", put("no.safetensors", b"x")).returncode, 1)


class Pictures(unittest.TestCase):
    def made(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stderr.decode()

    def test_formats_and_their_text(self):
        for name in ["t.png", "t.jpg", "t.webp"]:
            self.made(*SMALL, "-s", "7", "-o", name)
            text = run("-M", "metadata", "--image", name).stdout.decode()
            self.assertRegex(text, r"^a cat\nSteps: 2, CFG scale: 1\.000000, Seed: 7, Size: 64x48, RNG: cuda, "
                             r"Sampler: euler discrete, TE: tiny-qwen3-vl\.gguf, ")
            settings = json.loads(run("-M", "metadata", "--image", name, "--metadata-format", "json").stdout)
            self.assertEqual(settings["parameters"] + "\n", text)
            self.assertEqual(settings["sdcpp"]["seed"], 7)
        self.made(*SMALL, "-o", "bare.png", "--disable-image-metadata")
        self.assertNotIn(b"parameters", get("bare.png"))
        done = run("-M", "metadata", "--image", "bare.png")
        self.assertEqual(done.stderr, b"error: bare.png: holds no generation data\n")
        self.assertEqual(done.returncode, 1)

    def test_memory_options_change_no_pixel(self):
        self.made(*SMALL, "--disable-image-metadata", "-o", "plain-memory.png")
        for number, options in enumerate([["--params-backend", "disk"], ["--max-ram", "1GiB"], ["--auto-fit"],
                                          ["--backend", "te=cpu", "--backend", "auto", "--max-vram", "-1"],
                                          ["--params-backend", "disk", "--keep-loaded", "-b", "2"]]):
            with self.subTest(options):
                name = "memory-%d.png" % number
                self.made(*SMALL, "--disable-image-metadata", "-o", name, *options)
                if "-b" in options:
                    name = "memory-%d_0.png" % number
                self.assertEqual(get("plain-memory.png"), get(name))

    def test_options_that_are_granted_change_nothing(self):
        self.made(*SMALL, "-o", "plain.png")
        self.made(*SMALL, "-o", "granted.png", "--offload-to-cpu", "--clip-on-cpu", "--vae-on-cpu", "--fa",
                  "--diffusion-fa", "--diffusion-conv-direct", "--vae-conv-direct", "--eager-load", "--mmap", "-v")
        self.assertEqual(get("plain.png"), get("granted.png"))

    def test_options_without_effect_are_said_once(self):
        told = self.made(*SMALL, "-n", "dogs", "--strength", "0.5", "--vae-tile-size", "8", "-o", "w.png")
        self.assertEqual(re.findall(r"(?m)^warning: (.*)$", told),
                         ["--negative-prompt has no effect at --cfg-scale 1",
                          "--strength is for --init-img, which is not given",
                          "--vae-tile-size has no effect without --vae-tiling, unless memory makes tiles necessary"])

    def test_tags_of_other_letters_are_words_and_said_to_be(self):
        told = self.made(*SMALL, "-p", "a <LoRA:x:1> cat", "-o", "w.png")
        self.assertEqual(re.findall(r"(?m)^warning: (.*)$", told),
                         ['"<LoRA:" begins no adapter but words; adapters are <lora:NAME:STRENGTH>'])

    def test_settings_of_the_model_are_used_where_none_are_given(self):
        model = with_metadata("advised.safetensors", {"generation.width": "64", "generation.height": "48",
                                                      "generation.steps": "2", "generation.cfg_scale": "1",
                                                      "generation.scheduler": "simple"})
        files = ["--diffusion-model", model, *MODEL[2:], "-p", "a cat"]
        told = self.made(*files, "-o", "advised.png")
        self.assertIn("the model's own settings: 64x48, 2 steps, cfg scale 1, simple (options change them)\n", told)
        self.made(*SMALL, "--scheduler", "simple", "-o", "given.png")
        advised, given = (json.loads(run("-M", "metadata", "--image", name, "--metadata-format", "json").stdout)
                          for name in ("advised.png", "given.png"))
        for key in ("width", "height", "sampling"):
            self.assertEqual(advised["sdcpp"][key], given["sdcpp"][key])
        told = self.made(*files, "--steps", "1", "-W", "32", "-H", "32", "--cfg-scale", "2", "--scheduler", "discrete",
                         "-o", "own.png")
        self.assertNotIn("settings", told)

    def test_hostile_settings_of_a_model_are_not_used(self):
        model = with_metadata("hostile.safetensors", {"generation.width": "1000000", "generation.steps": "1e9",
                                                      "generation.cfg_scale": "nan\u001b[31m\n"})
        told = self.made("--diffusion-model", model, *SMALL[2:], "-o", "hostile.png")
        self.assertEqual(len(re.findall(r"(?m)^warning: hostile\.safetensors: its metadata advise .* not used$", told)), 3)
        self.assertNotIn("\x1b", told)

    def test_turbo_models_are_known_by_name(self):
        model = with_metadata("tiny_Turbo.safetensors", {})
        told = self.made("--diffusion-model", model, *MODEL[2:], "-W", "32", "-H", "32", "-p", "x", "-o", "turbo.png")
        self.assertIn("the model's name says turbo: 8 steps, cfg scale 1 (options change them)\n", told)

    def test_empty_prompts_and_prompts_in_brackets(self):
        for prompt in ["", "[cat]", "--steps"]:
            self.made(*SMALL, "-p", prompt, "-o", "p.png")
        self.made(*SMALL[:-2], "--prompt-file", put("p.txt", "猫\n".encode()), "-o", "p.png")
        self.assertTrue(run("-M", "metadata", "--image", "p.png").stdout.startswith("猫\n\nSteps".encode()))

    def test_a_drawn_seed_is_told_and_makes_the_picture_again(self):
        told = self.made(*SMALL, "-s", "-1", "-o", "drawn.png")
        seed = re.search(r"seed (\d+)", told).group(1)
        self.made(*SMALL, "-s", seed, "-o", "again.png")
        self.assertEqual(get("drawn.png"), get("again.png"))

    def test_names_folders_and_seeds_of_a_batch(self):
        shutil.rmtree(path("deep"), ignore_errors=True)
        self.made(*SMALL, "-b", "2", "-s", "5", "-o", "deep/er/a%02d", "--output-begin-idx", "3")
        self.assertEqual(sorted(os.listdir(path("deep/er"))), ["a03.png", "a04.png"])
        self.assertIn(b"Seed: 6,", run("-M", "metadata", "--image", "deep/er/a04.png").stdout)

    def test_a_dump_holds_every_picture_of_a_batch(self):
        self.made(*SMALL, "-b", "3", "-s", "5", "-o", "many.png", "--dump-tensors", "many")
        own = [name for name in names_of_tensors("many") if not re.match(r"picture\d+\.", name)]
        of_a_picture = ["noise", "step1.cond.dit_out", "step2.cond.dit_out", "final_latent", "image_raw"]
        self.assertEqual(sorted(names_of_tensors("many")),
                         sorted(own + [f"picture{i}.{name}" for i in (1, 2) for name in of_a_picture]))
        self.made(*SMALL, "-s", "7", "-o", "one.png", "--dump-tensors", "one")
        self.assertEqual(sorted(names_of_tensors("one")), sorted(own))
        for name in of_a_picture:
            self.assertEqual(tensor("picture2." + name, "many"), tensor(name, "one"))
            self.assertNotEqual(tensor(name, "many"), tensor(name, "one"))

    def test_beginning_from_a_picture(self):
        put("init.png", png(100, 60, lambda x, y: (x * 2, y * 4, 255 - x, 255), 4))
        self.made(*MODEL, "-p", "x", "--steps", "2", "--cfg-scale", "1", "-i", "init.png", "--strength", "0.5",
                  "-o", "i.png")
        self.assertEqual(size_of_png("i.png"), (100, 60))  # no size is given: the picture's, cropped from 104x64
        self.made(*SMALL, "-i", "init.png", "--strength", "0.5", "-o", "i.png")
        self.assertEqual(size_of_png("i.png"), (64, 48))
        told = self.made(*MODEL, "-p", "x", "--steps", "1", "--cfg-scale", "1", "-i", "init.png", "-W", "64",
                         "-o", "i.png")
        self.assertIn("warning: the size is that of init.png, 100x60; both -W and -H would change it\n", told)

    def test_strength_0_is_the_last_step(self):
        put("init.png", png(64, 48, lambda x, y: (x * 3, y * 4, 0)))
        common = SMALL + ["-i", "init.png", "--strength", "0", "-o", "s.png", "--dump-tensors", "s"]
        told = self.made(*common)
        self.assertIn("at strength 0 one step is done, the last, from noise level 0.00315\n", told)
        self.assertEqual(len(tensor("sigmas", "s")), 2)
        told = self.made(*common, "--scheduler", "simple")
        self.assertIn("from noise level 0.76\n", told)  # of two steps, which is a lot
        self.assertNotIn("at strength 0", self.made(*SMALL, "--strength", "0", "-o", "s.png"))

    def test_lists_that_are_given_twice_are_joined(self):
        self.made(*SMALL, "--sigmas", "1,0.5", "--sigmas", "0", "-o", "s.png", "--dump-tensors", "s")
        self.assertEqual(tensor("sigmas", "s"), (1.0, 0.5, 0.0))

    def test_a_mask_keeps_what_is_black(self):
        put("init.png", png(64, 48, lambda x, y: (x * 3, y * 4, 0)))
        put("black.png", png(64, 48, lambda x, y: (0,), 1))
        put("half.png", png(128, 96, lambda x, y: (255, 255, 255) if x < 64 else (0, 0, 0)))
        common = SMALL + ["-i", "init.png", "-s", "3"]
        self.made(*common, "--mask", "black.png", "-o", "k.png", "--dump-tensors", "kept")
        self.made(*common, "--mask", "half.png", "-o", "h.png", "--dump-tensors", "half")
        self.made(*common, "-o", "n.png", "--dump-tensors", "new")
        kept, half, new = (tensor("final_latent", name) for name in ("kept", "half", "new"))
        self.assertEqual(len(half), 16 * 6 * 8)
        for i, value in enumerate(half):
            # All that is kept is the encoded picture, whatever happens beside it.
            if i % 8 >= 4:
                self.assertAlmostEqual(value, kept[i], places=4)
        self.assertGreater(max(abs(a - b) for a, b in zip(new, kept)), 0.1)
        self.assertGreater(max(abs(half[i] - kept[i]) for i in range(len(half)) if i % 8 < 4), 0.1)

    def test_previews(self):
        self.made(*SMALL, "--preview", "proj", "--preview-path", "look.png", "-o", "p.png")
        self.assertEqual(size_of_png("look.png"), (8, 6))
        told = self.made(*SMALL, "--preview", "proj", "--preview-path", "look.png/x.png", "-o", "p.png")
        self.assertEqual(told.count("warning: look.png/x.png: "), 1)  # two steps


if __name__ == "__main__":
    main()
