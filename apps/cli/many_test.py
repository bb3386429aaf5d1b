#!/usr/bin/env python3
"""many_test.py SD_CLI WORK MAKE_TINY_MODEL: lists of prompts, sheets of pictures, and the model that comes with sd-cli."""
import os
import shutil
import subprocess
import unittest

from process_kit import HELP, MODEL, PROGRAM, WORK, get, listen_to_signals, main, path, put, run, size_of_png

SETTINGS = MODEL + ["-W", "64", "-H", "48", "--steps", "2", "--cfg-scale", "1"]
USED = ": would be written over, but it is also used for something else"


class ListsOfPrompts(unittest.TestCase):
    def refused(self, arguments, message):
        before = sorted(os.listdir(WORK))
        done = run(*SETTINGS, *arguments)
        errors = [line for line in done.stderr.decode().splitlines() if line.startswith("error: ")]
        self.assertEqual(errors, ["error: " + message], done.stderr.decode())
        self.assertEqual(done.returncode, 1)
        self.assertEqual(sorted(os.listdir(WORK)), before)

    def test_each_picture_is_what_it_is_alone(self):
        put("list.txt", "a cat\n\nzwei große Hunde\n".encode())
        done = run(*SETTINGS, "--prompts", "list.txt", "-b", "2", "-s", "7", "-o", "many_%02d.png", "--grid", "grid.png",
                   "--output-begin-idx", "1")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn("saved grid.png: all 4, 2 in a row", done.stderr.decode())
        self.assertEqual(size_of_png("grid.png"), (2 * 64 + 8, 2 * 48 + 8))
        for number, (prompt, seed) in enumerate([("a cat", 7), ("a cat", 8), ("zwei große Hunde", 7),
                                                 ("zwei große Hunde", 8)]):
            alone = run(*SETTINGS, "-p", prompt, "-s", str(seed), "-o", "alone.png")
            self.assertEqual(alone.returncode, 0)
            self.assertEqual(get("many_%02d.png" % (number + 1)), get("alone.png"), number)

    def test_one_seed_is_drawn_for_all(self):
        put("marked.txt", b"\xef\xbb\xbfa cat\n\na cat\n")
        done = run(*SETTINGS, "--prompts", "marked.txt", "-s", "-1", "-o", "drawn_%d.png")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(get("drawn_0.png"), get("drawn_1.png"))
        done = run("-M", "compare", *SETTINGS, "--compare-diffusion-model", MODEL[1], "-p", "a cat", "-s", "-5", "-o",
                   "same.png")
        self.assertEqual(done.stdout.decode().splitlines()[-1].split(), ["same", "1.00000", "all", "together"])

    def test_names_of_pictures_without_a_place_for_the_number(self):
        put("list.txt", b"a\nb\nc\n")
        done = run(*SETTINGS, "--prompts", "list.txt", "-o", "plain.png")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        for number in range(3):
            self.assertTrue(os.path.exists(path("plain_%d.png" % number)))

    def test_refusals(self):
        put("list.txt", b"a cat\na dog\n")
        put("empty.txt", b"\n \n")
        put("file", b"")
        several = ["--prompts", "list.txt"]
        self.refused(several + ["-p", "x"], "--prompts and --prompt exclude each other")
        self.refused(several + ["--prompt-file", "list.txt"], "--prompts and --prompt-file exclude each other")
        self.refused(["--prompts", "empty.txt"], "empty.txt: holds no prompt")
        self.refused(["--prompts", ""], "--prompts: is empty" + HELP)
        self.refused(["--grid", ""], "--grid: is empty" + HELP)
        self.refused(several + ["--dump-tensors", "t"], "--dump-tensors is for one prompt, and --prompts has 2")
        self.refused(several + ["--explain", "t"], "--explain is for one prompt, and --prompts has 2")
        self.refused(several + ["-b", "5001"], "list.txt: these prompts make 10002 pictures, more than 10000")
        self.refused(several + ["-o", "p_%d.png", "--grid", "p_1.png"], "p_1.png" + USED)
        self.refused(several + ["-o", "p_%d.png", "--grid", "file/x.png"],
                     "file/x.png: its folder cannot be made: Not a directory")
        os.makedirs(path("links"), exist_ok=True)
        if not os.path.lexists(path("links/list.png")):
            os.symlink("../list.txt", path("links/list.png"))
        self.refused(several + ["-o", "links/list.png", "--grid", "links/list.png"], "links/list.png" + USED)
        self.refused(several + ["--grid", "links/"], "links/: is a folder (name a file in it)")
        self.refused(several + ["-o", "gone/../p_%d.png", "--grid", "p_1.png"], "p_1.png" + USED)
        self.refused(["-W", "16384", "-H", "16384", "-b", "9", "--grid", "g.png"],
                     "--grid: 9 pictures of this size are more than a sheet can hold")
        put("tags.txt", b"a cat\na dog <lora:none:1>\n")
        self.refused(["--prompts", "tags.txt"], '"a dog <lora:none:1>": there is no adapter "none" in the folder . '
                     "(--lora-model-dir DIR names another one)")


class TheModelThatComesWithTheProgram(unittest.TestCase):
    def setUp(self):
        self.folder = path("tree/bin")
        shutil.rmtree(path("tree"), ignore_errors=True)
        os.makedirs(self.folder)
        shutil.copy(PROGRAM, self.folder)

    def run_copy(self, *arguments):
        return subprocess.run([os.path.join(self.folder, os.path.basename(PROGRAM)), *arguments], cwd=self.folder,
                              capture_output=True, timeout=300)

    def test_is_missed_in_one_line(self):
        done = self.run_copy("-p", "x")
        self.assertEqual(done.stderr.decode(), "error: no model file is given (-m FILE or --diffusion-model FILE)\n")
        self.assertEqual(done.returncode, 1)

    def test_makes_pictures_when_no_other_is_given(self):
        demo = os.path.join(self.folder, "demo")
        os.makedirs(demo)
        for name, source in [("demo-krea2-int8-convrot.safetensors", MODEL[1]), ("demo-qwen3-vl-q8_0.gguf", MODEL[3]),
                             ("demo-wan-vae.safetensors", MODEL[5])]:
            os.link(path(source), os.path.join(demo, name))
        small = ["-p", "a cat", "-W", "64", "-H", "48", "--steps", "2", "--cfg-scale", "1"]
        done = self.run_copy(*small, "-o", "with.png")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(done.stderr.decode().count("no model is given: "), 1)
        self.assertEqual(run(*MODEL, *small, "-o", "given.png").returncode, 0)
        # Everything but the names of the files, which the picture's text holds, is the same.
        pixels = [data[data.index(b"IDAT"):] for data in (get("tree/bin/with.png"), get("given.png"))]
        self.assertEqual(*pixels)
        # A part of a model is no reason to take others, nor is a name that is empty.
        done = self.run_copy("--diffusion-model", "", "-p", "x")
        self.assertEqual(done.stderr.decode(), "error: no model file is given (-m FILE or --diffusion-model FILE)\n")
        done = self.run_copy("--vae", path(MODEL[5]), "-p", "x")
        self.assertRegex(done.stderr.decode(), "^error: [^\n]*\n$")
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    listen_to_signals()
    main()
