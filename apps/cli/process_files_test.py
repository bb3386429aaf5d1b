#!/usr/bin/env python3
"""process_files_test.py SD_CLI WORK MAKE_TINY_MODEL: what sd-cli never writes over, and outputs that nobody takes."""
import json
import os
import resource
import shutil
import struct
import subprocess
import unittest

from process_kit import MODEL, PROGRAM, SMALL, WORK, get, main, path, png, put, run


def put_index(name, shard):
    """The tiny diffusion model as an index of one shard."""
    shutil.copy(path(MODEL[1]), path(shard))
    data = get(shard)
    (length,) = struct.unpack("<Q", data[:8])
    names = [n for n in json.loads(data[8:8 + length]) if n != "__metadata__"]
    return put(name, json.dumps({"weight_map": {n: shard for n in names}}).encode())


class WhatIsRead(unittest.TestCase):
    def stays(self, name, *arguments):
        before = get(name)
        done = run(*arguments)
        self.assertRegex(done.stderr.decode(), "(?m)^error: (.*/)?" + name.replace(".", r"\.") +
                         ": would be written over, but it is also used for something else\n$")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(get(name), before)

    def test_every_picture_of_a_batch_and_the_preview_are_compared(self):
        picture = put("paw_1.png", png(64, 48, lambda x, y: (x, y, 0)))
        self.stays(picture, *SMALL, "-i", picture, "-o", "paw.png", "-b", "3")
        self.stays(picture, *SMALL, "-o", "paw.png", "-b", "2", "--preview", "proj", "--preview-path", "paw_1.png")
        self.stays(picture, *SMALL, "-i", picture, "--preview", "proj", "--preview-path", "paw_1", "-o", "other.png")
        shutil.copy(path(MODEL[1]), path("mm_1.png"))
        self.stays("mm_1.png", "--diffusion-model", "mm_1.png", *SMALL[2:], "-o", "mm.png", "-b", "2")

    def test_shards_and_their_index(self):
        index = put_index("tiny.safetensors.index.json", "shard_1.png")
        sharded = ["--diffusion-model", index, *SMALL[2:]]
        self.stays("shard_1.png", *sharded, "-o", "shard.png", "-b", "2")
        self.stays("shard_1.png", *sharded, "--preview", "proj", "--preview-path", "shard_1")
        self.stays("shard_1.png", *sharded, "--dump-tensors", "shard_1.png")
        self.stays(index, *sharded, "--explain", index)
        if not os.path.lexists(path("index.gguf")):
            os.symlink(index, path("index.gguf"))
        done = run("-M", "convert", "--diffusion-model", index, "-o", "index.gguf")
        self.assertEqual(done.stderr, b"error: index.gguf: is the file that is read (choose another output)\n")

        shard = get("shard_1.png")
        done = run("-M", "quantize", "--diffusion-model", index, "-o", "q.safetensors", "--format", "int8", "--report",
                   "shard_1.png")
        self.assertEqual(done.stderr, b"error: --report shard_1.png: is a file that is read or written\n")
        self.assertEqual(get("shard_1.png"), shard)
        self.assertFalse(os.path.exists(path("q.safetensors")))

    def test_vocabularies(self):
        os.makedirs(path("words"), exist_ok=True)
        put("words/vocab.json", b"{}")
        put("words/merges.txt", b"")
        for name in ("words/vocab.json", "words/merges.txt"):
            self.stays(name, *SMALL, "--tokenizer", "words", "--dump-tensors", name)
        self.stays("words/merges.txt", *SMALL, "--tokenizer", "words/vocab.json", "--trace", "words/merges.txt")
        # Found beside the text encoder.
        shutil.copy(path(MODEL[3]), path("words/llm.gguf"))
        self.stays("words/merges.txt", *MODEL[:2], "--llm", "words/llm.gguf", *SMALL[4:], "--explain",
                   "words/merges.txt")


class NobodyListens(unittest.TestCase):
    def ended(self, arguments, **streams):
        with subprocess.Popen([PROGRAM, *arguments], cwd=WORK, **streams) as process:
            if process.stdout is not None:
                process.stdout.close()
            if process.stderr is not None and process.stdout is None:
                process.stderr.close()
                return process.wait(timeout=120), b""
            told = process.stderr.read() if process.stderr is not None else b""
            return process.wait(timeout=120), told

    def removed(self, name):
        if os.path.exists(path(name)):
            os.remove(path(name))
        return name

    def test_messages_that_nobody_reads_do_not_end_the_work(self):
        name = self.removed("unheard.png")
        self.assertEqual(self.ended([*SMALL, "-v", "-o", name], stderr=subprocess.PIPE)[0], 0)
        self.assertTrue(os.path.exists(path(name)))

    def test_messages_do_not_get_into_files_when_streams_are_closed(self):
        model = get(MODEL[1])
        done = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", PROGRAM, *SMALL, "-v", "-o", "open.png", "--trace",
                               "open.json", "--dump-tensors", "open.tensors"], cwd=WORK, timeout=120, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(get("open.png")[:4], b"\x89PNG")
        json.loads(get("open.json"))
        self.assertEqual(get(MODEL[1]), model)

    def test_results_that_nobody_takes_are_an_error(self):
        status, told = self.ended(["--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((status, told), (1, b"error: the result could not be written to standard output\n"))
        done = subprocess.run(["sh", "-c", '"$1" --help >&-', "sh", PROGRAM], cwd=WORK, timeout=120, check=False,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stderr),
                         (1, b"error: the result could not be written to standard output\n"))
        status, _ = self.ended([*SMALL, "-o", "silent.png"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(status, 0)  # it has no result there

    def test_files_beyond_the_limit_are_an_error(self):
        name = self.removed("limited.png")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        done = subprocess.run([PROGRAM, *SMALL, "-o", name], cwd=WORK, capture_output=True, timeout=120,
                              preexec_fn=limit, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"error: limited.png: cannot be written: File too large\n", done.stderr)
        self.assertFalse(os.path.exists(path(name)))


if __name__ == "__main__":
    main()
